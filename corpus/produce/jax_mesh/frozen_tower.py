# /// case
# cause = "device_mismatch"
# exit_code = 1
# environment = "jax"
# env = { XLA_FLAGS = "--xla_force_host_platform_device_count=2" }
# ///
"""A frozen tower was committed to the second device to save memory; its features meet the head on the first."""

import flax.linen as nn
import jax
import jax.numpy as jnp
import optax
from absl import logging

logging.set_verbosity(logging.INFO)
logging.use_absl_handler()


class Tower(nn.Module):
    @nn.compact
    def __call__(self, x):
        return nn.relu(nn.Dense(32)(x))


cpu0, cpu1 = jax.devices()
tower, head = Tower(), nn.Dense(3)
frozen = jax.device_put(tower.init(jax.random.key(0), jnp.ones((1, 10))), cpu1)
params = jax.device_put(head.init(jax.random.key(1), jnp.ones((1, 32))), cpu0)
optimizer = optax.adamw(1e-3)
state = jax.device_put(optimizer.init(params), cpu0)
features = jax.jit(lambda x: tower.apply(frozen, x))


@jax.jit
def train_step(params, state, h, y):
    def loss(p):
        return optax.softmax_cross_entropy_with_integer_labels(head.apply(p, h), y).mean()

    value, grads = jax.value_and_grad(loss)(params)
    updates, state = optimizer.update(grads, state, params)
    return optax.apply_updates(params, updates), state, value


logging.info("trainable %d", sum(p.size for p in jax.tree.leaves(params)))
for step in range(5):
    x = jax.random.normal(jax.random.key(step), (16, 10))
    h = features(jax.device_put(x, cpu1))
    params, state, value = train_step(params, state, h, jnp.arange(16) % 3)
    logging.info("step %d loss %.4f", step, value)
