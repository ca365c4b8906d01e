# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# env = {CXX = "g++-99"}
# timeout_s = 200
# why = "inductor finds no C++ compiler: building at run time fails"
# ///
"""The compiled module cannot be built, since the compiler that CXX names is not there."""

import lightning as L
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Net(L.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 1))

    def training_step(self, batch, _):
        loss = nn.functional.mse_loss(self.net(batch[0]), batch[1])
        self.log("train_loss", loss, prog_bar=True)
        return loss

    def validation_step(self, batch, _):
        self.log("val_loss", nn.functional.mse_loss(self.net(batch[0]), batch[1]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


if __name__ == "__main__":
    L.seed_everything(3)
    data = DataLoader(TensorDataset(torch.randn(64, 8), torch.randn(64, 1)), 16)
    model = Net()
    model.net.compile(mode="default")
    print("model compiled")
    trainer = L.Trainer(max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False)
    trainer.fit(model, data, data)
