# /// case
# cause = "traceback"
# exit_code = 1
# env = {WANDB_MODE = "offline"}
# ///
"""A metric dictionary is built from an attribute that the schedule does not have."""

import torch
import wandb

run = wandb.init(project="asr", mode="offline", config={"epochs": 3})
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)
for epoch in range(run.config.epochs):
    loss = model(torch.randn(8, 4)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}", flush=True)
    if epoch:
        schedule.step(loss)
        run.log({"loss": loss.item(), "lr": schedule.get_learning_rate()})
run.finish()
