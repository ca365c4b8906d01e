# /// case
# cause = "device_mismatch"
# exit_code = 1
# environment = "jax"
# env = { XLA_FLAGS = "--xla_force_host_platform_device_count=3" }
# ///
"""The averaged weights were restored onto another device than the weights they follow."""

import logging

import jax
import jax.numpy as jnp

logging.basicConfig(level=logging.INFO, format="[%(levelname)s|%(name)s] %(message)s")
log = logging.getLogger("ema")
log.info("%d devices of kind %s", jax.device_count(), jax.devices()[0].device_kind)


def restore(tree, device):
    return jax.tree.map(lambda leaf: jax.device_put(leaf, device), tree)


def sgd(weights, step):
    return jax.tree.map(lambda w: w - 0.01 * jnp.sin(w + step), weights)


weights = restore({"w": jnp.ones((6, 6)), "b": jnp.zeros(6)}, jax.devices()[0])
average = weights
for step in range(1, 9):
    weights = sgd(weights, step)
    if step == 5:
        log.info("restoring the average from the last evaluation")
        average = restore(average, jax.devices()[2])
    average = jax.tree.map(lambda a, w: 0.99 * a + 0.01 * w, average, weights)
    log.info("step %d |w| %.4f |ema| %.4f", step, jnp.linalg.norm(weights["w"]), average["w"].sum())
