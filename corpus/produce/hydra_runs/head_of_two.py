# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# env = {HYDRA_FULL_ERROR = "1"}
# why = "the keyword in the config is not one of the class's parameters"
# ///
"""instantiate() passes a keyword that the class does not take; the whole stack is shown."""

from pathlib import Path

import hydra
from hydra.utils import instantiate

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text(
    "model:\n  _target_: sklearn.linear_model.SGDClassifier\n  penalty: l2\n  lr: 0.01\n"
)


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    model = instantiate(cfg.model)
    print(model)


if __name__ == "__main__":
    main()
