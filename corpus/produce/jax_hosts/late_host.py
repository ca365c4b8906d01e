# /// case
# cause = "none"
# exit_code = 0
# environment = "jax"
# env = {JAX_PLATFORMS = "cpu", TF_CPP_MIN_LOG_LEVEL = "0"}
# timeout_s = 180
# why = "the second host comes late and both end well"
# ///
"""The second host comes late; the first one waits, and both train to the end."""

import logging
import socket
import subprocess
import sys
import time


def main(index, address):
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental import multihost_utils

    logging.basicConfig(
        level=logging.INFO, format=f"%(asctime)s p{index} %(levelname)s %(message)s"
    )
    logger = logging.getLogger("train")
    for attempt in range(5):
        try:
            jax.distributed.initialize(address, 2, index, initialization_timeout=60)
            break
        except Exception as error:
            logger.warning("initialize failed (attempt %d): %s", attempt, error)
            time.sleep(1)
    logger.info("%d processes", jax.process_count())
    w = np.zeros(4, np.float32)
    for epoch in range(4):
        x = np.random.default_rng(epoch + index).normal(size=(64, 4)).astype(np.float32)
        grad = jax.grad(lambda v: jnp.mean((x @ v - x.sum(1)) ** 2))(w)
        mean = multihost_utils.process_allgather(grad).mean(0)
        w = w - 0.2 * np.asarray(mean)
        logger.info("epoch %d error %.4f, timeouts 0, killed 0", epoch, float(np.abs(w - 1).max()))
    multihost_utils.sync_global_devices("end")
    logger.info("done")


if len(sys.argv) > 1:
    main(int(sys.argv[1]), sys.argv[2])
else:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{probe.getsockname()[1]}"
    second = subprocess.Popen([sys.executable, sys.argv[0], "1", address])
    time.sleep(7)
    first = subprocess.Popen([sys.executable, sys.argv[0], "0", address])
    sys.exit(first.wait() or second.wait())
