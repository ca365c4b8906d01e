# /// case
# cause = "cuda_environment"
# paper_class = "traceback"
# exit_code = 1
# ///
"""The Trainer is asked for a GPU where none can be seen."""

import lightning as L
import torch
from lightning.pytorch.demos.transformer import LightningTransformer
from torch.utils.data import DataLoader, TensorDataset


def main():
    L.seed_everything(42)
    model = LightningTransformer(vocab_size=100)
    tokens = torch.randint(0, 100, (64, 2, 16))
    loader = DataLoader(TensorDataset(tokens[:, 0], tokens[:, 1]), batch_size=8, pin_memory=True)
    trainer = L.Trainer(
        accelerator="gpu", devices=1, precision="bf16-mixed", max_steps=100, benchmark=True
    )
    trainer.fit(model, loader)


if __name__ == "__main__":
    main()
