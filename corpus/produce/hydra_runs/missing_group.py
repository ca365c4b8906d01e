# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "python {program} model=resnet101 optim.lr=0.01"
# ///
"""A config group has no option of the name that is asked for on the command line."""

from pathlib import Path

import hydra

Path("conf/model").mkdir(parents=True, exist_ok=True)
Path("conf/config.yaml").write_text(
    "defaults:\n  - model: resnet18\n  - _self_\noptim:\n  lr: 0.1\n"
)
Path("conf/model/resnet18.yaml").write_text("depth: 18\n")
Path("conf/model/resnet50.yaml").write_text("depth: 50\n")


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    print(cfg.model.depth)


if __name__ == "__main__":
    main()
