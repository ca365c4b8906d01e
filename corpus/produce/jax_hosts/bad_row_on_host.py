# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {JAX_PLATFORMS = "cpu"}
# timeout_s = 180
# why = "host 1 reads a row that cannot be parsed; host 0 reports the coordination service's loss of its peer"
# ///
"""A row of the second host's file is broken, and the coordination service tells the first host."""

import csv
import logging
import multiprocessing
import socket
import sys
from pathlib import Path

import numpy as np


def write_files():
    for host in range(2):
        rows = [[f"{i * 0.01:.2f}", f"{i * 0.02 + 1:.2f}"] for i in range(400)]
        if host == 1:
            rows[230] = ["2.30", "5.60;2.31"]
        with Path(f"readings-{host}.csv").open("w", newline="") as file:
            csv.writer(file).writerows(rows)


def rows_of(host):
    with Path(f"readings-{host}.csv").open() as file:
        for x, y in csv.reader(file):
            yield float(x), float(y)


def batches(host, size):
    block = []
    for row in rows_of(host):
        block.append(row)
        if len(block) == size:
            yield np.array(block, dtype=np.float32)
            block = []


def run(host, address):
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec

    logging.basicConfig(level=logging.INFO, format=f"[host{host}] %(levelname)s %(message)s")
    jax.distributed.initialize(
        address, 2, host, heartbeat_timeout_seconds=10, shutdown_timeout_seconds=10
    )
    mesh = jax.make_mesh((2,), ("hosts",))
    params = jnp.zeros(2)

    def loss(p, b):
        return jnp.mean((p[0] * b[:, 0] + p[1] - b[:, 1]) ** 2)

    step = jax.jit(lambda p, b: (p - 0.05 * jax.grad(loss)(p, b), loss(p, b)))
    with jax.set_mesh(mesh):
        for i, block in enumerate(batches(host, 20)):
            batch = jax.make_array_from_process_local_data(
                NamedSharding(mesh, PartitionSpec("hosts")), block
            )
            params, value = step(params, batch)
            if i % 4 == 0:
                logging.info("batch %d mse %.4f", i, float(value))


if __name__ == "__main__":
    write_files()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    spawn = multiprocessing.get_context("spawn")
    hosts = [spawn.Process(target=run, args=(i, address)) for i in range(2)]
    for one in hosts:
        one.start()
    for one in hosts:
        one.join()
    sys.exit(0 if all(h.exitcode == 0 for h in hosts) else 1)
