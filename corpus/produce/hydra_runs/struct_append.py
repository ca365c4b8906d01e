# /// case
# cause = "config"
# paper_class = "traceback"
# exit_code = 1
# command = "python {program} trainer.precission=16 trainer.max_epochs=2"
# ///
"""A misspelt override is refused because the config is a struct."""

from pathlib import Path

import hydra

Path("conf").mkdir(exist_ok=True)
Path("conf/train.yaml").write_text("trainer:\n  max_epochs: 10\n  precision: 32\nseed: 1\n")


@hydra.main(version_base=None, config_path="conf", config_name="train")
def main(cfg):
    print("training", cfg.trainer)


if __name__ == "__main__":
    main()
