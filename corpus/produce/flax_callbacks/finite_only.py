# /// case
# cause = "nan_loss"
# exit_code = 0
# environment = "jax"
# why = "optax passes the updates on after three that are not finite; the loss is nan to the end and the run says done"
# ///
"""apply_if_finite gives up after some bad updates, the parameters become nan, and the run goes on to its end."""

import jax
import jax.numpy as jnp
import optax
from absl import logging
from flax import linen as nn

logging.set_verbosity(logging.INFO)


class Gaussian(nn.Module):
    """Predicts a mean and a variance per row."""

    @nn.compact
    def __call__(self, x):
        out = nn.Dense(2)(nn.relu(nn.Dense(32)(x)))
        return out[:, 0], out[:, 1]


def likelihood(params, x, y):
    mean, variance = model.apply(params, x)
    deviation = jnp.sqrt(variance + 1.5)
    return (jnp.log(deviation) + 0.5 * jnp.square((y - mean) / deviation)).mean()


model = Gaussian()
params = model.init(jax.random.PRNGKey(0), jnp.ones((1, 6)))
optimizer = optax.apply_if_finite(
    optax.sgd(optax.linear_schedule(0.0002, 0.02, 300), momentum=0.9), max_consecutive_errors=3
)
state = optimizer.init(params)


@jax.jit
def step(params, state, key):
    x = jax.random.normal(key, (64, 6))
    loss, grads = jax.value_and_grad(likelihood)(params, x, 0.01 * x[:, 0])
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, loss


best = float("inf")
for i in range(1, 301):
    params, state, loss = step(params, state, jax.random.PRNGKey(i))
    best = min(best, float(loss))
    if i % 20 == 0:
        logging.info(
            "step=%d nll=%.4f best=%.4f bad_updates=%d", i, loss, best, int(state.total_notfinite)
        )
logging.info("done: 300 steps, best nll %.4f", best)
