# /// case
# cause = "div_zero"
# exit_code = 1
# ///
"""A schedule with warm restarts divides by a cycle that the settings of the cache make empty."""

import json
import pathlib

import torch

pathlib.Path("settings.json").write_text(json.dumps({"batches_in_cache": 7, "accumulate": 8}))


class Cycles(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, cycle):
        self.cycle = cycle
        super().__init__(optimizer)

    def get_lr(self):
        phase = (self.last_epoch % self.cycle) / self.cycle
        return [base * (1 - phase) for base in self.base_lrs]


settings = json.loads(pathlib.Path("settings.json").read_text())
model = torch.nn.Linear(3, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
schedule = Cycles(optimizer, settings["batches_in_cache"] // settings["accumulate"])
for step in range(20):
    optimizer.step()
    schedule.step()
    print(step, schedule.get_last_lr())
