# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "a setting of the Trainer that does not go with the number of batches"
# ///
"""Validation is asked for every 1000 batches of an epoch that has 25."""

import lightning as L
import torch
from lightning.pytorch.demos.boring_classes import BoringModel, RandomDataset
from torch.utils.data import DataLoader

config = {
    "seed": 1234,
    "trainer": {
        "max_epochs": 10,
        "val_check_interval": 1000,
        "gradient_clip_val": 1.0,
        "accelerator": "cpu",
        "enable_progress_bar": False,
        "detect_anomaly": False,
    },
    "data": {"batch_size": 4, "num_workers": 0},
}

for key, value in config.items():
    print(f"{key}: {value}")
L.seed_everything(config["seed"])
trainer = L.Trainer(**config["trainer"], logger=False)
loader = DataLoader(RandomDataset(32, 100), **config["data"])
torch.set_float32_matmul_precision("high")
trainer.fit(BoringModel(), loader, DataLoader(RandomDataset(32, 40), **config["data"]))
