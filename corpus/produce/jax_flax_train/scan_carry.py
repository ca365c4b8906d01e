# /// case
# cause = "dtype_mismatch"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# why = "the carry of the scan changes its number type"
# ///
"""The recurrent state starts in float32 and comes back in bfloat16."""

import jax
import jax.numpy as jnp
import optax

HIDDEN = 32


def cell(params, carry, x):
    h = jnp.tanh(x.astype(jnp.bfloat16) @ params["wx"] + carry.astype(jnp.bfloat16) @ params["wh"])
    return h, h


def loss_fn(params, batch, target):
    h0 = jnp.zeros((batch.shape[1], HIDDEN))
    last, _ = jax.lax.scan(lambda c, x: cell(params, c, x), h0, batch)
    return jnp.mean((last @ params["out"] - target) ** 2)


k1, k2, k3 = jax.random.split(jax.random.key(1), 3)
params = {
    "wx": jax.random.normal(k1, (8, HIDDEN), jnp.bfloat16),
    "wh": jax.random.normal(k2, (HIDDEN, HIDDEN), jnp.bfloat16) * 0.1,
    "out": jax.random.normal(k3, (HIDDEN, 1), jnp.bfloat16),
}
tx = optax.chain(optax.clip_by_global_norm(1.0), optax.adamw(1e-3))
opt_state = tx.init(params)
print({name: (p.shape, str(p.dtype)) for name, p in params.items()})
batch, target = jnp.ones((20, 16, 8)), jnp.zeros((16, 1))
for step in range(50):
    loss, grads = jax.jit(jax.value_and_grad(loss_fn))(params, batch, target)
    updates, opt_state = tx.update(grads, opt_state, params)
    params = optax.apply_updates(params, updates)
    print(step, float(loss))
