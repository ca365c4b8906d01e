# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The checkpoint was cut off when the first job was stopped while writing it."""

import os

import lightning as L
from lightning.pytorch.demos.boring_classes import BoringModel
from loguru import logger


def trainer_for(steps):
    return L.Trainer(
        max_steps=steps,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )


@logger.catch(reraise=True)
def resume(path):
    size = os.path.getsize(path)
    logger.info("resuming from {} ({} bytes)", path, size)
    trainer_for(40).fit(BoringModel(), ckpt_path=path)


first = trainer_for(10)
first.fit(BoringModel())
first.save_checkpoint("step10.ckpt")
logger.info("stage 1 done, {} steps", first.global_step)
os.truncate("step10.ckpt", os.path.getsize("step10.ckpt") - 700)
resume("step10.ckpt")
