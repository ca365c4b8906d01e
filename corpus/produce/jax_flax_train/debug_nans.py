# /// case
# cause = "nan_loss"
# paper_class = "nan_loss"
# exit_code = 1
# environment = "jax"
# env = {JAX_DEBUG_NANS = "True"}
# why = "debug_nans turns the first nan into a FloatingPointError"
# ///
"""A mixture density net lets a variance underflow; debug_nans stops at the first nan."""

import jax
import jax.numpy as jnp
import optax


def nll(params, x, y, step):
    h = jnp.tanh(x @ params["w"] + params["b"])
    mean, scale = jnp.split(h @ params["out"], 2, axis=-1)
    sigma = scale + 0.5 - 0.05 * step  # annealed towards a sharper density
    return jnp.mean(jnp.log(sigma) + 0.5 * ((y - mean) / sigma) ** 2)


@jax.jit
def step_fn(params, state, x, y, step):
    loss, grads = jax.value_and_grad(nll)(params, x, y, step)
    updates, state = tx.update(grads, state)
    return optax.apply_updates(params, updates), state, loss


key = jax.random.key(3)
x = jax.random.normal(key, (64, 4))
y = x.sum(-1, keepdims=True)
params = {
    "w": jnp.full((4, 16), 0.05),
    "b": jnp.ones(16),
    "out": jnp.full((16, 2), 0.1),
}
tx = optax.adam(1e-3)
state = tx.init(params)
for step in range(1, 201):
    params, state, loss = step_fn(params, state, x, y, step)
    if step % 5 == 0 or step < 3:
        print(f"[{step:4d}/200] nll = {loss:.5f}", flush=True)
