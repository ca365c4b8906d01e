# /// case
# cause = "device_mismatch"
# exit_code = 1
# command = "torchrun --nnodes 1 --nproc-per-node 2 --master-port 29741 {program}"
# why = "DDP itself says that the module is on more than one type of device"
# ///
"""Half of the model is still on the meta device when it is wrapped for data parallelism."""

import logging
import os

import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ["RANK"])
logging.basicConfig(
    level=logging.INFO if rank == 0 else logging.WARNING,
    format=f"%(asctime)s rank{rank} %(levelname)s %(message)s",
)
dist.init_process_group("gloo")
encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU())
decoder = nn.Linear(16, 8, device="meta")
model = nn.Sequential(encoder, decoder)
logging.info("%s", model)
model = DistributedDataParallel(model)
logging.info("wrapped")
