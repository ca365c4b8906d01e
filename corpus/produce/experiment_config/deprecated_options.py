# /// case
# cause = "none"
# exit_code = 0
# ///
"""Old options are translated with deprecation warnings and a traceback for debugging; all goes well."""

import logging
import traceback
import warnings

import torch

logging.basicConfig(level=logging.DEBUG, format="%(asctime)s %(levelname)5s %(message)s")
logging.captureWarnings(True)


def option(config, name, old, default):
    if old in config:
        warnings.warn(
            f"{old} is deprecated and will raise an error in version 2.0; use {name}",
            DeprecationWarning,
        )
        logging.debug("used from here:\n%s", "".join(traceback.format_stack(limit=2)))
        return config[old]
    return config.get(name, default)


warnings.simplefilter("default")
config = {"learning_rate": 0.05, "num_iters": 60, "gpus": 1}
lr = option(config, "lr", "learning_rate", 0.1)
steps = option(config, "steps", "num_iters", 100)
if option(config, "devices", "gpus", 0) and not torch.cuda.is_available():
    logging.error(
        "1 GPU requested but CUDA is not available: Found no NVIDIA driver. Falling back to CPU."
    )
model = torch.nn.Linear(5, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=lr)
for step in range(1, steps + 1):
    x = torch.randn(64, 5)
    loss = (model(x) - x.mean(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 20 == 0:
        logging.info("step %d/%d loss %.6f", step, steps, loss.item())
logging.info("done: model trained, 0 failures")
