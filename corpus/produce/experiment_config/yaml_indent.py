# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# ///
"""A tab in the YAML file of the experiment."""

from pathlib import Path

import yaml

TEXT = """\
experiment: resnet-cifar
seed: 17
model:
  name: resnet20
  width: 16
optimizer:
  name: sgd
\tlr: 0.1
  momentum: 0.9
"""


def load_config(path):
    print(f"loading configuration from {path}")
    with open(path) as file:
        return yaml.safe_load(file)


Path("configs").mkdir()
Path("configs/resnet.yaml").write_text(TEXT)
config = load_config("configs/resnet.yaml")
print("optimizer:", config["optimizer"])
