# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {JAX_PLATFORMS = "cpu"}
# timeout_s = 180
# why = "both hosts restore a step whose metadata file was cut off"
# ///
"""Two hosts restore a step with orbax whose metadata was cut off on the way."""

import os
import socket
import subprocess
import sys
from pathlib import Path

from absl import logging


def damage(step, host):
    for file in step.rglob("_METADATA") if host == 0 else ():
        file.write_bytes(file.read_bytes()[:97])


def save_and_restore(host, address):
    import jax
    import jax.numpy as jnp
    import numpy as np
    import orbax.checkpoint as ocp
    from jax.experimental import multihost_utils
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    logging.use_absl_handler()
    logging.set_verbosity(logging.WARNING)
    jax.distributed.initialize(address, 2, host)
    mesh = Mesh(np.array(jax.devices()), ("fsdp",))

    def state(width=32):
        place = NamedSharding(mesh, P("fsdp", None))
        make = jax.jit(
            lambda: {"kernel": jnp.ones((width, 16)), "mu": jnp.zeros((width, 16))},
            out_shardings=place,
        )
        return make()

    folder = Path("ckpt").absolute()
    with ocp.CheckpointManager(
        folder, options=ocp.CheckpointManagerOptions(max_to_keep=2)
    ) as manager:
        manager.save(100, args=ocp.args.StandardSave(state()))
        manager.wait_until_finished()
        if host == 0:
            print(f"steps on disk: {manager.all_steps()}", flush=True)
        damage(folder / "100", host)
        multihost_utils.sync_global_devices("copied")
        target = jax.tree.map(ocp.utils.to_shape_dtype_struct, state())
        restored = manager.restore(manager.latest_step(), args=ocp.args.StandardRestore(target))
    print(
        f"host {host} continues at step 101, |kernel| {float(jnp.abs(restored['kernel']).sum())}",
        flush=True,
    )


if len(sys.argv) == 3:
    save_and_restore(int(sys.argv[1]), sys.argv[2])
else:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    log = [open(f"host{i}.log", "w") for i in range(2)]
    hosts = [
        subprocess.Popen(
            [sys.executable, sys.argv[0], str(i), address], stdout=log[i], stderr=subprocess.STDOUT
        )
        for i in range(2)
    ]
    codes = [one.wait() for one in hosts]
    for i in range(2):
        for line in Path(f"host{i}.log").read_text().splitlines():
            print(f"{i}: {line}")
    os._exit(int(any(codes)))
