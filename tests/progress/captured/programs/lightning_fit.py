# mypy: ignore-errors
"""A small regression under the Trainer of Lightning 2.x, with one of its bars or none."""

import argparse
import glob
import os

import torch

try:
    import lightning.pytorch as pl
except ModuleNotFoundError:
    import pytorch_lightning as pl

parser = argparse.ArgumentParser()
parser.add_argument("--output", default="out")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--steps", type=int, default=-1)
parser.add_argument("--rate", type=float, default=0.05)
parser.add_argument("--bar", choices=("tqdm", "rich", "none", "default"), default="default")
parser.add_argument("--both", action="store_true", help="log the loss per step and per epoch")
parser.add_argument("--print", action="store_true", dest="prints", help="self.print of each loss")
parser.add_argument("--no-batches", action="store_true")
parser.add_argument("--rows", type=int, default=320, help="of the data, so many")
parser.add_argument("--stop-at", type=int, help="end as if the machine went down in this epoch")
parser.add_argument(
    "--resume", nargs="?", const="", help="from the folder's last checkpoint, if any"
)
options = parser.parse_args()

pl.seed_everything(0)
torch.set_num_threads(1)
inputs = torch.randn(320, 8)
target = inputs.sum(1, keepdim=True) + 0.3 * torch.randn(320, 1)
data = torch.utils.data.TensorDataset(inputs, target)


class Module(pl.LightningModule):
    """One layer."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)

    def training_step(self, batch, index):
        """The loss of a batch."""
        inputs, target = batch
        loss = torch.nn.functional.mse_loss(self.layer(inputs), target)
        self.log("train_loss", loss, prog_bar=True, on_step=True, on_epoch=options.both)
        if options.prints:
            self.print(f"step {self.global_step} loss {loss.item():.4f}")
        return loss

    def validation_step(self, batch, index):
        """The same, without learning."""
        inputs, target = batch
        loss = torch.nn.functional.mse_loss(self.layer(inputs), target)
        self.log("val_loss", loss, prog_bar=True)

    def on_train_epoch_start(self):
        """The machine goes down."""
        if options.stop_at is not None and self.current_epoch == options.stop_at:
            os._exit(1)

    def configure_optimizers(self):
        """Plain descent."""
        return torch.optim.SGD(self.parameters(), lr=options.rate)


bars = {
    "tqdm": lambda: [pl.callbacks.TQDMProgressBar(refresh_rate=8)],
    "rich": lambda: [pl.callbacks.RichProgressBar()],
}
trainer = pl.Trainer(
    max_epochs=options.epochs if options.steps < 0 else -1,
    max_steps=options.steps,
    accelerator="cpu",
    devices=1,
    default_root_dir=options.output,
    logger=pl.loggers.CSVLogger(options.output),
    callbacks=[
        *bars.get(options.bar, list)(),
        pl.callbacks.ModelCheckpoint(f"{options.output}/checkpoints", save_last=True),
    ],
    enable_progress_bar=options.bar != "none",
    log_every_n_steps=5,
    limit_train_batches=0.0 if options.no_batches else 1.0,
)
rows = torch.utils.data.Subset(data, range(options.rows))
loader = torch.utils.data.DataLoader(rows, batch_size=8)
check = torch.utils.data.DataLoader(torch.utils.data.Subset(data, range(64)), batch_size=8)
folder = options.resume or f"{options.output}/checkpoints"
kept = sorted(glob.glob(f"{folder}/last*.ckpt")) if options.resume is not None else []
trainer.fit(Module(), loader, check, ckpt_path=kept[-1] if kept else None)
