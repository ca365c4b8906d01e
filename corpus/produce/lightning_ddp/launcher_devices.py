# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 {program}"
# timeout_s = 240
# why = "torchrun's number of processes and the Trainer's devices contradict each other: wrong launcher options"
# ///
"""torchrun starts two processes and the Trainer is told to use four."""

import lightning as L
from lightning.pytorch.demos.boring_classes import BoringModel

trainer = L.Trainer(max_epochs=1, accelerator="cpu", devices=4, strategy="ddp", logger=False)
trainer.fit(BoringModel())
