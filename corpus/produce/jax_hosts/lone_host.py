# /// case
# cause = "rendezvous"
# paper_class = ""
# exit_code = -6
# environment = "jax"
# env = {JAX_PLATFORMS = "cpu"}
# timeout_s = 150
# ///
"""A worker of a two-host job looks for its coordinator, which was never started."""

import logging
import socket

import jax
import jax.numpy as jnp

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    address = f"127.0.0.1:{free_port()}"
    logging.info("process 1 of 2, coordinator %s", address)
    jax.distributed.initialize(address, num_processes=2, process_id=1, initialization_timeout=8)
    logging.info("devices: %s", jax.devices())
    print(jnp.ones(8).sum())


main()
