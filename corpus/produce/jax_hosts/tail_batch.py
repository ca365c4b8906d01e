# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {JAX_PLATFORMS = "cpu", XLA_FLAGS = "--xla_force_host_platform_device_count=3"}
# timeout_s = 180
# why = "the global batch of the settings does not divide by the devices of the two hosts"
# ///
"""A global batch that does not divide by the six devices of two hosts."""

import concurrent.futures
import dataclasses
import multiprocessing
import os
import socket
import sys
import traceback


@dataclasses.dataclass(frozen=True)
class TrainConfig:
    global_batch: int = 64
    features: int = 12
    learning_rate: float = 1e-2
    steps: int = 50


def host_main(index, address, cfg):
    import jax
    import jax.numpy as jnp
    from jax.sharding import NamedSharding, PartitionSpec

    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "1"
    jax.distributed.initialize(address, num_processes=2, process_id=index)
    if index == 0:
        print(f"{jax.process_count()} hosts, {jax.device_count()} devices, {cfg}", flush=True)
    mesh = jax.make_mesh((jax.device_count(),), ("batch",))
    sharding = NamedSharding(mesh, PartitionSpec("batch"))
    make_batch = jax.jit(
        lambda key: jax.random.normal(key, (cfg.global_batch, cfg.features)), out_shardings=sharding
    )
    w = jnp.zeros(cfg.features)
    for step in range(cfg.steps):
        x = make_batch(jax.random.key(step))
        w = w - cfg.learning_rate * jax.grad(lambda v: jnp.mean((x @ v - 1) ** 2))(w)
    return float(jnp.linalg.norm(w))


def main():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    spawn = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:
        futures = [pool.submit(host_main, i, address, TrainConfig()) for i in range(2)]
        failed = 0
        for i, future in enumerate(futures):
            try:
                print(f"host {i}: norm {future.result():.3f}")
            except Exception:
                failed += 1
                print(f"host {i} raised:", file=sys.stderr)
                traceback.print_exc()
    sys.exit(failed and 1)


if __name__ == "__main__":
    main()
