# /// case
# cause = "network"
# paper_class = "traceback"
# exit_code = 1
# why = "the mirror of the pretrained weights cannot be reached, also not after the retries"
# ///
"""The pretrained backbone is fetched from a mirror that accepts no connections; retries do not help."""

import time
from dataclasses import dataclass

import torch
import yaml
from loguru import logger

CONFIG = """
backbone:
  kind: resnet_tiny
  pretrained: http://127.0.0.1:9/models/resnet_tiny-5106c8a0.pth
  retries: 3
head: {classes: 12}
"""


@dataclass
class Backbone:
    kind: str
    pretrained: str | None = None
    retries: int = 1

    def weights(self):
        for attempt in range(1, self.retries + 1):
            try:
                return torch.hub.load_state_dict_from_url(
                    self.pretrained, progress=False, check_hash=True
                )
            except OSError as error:
                logger.warning("attempt {}/{} failed: {}", attempt, self.retries, error)
                if attempt == self.retries:
                    raise
                time.sleep(0.2 * attempt)

    def build(self):
        net = torch.nn.Sequential(
            torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.ReLU()
        )
        if self.pretrained:
            net.load_state_dict(self.weights())
        return net


@logger.catch(reraise=True, message="experiment failed")
def main():
    config = yaml.safe_load(CONFIG)
    logger.info("loaded config with sections {}", list(config))
    net = Backbone(**config["backbone"]).build()
    logger.success("backbone ready: {}", net)


main()
