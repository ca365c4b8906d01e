# /// case
# cause = "none"
# exit_code = 0
# env = {WANDB_MODE = "offline"}
# why = "one arm of the ablation diverges as expected and is marked as failed, uploads are off, and the study is complete"
# ///
"""An ablation in which one arm is meant to diverge; the tracker is offline, and the study comes to its end."""

import warnings

import lightning as L
import torch
from lightning.pytorch.callbacks import EarlyStopping
from lightning.pytorch.loggers import CSVLogger
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
import wandb

torch.set_num_threads(1)


class Arm(L.LightningModule):
    def __init__(self, lr, normalise):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))

    def training_step(self, batch, _):
        x, y = batch
        x = x / 300 if self.hparams.normalise else x
        loss = nn.functional.mse_loss(self.net(x)[:, 0], y)
        self.log("loss", loss, on_epoch=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.hparams.lr)


L.seed_everything(3, verbose=False)
x = torch.rand(96, 4) * 300
loader = DataLoader(TensorDataset(x, x.sum(1) / 600), 16, shuffle=True)
table = []
for lr, normalise in ((0.1, True), (0.1, False), (0.02, True)):
    run = wandb.init(project="ablation", name=f"lr{lr}-norm{normalise}", config={"lr": lr})
    trainer = L.Trainer(
        max_epochs=5,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        logger=CSVLogger("csv"),
        callbacks=[EarlyStopping("loss", check_finite=True, check_on_train_epoch_end=True)],
    )
    trainer.fit(Arm(lr, normalise), loader)
    loss = trainer.callback_metrics["loss"].item()
    failed = not loss < 1e3
    if failed:
        warnings.warn(f"arm lr={lr} normalise={normalise} FAILED: loss={loss}")
    table.append((lr, normalise, loss))
    run.log({"loss": loss})
    run.finish(exit_code=int(failed))
print("lr     norm   loss")
for lr, normalise, loss in table:
    print(f"{lr:<6} {normalise!s:<6} {loss:.4f}")
print("as expected: training fails without normalisation; 3 of 3 arms done")
