# /// case
# cause = "checkpoint"
# paper_class = "traceback"
# exit_code = 1
# why = "the checkpoint holds a class of the project that weights-only loading refuses: the file cannot be loaded as it is"
# ///
"""The checkpoint holds a configuration object that torch.load refuses with weights_only."""

from dataclasses import dataclass

import lightning as L
from lightning.pytorch.demos.boring_classes import BoringModel


@dataclass
class RunConfig:
    lr: float = 0.1
    tags: tuple = ("baseline", "nan-safe")


class Configured(BoringModel):
    def __init__(self, config=None):
        super().__init__()
        self.config = config or RunConfig()

    def on_save_checkpoint(self, checkpoint):
        checkpoint["config"] = self.config


if __name__ == "__main__":
    print("first stage")
    trainer = L.Trainer(max_epochs=1, accelerator="cpu", logger=False, limit_train_batches=8)
    trainer.fit(Configured())
    trainer.save_checkpoint("stage1.ckpt")
    print("second stage")
    second = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, limit_train_batches=8)
    second.fit(Configured(), ckpt_path="stage1.ckpt", weights_only=True)
