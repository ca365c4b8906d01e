# /// case
# cause = "assertion"
# exit_code = 1
# ///
"""A check of the index: all vectors must have the length one, and padding rows do not."""

import numpy as np


class FlatIndex:
    def __init__(self, width):
        self.vectors = np.zeros((0, width), np.float32)

    def add(self, vectors):
        length = np.linalg.norm(vectors, axis=1)
        assert np.allclose(length, 1.0, atol=1e-3), (
            f"index wants unit vectors, got lengths from {length.min():.3f} to {length.max():.3f}"
        )
        self.vectors = np.concatenate([self.vectors, vectors])

    def search(self, query, k):
        scores = query @ self.vectors.T
        return np.argsort(-scores, axis=1)[:, :k]


def batches(count, size, width):
    rng = np.random.default_rng(11)
    for start in range(0, count, size):
        rows = rng.normal(size=(min(size, count - start), width)).astype(np.float32)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        yield np.pad(rows, ((0, size - len(rows)), (0, 0)))


index = FlatIndex(48)
for number, rows in enumerate(batches(3300, 512, 48)):
    index.add(rows)
    print(f"batch {number}: {len(index.vectors)} vectors in the index")
print(index.search(rows[:2], 3))
