# /// case
# cause = "missing_module"
# exit_code = 1
# environment = "hf4"
# ///
"""The logger needs wandb, which is not installed here."""

import logging

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import LearningRateMonitor, ModelCheckpoint
from pytorch_lightning.demos.boring_classes import BoringModel
from pytorch_lightning.loggers import WandbLogger

logging.basicConfig(level=logging.INFO)
logging.getLogger(__name__).info(
    "run config: %s", {"project": "sentiment", "seed": 7, "fp16": False}
)
pl.seed_everything(7, workers=True)
torch.set_num_threads(1)
logger = WandbLogger(project="sentiment", name="baseline", offline=True, log_model=False)
trainer = pl.Trainer(
    max_epochs=2,
    logger=logger,
    accelerator="cpu",
    callbacks=[LearningRateMonitor("step"), ModelCheckpoint(save_last=True)],
)
trainer.fit(BoringModel())
