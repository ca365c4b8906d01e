# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {TF_CPP_MIN_LOG_LEVEL = "0"}
# why = "the port of the worker's server is in use, so the group is never formed"
# ///
"""The port that TF_CONFIG gives to this worker is taken by another process."""

import json
import os
import socket

other = socket.socket()
other.bind(("0.0.0.0", 0))
other.listen()
port = other.getsockname()[1]
os.environ["TF_CONFIG"] = json.dumps(
    {
        "cluster": {"worker": [f"localhost:{port}", "localhost:1"]},
        "task": {"type": "worker", "index": 0},
    }
)
import tensorflow as tf  # noqa: E402

print("TF_CONFIG task 0 of 2")
strategy = tf.distribute.MultiWorkerMirroredStrategy()
print("replicas in sync:", strategy.num_replicas_in_sync)
