# /// case
# cause = "assertion"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# why = "the data set's own check of its batches, in a worker thread of Keras"
# ///
"""A PyDataset asserts that no batch is split over two recordings, and its last one is."""

import keras
import numpy as np


class Recordings(keras.utils.PyDataset):
    def __init__(self, groups, batch, **kwargs):
        super().__init__(**kwargs)
        self.groups, self.batch = groups, batch
        self.x = np.random.rand(len(groups), 12).astype("float32")

    def __len__(self):
        return -(-len(self.groups) // self.batch)

    def __getitem__(self, i):
        part = slice(i * self.batch, (i + 1) * self.batch)
        owners = np.unique(self.groups[part])
        assert len(owners) == 1, f"batch {i} mixes recordings {owners.tolist()}"
        return self.x[part], self.x[part].sum(1)


groups = np.repeat(np.arange(10), 20)
groups[-5:] = 11
data = Recordings(groups, 20, workers=2, use_multiprocessing=False, max_queue_size=4)
model = keras.Sequential([keras.Input((12,)), keras.layers.Dense(1)])
model.compile("rmsprop", "mse")
model.fit(data, epochs=2, shuffle=False)
