# /// case
# cause = "device_mismatch"
# exit_code = 3
# environment = "jax"
# env = { XLA_FLAGS = "--xla_force_host_platform_device_count=4" }
# ///
"""The output of a helper that was committed to one device goes into a computation of the mesh; logged by the driver."""

import logging
import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec

logging.basicConfig(
    level=logging.INFO,
    stream=sys.stdout,
    format="%(asctime)s.%(msecs)03d %(message)s",
    datefmt="%H:%M:%S",
)
mesh = Mesh(np.array(jax.devices()), ("rows",))
ROWS = PartitionSpec("rows")


@jax.jit
@jax.shard_map(mesh=mesh, in_specs=(ROWS, ROWS), out_specs=PartitionSpec())
def correlation(a, b):
    return jax.lax.pmean((a * b).mean(), "rows")


def standardize(x):
    return (x - x.mean()) / x.std()


def main():
    last = jax.devices()[-1]
    for month in range(1, 13):
        a = jax.random.normal(jax.random.key(month), (64, 8))
        b = standardize(a + 0.5)
        if month == 9:
            b = jax.device_put(b, last)
        logging.info("month %d correlation %.4f", month, correlation(standardize(a), b))


try:
    main()
except Exception:
    logging.exception("report failed")
    sys.exit(3)
