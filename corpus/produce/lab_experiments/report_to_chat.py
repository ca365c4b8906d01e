# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# command = "python {program} epochs=3 notify.url=http://127.0.0.1:9/hooks/lab"
# why = "the training is done; the run fails because the service for its report cannot be reached"
# ///
"""The training is over and the report of the result cannot be posted: nobody listens there."""

import logging

import hydra
import requests
import torch
from hydra.core.config_store import ConfigStore
from omegaconf import DictConfig, OmegaConf

log = logging.getLogger(__name__)
DEFAULTS = {
    "epochs": 10,
    "lr": 0.2,
    "notify": {"url": "http://127.0.0.1:8065/hooks/lab", "timeout": 3},
    "hydra": {"job_logging": {"handlers": {"console": {"stream": "ext://sys.stderr"}}}},
}
ConfigStore.instance().store("experiment", DEFAULTS)


def train(cfg: DictConfig) -> float:
    torch.manual_seed(5)
    x = torch.randn(100, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    w = torch.zeros(3, 1, requires_grad=True)
    for epoch in range(cfg.epochs):
        loss = (x @ w - y).pow(2).mean()
        loss.backward()
        with torch.no_grad():
            w -= cfg.lr * w.grad
            w.grad.zero_()
        log.info("epoch %d: loss=%.5f", epoch + 1, loss.item())
    return loss.item()


@hydra.main(version_base=None, config_name="experiment")
def main(cfg: DictConfig) -> None:
    log.info("config:\n%s", OmegaConf.to_yaml(cfg))
    result = train(cfg)
    text = f"run finished with loss {result:.5f}"
    answer = requests.post(cfg.notify.url, json={"text": text}, timeout=cfg.notify.timeout)
    answer.raise_for_status()
    log.info("reported: %s", text)


main()
