# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# env = {WANDB_MODE = "offline", WANDB_SILENT = "false"}
# why = "the run's configuration already has another value for the key that the warm-start writes"
# ///
"""The learning rate of the run is set a second time with another value, which wandb refuses."""

import torch
import wandb

torch.set_num_threads(1)
torch.manual_seed(2)
DEFAULTS = {"lr": 0.1, "epochs": 4, "width": 8, "fail_on_nan": True}
OVERRIDES = {"epochs": 3, "lr": 0.03}

run = wandb.init(project="width-study", config=DEFAULTS, settings=wandb.Settings(console="off"))
print("run", run.id and "started", "mode", run.settings.mode)
for key, value in OVERRIDES.items():
    if value != DEFAULTS[key]:
        print(f"override {key}: {DEFAULTS[key]} -> {value}", flush=True)
run.config.update(OVERRIDES)
model = torch.nn.Linear(run.config.width, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=run.config.lr)
for epoch in range(run.config.epochs):
    loss = model(torch.randn(32, run.config.width)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    run.log({"loss": loss.item()}, step=epoch)
run.finish()
