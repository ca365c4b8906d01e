# /// case
# cause = "nan_loss"
# exit_code = 3
# why = "a divergence guard of the program; no exception"
# ///
"""The program's guard against divergence stops the training with a status of its own."""

import logging
import sys

import numpy as np

logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s,%(msecs)03d %(levelname)s %(message)s",
    datefmt="%H:%M:%S",
)
rng = np.random.default_rng(1)
features = rng.normal(size=(50, 8))
w = np.zeros(8)
for update in range(1, 2000):
    s, n = rng.integers(50, size=2)
    td = rng.random() + 1.4 * features[n] @ w - features[s] @ w
    w += 0.3 * td * features[s]
    value = np.abs(features @ w).max()
    if update % 50 == 0:
        logging.info("update=%d td_error=%.4g max|Q|=%.4g", update, td, value)
    if not np.isfinite(value) or value > 1e6:
        logging.critical(
            "divergence detected: max|Q| = %.3g exceeds 1e6 at update %d, aborting run",
            value,
            update,
        )
        sys.exit(3)
