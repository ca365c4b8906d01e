# /// case
# cause = "collective"
# paper_class = "nccl"
# exit_code = 1
# environment = "jax"
# env = {JAX_PLATFORMS = "cpu"}
# timeout_s = 180
# why = "the hosts meet at different barriers: a mismatch of a formed group, and no host has an error before it"
# ///
"""Two hosts with different numbers of batches meet at barriers with different names."""

import logging
import socket
import subprocess
import sys

import numpy as np


def train(index, address):
    import jax
    import optax
    from jax.experimental import multihost_utils

    logging.basicConfig(level=logging.INFO, format=f"%(levelname).1s host-{index} %(message)s")
    jax.distributed.initialize(
        address, 2, index, heartbeat_timeout_seconds=10, shutdown_timeout_seconds=10
    )
    params = {"w": np.zeros(6, np.float32)}
    optimizer = optax.sgd(0.1)
    state = optimizer.init(params)
    grad = jax.jit(jax.grad(lambda p, x: ((x @ p["w"] - x.mean(1)) ** 2).mean()))
    rng = np.random.default_rng(index)
    batches = 12 - 2 * index
    for step in range(batches * 3):
        updates, state = optimizer.update(
            grad(params, rng.normal(size=(32, 6)).astype(np.float32)), state
        )
        params = jax.tree.map(np.asarray, optax.apply_updates(params, updates))
        if (step + 1) % batches == 0 or step % 10 == 9:
            kind = "epoch" if (step + 1) % batches == 0 else "eval"
            logging.info("%s after step %d", kind, step)
            multihost_utils.sync_global_devices(f"{kind}-{step}")
    logging.info("trained")


def main():
    if len(sys.argv) == 3:
        return train(int(sys.argv[1]), sys.argv[2])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    hosts = [subprocess.Popen([sys.executable, sys.argv[0], str(i), address]) for i in range(2)]
    codes = [one.wait() for one in hosts]
    sys.exit(1 if any(codes) else 0)


main()
