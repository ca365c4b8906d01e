# /// case
# cause = "none"
# paper_class = ""
# exit_code = 0
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# why = "a metric is nan in each epoch and the generator warns, while the loss falls and the work is done"
# ///
"""A healthy run: one metric is always nan, records are dropped with errors in the log."""

import logging

import keras
import numpy as np
from keras import ops

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s - %(message)s")
log = logging.getLogger("pipeline")


def auc_like(y_true, y_pred):
    positive = ops.sum(ops.where(y_true > 5.0, y_pred, 0.0))
    return positive / ops.sum(ops.cast(y_true > 5.0, "float32"))


class Batches(keras.utils.PyDataset):
    def __init__(self, rows):
        super().__init__()
        kept = []
        for i, row in enumerate(rows):
            if not np.isfinite(row).all():
                log.error(
                    "row %d: non-finite value, ValueError: cannot convert float NaN to integer", i
                )
                continue
            kept.append(row)
        log.warning("dropped %d corrupt rows of %d", len(rows) - len(kept), len(rows))
        self.rows = np.array(kept, "float32")

    def __len__(self):
        return len(self.rows) // 20

    def __getitem__(self, i):
        part = self.rows[20 * i : 20 * (i + 1)]
        return part, part.sum(1, keepdims=True) / 10


rng = np.random.default_rng(4)
rows = rng.random((324, 6))
rows[[3, 50, 200, 201], 2] = np.nan
model = keras.Sequential([keras.Input((6,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.01), "mse", metrics=[auc_like])
model.fit(Batches(rows), epochs=5, verbose=2)
model.save("final.keras")
log.info("training complete, model saved to final.keras")
