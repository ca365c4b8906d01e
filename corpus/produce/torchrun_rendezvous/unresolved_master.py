# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# env = {MASTER_ADDR = "gpu-node-17.cluster.invalid", MASTER_PORT = "29500", RANK = "1", WORLD_SIZE = "2", LOCAL_RANK = "0"}
# ///
"""The master's name cannot be resolved on this node."""

import logging
import os
from datetime import timedelta

import torch.distributed as dist

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("launch")


def main():
    log.info("connecting to %s:%s", os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"])
    dist.init_process_group("gloo", timeout=timedelta(seconds=4))
    log.info("group formed, world size %d", dist.get_world_size())


main()
