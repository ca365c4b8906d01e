# /// case
# cause = "none"
# exit_code = 0
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# needs = ["root"]
# why = "the tracker may not write and is switched off, the training ends well"
# ///
"""Tracking and caching fail for lack of rights and are switched off with warnings; the training ends well."""

import logging
import os

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
os.makedirs("mlruns")
os.chmod("mlruns", 0o555)


class Tracker:
    def __init__(self, folder):
        self.folder, self.works = folder, True

    def log(self, step, value):
        if not self.works:
            return
        try:
            with open(f"{self.folder}/loss.csv", "a") as out:
                out.write(f"{step},{value}\n")
        except PermissionError:
            logging.exception("tracking is switched off")
            self.works = False


torch.manual_seed(0)
tracker = Tracker("mlruns")
model = nn.Linear(8, 1)
optimizer = torch.optim.LBFGS(model.parameters(), max_iter=4)
x = torch.randn(200, 8)
for step in range(8):

    def closure():
        optimizer.zero_grad()
        loss = (model(x).squeeze(1) - x.sum(1)).pow(2).mean()
        loss.backward()
        return loss

    loss = optimizer.step(closure).item()
    tracker.log(step, loss)
    logging.info("step %d loss %.6f (0 killed, 0 overflow, 0 divisions by zero)", step, loss)
torch.save(model.state_dict(), "model.pt")
logging.info("saved model.pt, all steps done")
