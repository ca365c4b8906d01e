# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# why = "the losses of the range test are meant to diverge; the training with the rate found ends well"
# ///
"""A learning rate range test drives the loss to nan on purpose, then the training is done with a good rate."""

import logging
import warnings

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
log = logging.getLogger("range_test")


class Deep(nn.Module):
    @nn.compact
    def __call__(self, x):
        for width in (32, 32):
            x = nn.relu(nn.Dense(width)(x))
        return nn.Dense(1)(x)[:, 0]


model = Deep()
initial = model.init(jax.random.PRNGKey(3), jnp.ones((1, 8)))


def make_step(optimizer):
    @jax.jit
    def step(params, state, key):
        x = jax.random.normal(key, (64, 8))
        loss, grads = jax.value_and_grad(
            lambda p: jnp.square(model.apply(p, x) - x[:, 0] * x[:, 1]).mean()
        )(params)
        updates, state = optimizer.update(grads, state)
        return optax.apply_updates(params, updates), state, loss

    return step


def sweep():
    best_rate, best_loss = None, float("inf")
    for exponent in range(-4, 3):
        rate = 10.0**exponent
        optimizer = optax.sgd(rate)
        step, params, state = make_step(optimizer), initial, optimizer.init(initial)
        for i in range(60):
            params, state, loss = step(params, state, jax.random.PRNGKey(i))
        loss = float(loss)
        if not loss < 1e6:
            log.warning("lr=%g diverged: loss=%s, gradients not finite, trial failed", rate, loss)
            continue
        log.info("lr=%g loss=%.4f", rate, loss)
        if loss < best_loss:
            best_rate, best_loss = rate, loss
    return best_rate


rate = sweep()
log.info("suggested learning rate %g", rate)
warnings.warn(
    "3 of 7 trials crashed with NaN; the suggestion may be noisy", RuntimeWarning, stacklevel=1
)
optimizer = optax.sgd(rate)
step, params, state = make_step(optimizer), initial, optimizer.init(initial)
for i in range(1, 401):
    params, state, loss = step(params, state, jax.random.PRNGKey(1000 + i))
    if i % 80 == 0:
        log.info("train step %d/400 loss %.4f", i, loss)
log.info("finished")
