# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "python {program} 'data.classes=[cat,dog' data.root=images"
# ///
"""An override has a bracket that is not closed."""

from pathlib import Path

import hydra

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text("data:\n  classes: []\n  root: null\n")


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    print(len(cfg.data.classes))


if __name__ == "__main__":
    main()
