# /// case
# cause = "runtime_error"
# exit_code = 1
# environment = "jax"
# why = "a buffer that was donated is used again: misuse of the program"
# ///
"""The averaged parameters are computed from buffers that were donated to the update."""

from functools import partial

import jax
import jax.numpy as jnp
import optax

tx = optax.sgd(0.05, momentum=0.9)


@partial(jax.jit, donate_argnums=(0, 1))
def train_step(params, opt_state, x, y):
    def loss_fn(p):
        return jnp.mean((jnp.tanh(x @ p["w1"]) @ p["w2"] - y) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(params)
    updates, opt_state = tx.update(grads, opt_state)
    return optax.apply_updates(params, updates), opt_state, loss


def moving_average(average, params, decay=0.99):
    return jax.tree.map(lambda a, p: decay * a + (1 - decay) * p, average, params)


key = jax.random.key(0)
params = {"w1": jax.random.normal(key, (10, 32)), "w2": jax.random.normal(key, (32, 1)) * 0.1}
opt_state = tx.init(params)
ema = params
x = jax.random.normal(key, (128, 10))
y = x[:, :1]
for step in range(300):
    params, opt_state, loss = train_step(params, opt_state, x, y)
    if step % 50 == 0:
        print(f"step={step} train/loss={float(loss):.5f}")
    if step > 0 and step % 100 == 0:
        ema = moving_average(ema, params)
