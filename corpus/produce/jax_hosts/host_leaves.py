# /// case
# cause = "killed_unknown"
# paper_class = ""
# exit_code = 1
# environment = "jax"
# env = {JAX_PLATFORMS = "cpu"}
# timeout_s = 180
# why = "process 1 was ended by SIGKILL and nothing says by whom; process 0 only reports the lost peer"
# ///
"""One of two hosts is killed during the training; the other one loses it."""

import os
import signal
import socket
import subprocess
import sys
import threading


def train(index, address):
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import multihost_utils
    from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

    jax.distributed.initialize(address, 2, index, heartbeat_timeout_seconds=10)
    mesh = Mesh(np.array(jax.devices()), ("data",))
    sharding = NamedSharding(mesh, P("data"))
    weights = jnp.zeros((8,))
    rng = np.random.default_rng(index)

    @jax.jit
    def update(w, x, y):
        grad = jax.grad(lambda v: jnp.mean((x @ v - y) ** 2))(w)
        return w - 0.05 * grad, jnp.abs(grad).max()

    for step in range(2000):
        x = rng.normal(size=(16, 8)).astype("float32")
        batch = jax.make_array_from_process_local_data(sharding, x)
        target = jax.make_array_from_process_local_data(sharding, x.sum(1))
        weights, size = update(weights, batch, target)
        if step % 20 == 0:
            multihost_utils.sync_global_devices(f"step{step}")
            if index == 0:
                print(f"[p0] step={step} |g|={float(size):.5f}", flush=True)
        if index == 1 and step == 60:
            threading.Timer(0.0, os.kill, (os.getpid(), signal.SIGKILL)).start()


def main():
    if len(sys.argv) > 1:
        return train(int(sys.argv[1]), sys.argv[2])
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    hosts = [subprocess.Popen([sys.executable, sys.argv[0], str(i), address]) for i in (0, 1)]
    for i in (1, 0):
        code = hosts[i].wait()
        print(f"host {i} ended with status {code}", flush=True)
    sys.exit(1 if any(h.returncode for h in hosts) else 0)


main()
