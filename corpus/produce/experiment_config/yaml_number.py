# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# why = "YAML reads 3e-4 as a text, as the printed configuration shows: a setting of the wrong type"
# ///
"""YAML takes 3e-4 for a text, and the optimizer compares it with a number."""

import pprint

import torch
import yaml

config = yaml.safe_load("""
model: {hidden: 64, layers: 2, dropout: 0.1}
optimizer:
  lr: 3e-4
  weight_decay: 0.01
trainer: {epochs: 20, clip: 1.0, precision: 32}
""")
pprint.pprint(config)
hidden = config["model"]["hidden"]
model = torch.nn.Sequential(
    torch.nn.Linear(10, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1)
)
optimizer = torch.optim.AdamW(model.parameters(), **config["optimizer"])
for epoch in range(config["trainer"]["epochs"]):
    print("epoch", epoch)
