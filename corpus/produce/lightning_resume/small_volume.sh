# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# ///
# The volume for the checkpoints fills up at the third epoch.
mkdir -p ckpt && mount -t tmpfs -o size=2200k tmpfs ckpt
cat > fit.py << 'PROGRAM'
import lightning as L
import torch
from lightning.pytorch.callbacks import ModelCheckpoint
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Wide(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(20, 3000), nn.ReLU(), nn.Linear(3000, 5))

    def training_step(self, batch, batch_idx):
        loss = nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        self.log("train_loss", loss)
        if batch_idx == 0:
            print(f"epoch={self.current_epoch} loss={loss.item():.4f}", flush=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


L.seed_everything(12)
data = TensorDataset(torch.randn(200, 20), torch.randint(0, 5, (200,)))
trainer = L.Trainer(
    max_epochs=10,
    accelerator="cpu",
    logger=False,
    enable_progress_bar=False,
    callbacks=[ModelCheckpoint("ckpt", save_top_k=-1, filename="{epoch}")],
)
trainer.fit(Wide(), DataLoader(data, 20))
PROGRAM
python fit.py
