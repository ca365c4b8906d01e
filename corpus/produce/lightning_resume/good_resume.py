# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# why = "the first checkpoint is unreadable, the program says so and resumes from the one before"
# ///
"""A corrupt checkpoint is passed over and the run goes on from the one before it."""

import logging
from pathlib import Path

import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.demos.boring_classes import BoringModel

logging.basicConfig(format="%(asctime)s | %(levelname)s | %(message)s", level=logging.INFO)
log = logging.getLogger("resume")


def newest_readable(folder):
    for path in sorted(Path(folder).glob("*.ckpt"), reverse=True):
        try:
            step = torch.load(path, weights_only=True)["global_step"]
        except Exception:
            log.exception("checkpoint %s is corrupt, trying an older one", path.name)
            continue
        log.info("resuming from %s at global step %d", path.name, step)
        return path
    raise FileNotFoundError(folder)


def trainer(epochs):
    saver = ModelCheckpoint("ckpt", filename="{epoch:02d}", save_top_k=-1)
    return L.Trainer(
        max_epochs=epochs,
        accelerator="cpu",
        logger=False,
        limit_train_batches=16,
        limit_val_batches=2,
        callbacks=[saver],
        enable_progress_bar=False,
    )


L.seed_everything(14)
trainer(3).fit(BoringModel())
Path("ckpt/epoch=02.ckpt").write_bytes(b"PK\x03\x04" + bytes(500))
second = trainer(5)
second.fit(BoringModel(), ckpt_path=newest_readable("ckpt"), weights_only=True)
log.info("fit finished at global step %d", second.global_step)
