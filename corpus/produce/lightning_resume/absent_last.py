# /// case
# cause = "checkpoint"
# paper_class = "file_not_found"
# exit_code = 1
# command = "python {program} --resume checkpoints/last.ckpt"
# why = "the checkpoint to resume from is absent; a FileNotFoundError carries it"
# ///
"""The last checkpoint of an earlier run is not there."""

import argparse

import lightning as L
from lightning.pytorch.callbacks import ModelCheckpoint
from lightning.pytorch.demos.boring_classes import BoringModel

parser = argparse.ArgumentParser()
parser.add_argument("--resume")
parser.add_argument("--steps", type=int, default=200)
args = parser.parse_args()
L.seed_everything(1, workers=True)
trainer = L.Trainer(
    max_steps=args.steps,
    accelerator="cpu",
    callbacks=[ModelCheckpoint("checkpoints", save_last=True, every_n_train_steps=50)],
    enable_progress_bar=False,
)
print(f"resuming from {args.resume}")
trainer.fit(BoringModel(), ckpt_path=args.resume)
