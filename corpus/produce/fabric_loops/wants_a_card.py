# /// case
# cause = "cuda_environment"
# paper_class = "traceback"
# exit_code = 1
# environment = "hf4"
# why = "the program asks for GPUs and the node has none that can be used"
# ///
"""The program asks for two GPUs on a machine without any."""

import logging

import lightning_fabric as L
import torch

logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(message)s")
logging.getLogger("fit").info("torch %s, %d threads", torch.__version__, 2)
fabric = L.Fabric(accelerator="gpu", devices=2, precision="bf16-mixed")
fabric.launch()
model = fabric.setup(torch.nn.Linear(4, 4))
logging.getLogger("fit").info("device %s", fabric.device)
