# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {JAX_PLATFORMS = "cpu", TF_CPP_MIN_LOG_LEVEL = "0", TF_CPP_MAX_VLOG_LEVEL = "1"}
# timeout_s = 150
# why = "three processes are expected and two come: the group never forms"
# ///
"""The launcher starts two processes and tells them that there are three."""

import os
import socket
import subprocess
import sys


def worker():
    import jax
    from absl import logging

    logging.set_verbosity(logging.INFO)
    logging.use_absl_handler()
    index = int(os.environ["HOST_INDEX"])
    logging.info("host %d starts, jax %s", index, jax.__version__)
    jax.distributed.initialize(
        os.environ["COORDINATOR"], int(os.environ["HOSTS"]), index, initialization_timeout=8
    )
    logging.info("global devices %d", jax.device_count())


def main():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    base = {**os.environ, "COORDINATOR": f"127.0.0.1:{port}", "HOSTS": "3"}
    children = [
        subprocess.Popen([sys.executable, __file__], env={**base, "HOST_INDEX": str(i)})
        for i in range(2)
    ]
    codes = [child.wait() for child in children]
    print("exit codes of the hosts:", codes)
    sys.exit(int(any(codes)))


worker() if "HOST_INDEX" in os.environ else main()
