# /// case
# cause = "div_zero"
# exit_code = 1
# why = "the hook divides by whole seconds; the log does not say why they are none, and the framework wraps the error"
# ///
"""A hook works out samples per second with whole seconds; the framework wraps what it raises."""

import time
from dataclasses import asdict, dataclass

import torch
import yaml


@dataclass(frozen=True)
class Config:
    epochs: int = 3
    batches: int = 12
    batch_size: int = 64
    hooks: tuple = ("progress", "throughput")


class HookError(RuntimeError):
    pass


class Progress:
    def after_epoch(self, runner):
        print(
            f"epoch [{runner.epoch + 1}/{runner.config.epochs}] loss={runner.loss:.4f}", flush=True
        )


class Throughput:
    def before_epoch(self, runner):
        self.began = time.time()

    def after_epoch(self, runner):
        seconds = int(time.time() - self.began)
        rate = runner.config.batches * runner.config.batch_size // seconds
        print(f"throughput {rate} samples/s", flush=True)


HOOKS = {"progress": Progress, "throughput": Throughput}


class Runner:
    def __init__(self, config):
        self.config = config
        self.hooks = [HOOKS[name]() for name in config.hooks]
        self.model = torch.nn.Sequential(
            torch.nn.Linear(16, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
        )
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.05)

    def call(self, event):
        for hook in self.hooks:
            method = getattr(hook, event, None)
            if method is None:
                continue
            try:
                method(self)
            except Exception as error:
                raise HookError(
                    f"{type(hook).__name__}.{event} failed in epoch {self.epoch}"
                ) from error

    def run(self):
        for self.epoch in range(self.config.epochs):
            self.call("before_epoch")
            for _ in range(self.config.batches):
                x = torch.randn(self.config.batch_size, 16)
                loss = (self.model(x) - x.sum(1, keepdim=True)).square().mean()
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                if self.epoch == 0:
                    time.sleep(0.12)
            self.loss = loss.item()
            self.call("after_epoch")


config = Config()
print("---\n" + yaml.safe_dump({**asdict(config), "hooks": list(config.hooks)}), end="---\n")
Runner(config).run()
