# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# timeout_s = 240
# why = "the second node never joins; DistStoreError is a RuntimeError"
# ///
"""The second node of the run never joins the store."""

import os
from datetime import timedelta

import lightning as L
from lightning.pytorch.demos.boring_classes import BoringModel
from lightning.pytorch.strategies import DDPStrategy

os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29517", NODE_RANK="0")
strategy = DDPStrategy(process_group_backend="gloo", timeout=timedelta(seconds=8))
trainer = L.Trainer(
    max_epochs=1, accelerator="cpu", devices=1, num_nodes=2, strategy=strategy, logger=False
)
trainer.fit(BoringModel())
