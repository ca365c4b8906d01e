# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# why = "the tuner catches the failed allocations, takes a smaller batch, and the fit ends well"
# ///
# The batch size finder runs out of memory on purpose and the fit goes on with a smaller batch.
cat > fit.py << 'PROGRAM'
import resource

import lightning as L
import torch
from lightning.pytorch.tuner import Tuner
from torch import nn
from torch.utils.data import DataLoader


class Pairs(L.LightningModule):
    def __init__(self, batch_size=256):
        super().__init__()
        self.batch_size = batch_size
        self.net = nn.Linear(16, 64)

    def training_step(self, x, _):
        h = self.net(x)
        distances = (h[:, None] - h[None, :]).pow(2).mean(-1)
        loss = (distances - 1).abs().mean()
        self.log("pair_loss", loss, prog_bar=True)
        return loss

    def train_dataloader(self):
        return DataLoader(torch.randn(32768, 16), self.batch_size)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=1e-3)


resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
L.seed_everything(5)
model = Pairs()
trainer = L.Trainer(
    max_epochs=1, accelerator="cpu", logger=False, enable_checkpointing=False, limit_train_batches=4
)
Tuner(trainer).scale_batch_size(model, mode="power", init_val=256, steps_per_trial=1, max_trials=8)
print("training with batch size", model.batch_size)
trainer.fit(model)
print("pair_loss", trainer.callback_metrics["pair_loss"].item())
PROGRAM
python fit.py 2>&1 | tee fit.log
exit ${PIPESTATUS[0]}
