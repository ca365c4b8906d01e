# /// case
# cause = "assertion"
# exit_code = 1
# why = "the program's own claim about its folds; the numbers come from its own arithmetic"
# ///
"""The folds that a hydra app makes overlap, and its own assertion says so without a message."""

import logging
from pathlib import Path

import hydra
import numpy as np

Path("conf").mkdir(exist_ok=True)
Path("conf/config.yaml").write_text("folds: 5\nrows: 103\nseed: 3\n")
log = logging.getLogger("cross_validation")


def folds(rows, n, seed):
    order = np.random.default_rng(seed).permutation(rows)
    size = -(-rows // n)
    return [order[max(0, rows - (k + 1) * size) :][:size] for k in range(n)]


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    parts = folds(cfg.rows, cfg.folds, cfg.seed)
    seen = set()
    for k, part in enumerate(parts):
        log.info("fold %d: %d rows", k, len(part))
        assert not seen & set(part.tolist())
        seen |= set(part.tolist())


if __name__ == "__main__":
    main()
