# /// case
# cause = "none"
# exit_code = 0
# why = "a callback is disabled after its error and an upload is given up, as the settings allow; all steps are done"
# ///
"""A run with settings full of alarming names, a hook that is switched off after an error, and a good end."""

import sys
from dataclasses import asdict, dataclass, field

import torch
import yaml
from loguru import logger

logger.remove()
logger.add(
    sys.stderr,
    format="{time:HH:mm:ss} {level} [{function}] {message}",
    backtrace=False,
    diagnose=True,
)


@dataclass
class Guard:
    kill_on_bad_exit: bool = True
    error_injection_rate: float = 0.0
    raise_on_nan: bool = True
    segfault_handler: str = "off"
    oom_retry: int = 2
    nccl_timeout_s: int = 1800


@dataclass
class Experiment:
    name: str = "ablation-no-crash"
    steps: int = 60
    fatal_warnings: bool = False
    guard: Guard = field(default_factory=Guard)
    hooks: list = field(default_factory=lambda: ["loss", "upload", "histogram"])


def loss(step, value, model):
    logger.info("step {} loss {:.5f} grad_nan 0", step, value)


def upload(step, value, model):
    raise ConnectionError("tracking server refused the connection (fatal: no route to host)")


def histogram(step, value, model):
    counts = torch.histc(model.weight.detach(), 5)
    return {"mass": counts / counts[: step // 1000].sum(), "bins": counts[7]}


HOOKS = {f.__name__: f for f in (loss, upload, histogram)}
experiment = Experiment()
print(yaml.safe_dump(asdict(experiment), sort_keys=False))
active = list(experiment.hooks)
torch.manual_seed(0)
model = torch.nn.Linear(12, 12)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for step in range(1, experiment.steps + 1):
    x = torch.randn(32, 12)
    value = (model(x) - x.flip(1)).square().mean()
    optimizer.zero_grad()
    value.backward()
    optimizer.step()
    if step % 15:
        continue
    for name in list(active):
        try:
            HOOKS[name](step, value.item(), model)
        except ConnectionError as error:
            logger.error("hook {} failed: {}; will not be called again", name, error)
            active.remove(name)
        except Exception:
            logger.exception("hook {} crashed and is disabled for the rest of the run", name)
            active.remove(name)
logger.success(
    "{} finished {} steps, final loss {:.4f}, active hooks {}",
    experiment.name,
    step,
    value.item(),
    active,
)
