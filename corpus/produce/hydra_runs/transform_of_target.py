# /// case
# cause = "file_not_found"
# exit_code = 1
# why = "hydra wraps the FileNotFoundError of the class that it builds"
# ///
"""instantiate() wraps the missing vocabulary file of the class it builds."""

import json
from pathlib import Path

import hydra
from hydra.utils import instantiate

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text(
    "tokenizer:\n  _target_: __main__.CharTokenizer\n  vocab: artifacts/vocab.json\nsteps: 10\n"
)


class CharTokenizer:
    def __init__(self, vocab):
        with open(vocab) as file:
            self.index = json.load(file)


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    tokenizer = instantiate(cfg.tokenizer)
    print(len(tokenizer.index), "characters")


if __name__ == "__main__":
    main()
