# /// case
# cause = "rendezvous"
# paper_class = ""
# exit_code = -6
# environment = "jax"
# command = "python {program} --coordinator 127.0.0.1:9876 --num-processes 2 --process-id 1"
# why = "the second process never reaches the coordinator; JAX's client aborts"
# ///
"""The coordinator of the distributed run never comes up."""

import argparse

import jax
from absl import logging

parser = argparse.ArgumentParser()
parser.add_argument("--coordinator")
parser.add_argument("--num-processes", type=int)
parser.add_argument("--process-id", type=int)
args = parser.parse_args()
logging.set_verbosity(logging.INFO)
logging.info(
    "process %d of %d, coordinator %s", args.process_id, args.num_processes, args.coordinator
)
jax.distributed.initialize(
    args.coordinator, args.num_processes, args.process_id, initialization_timeout=8
)
logging.info("global devices: %s", jax.devices())
