# /// case
# cause = "traceback"
# exit_code = 1
# ///
"""The best k is only set inside an if that is never true."""

from collections import Counter

import numpy as np
from sklearn.datasets import load_digits


def nearest(train_x, train_y, point, k):
    distances = ((train_x - point) ** 2).sum(axis=1)
    return Counter(train_y[np.argsort(distances)[:k]]).most_common(1)[0][0]


def search(train_x, train_y, test_x, test_y):
    best_accuracy = 1
    for k in [1, 3, 5, 7]:
        right = sum(
            nearest(train_x, train_y, x, k) == y for x, y in zip(test_x, test_y, strict=True)
        )
        accuracy = right / len(test_x)
        print("k =", k, "->", round(100 * accuracy, 2), "%")
        if accuracy > best_accuracy:
            best_accuracy = accuracy
            best_k = k
    return best_k, best_accuracy


digits = load_digits()
print("loaded", len(digits.data), "images")
print("*** searching k, this takes a moment ***")
k, accuracy = search(
    digits.data[:1200], digits.target[:1200], digits.data[1200:1400], digits.target[1200:1400]
)
print("BEST K IS", k, "with", accuracy)
