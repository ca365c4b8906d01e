# /// case
# cause = "host_oom"
# paper_class = "ram_oom"
# exit_code = 1
# environment = "jax"
# env = {JAX_PLATFORMS = "cpu"}
# why = "XLA's RESOURCE_EXHAUSTED on the CPU backend is host memory"
# ///
"""The pairwise table of all examples of both hosts does not fit into the memory of the machine."""

import logging
import resource
import sys

import jax
import jax.numpy as jnp

logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(message)s")
resource.setrlimit(resource.RLIMIT_AS, (24 << 30, 24 << 30))


@jax.jit
def pairwise(a):
    square = jnp.sum(a * a, 1)
    return jnp.sqrt(jnp.maximum(square[:, None] + square[None] - 2 * a @ a.T, 0.0))


def embed(n, dim=32):
    return jax.random.normal(jax.random.key(n), (n, dim))


def main():
    logging.info("backend %s, %d local devices", jax.default_backend(), jax.local_device_count())
    for n in (500, 2_000, 180_000):
        points = embed(n)
        logging.info("mining negatives among %d points", n)
        table = pairwise(points)
        logging.info("closest %.3f", float(table[0, 1:].min()))


main()
