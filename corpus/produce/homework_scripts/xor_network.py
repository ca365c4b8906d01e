# /// case
# cause = "shape_mismatch"
# exit_code = 1
# paper_class = "traceback"
# ///
"""A network by hand: the factors of the second product stand in the wrong order."""

import numpy as np

print("Exercise 4 - neural network from scratch")
X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
Y = np.array([[0], [1], [1], [0]], dtype=float)
print("X", X.shape, "Y", Y.shape)

rng = np.random.default_rng(42)
W1 = rng.normal(size=(2, 5))
b1 = np.zeros(5)
W2 = rng.normal(size=(5, 1))
b2 = np.zeros(1)


def sigmoid(z):
    return 1 / (1 + np.exp(-z))


def forward(x):
    hidden = sigmoid(x @ W1 + b1)
    print("hidden", hidden.shape)
    out = sigmoid(np.dot(W2, hidden) + b2)
    print("out", out.shape)
    return hidden, out


for epoch in range(1000):
    hidden, out = forward(X)
    error = out - Y
    print("epoch", epoch, "mse", (error**2).mean())
    d_out = error * out * (1 - out)
    W2 = W2 - 0.5 * hidden.T @ d_out
    d_hidden = (d_out @ W2.T) * hidden * (1 - hidden)
    W1 = W1 - 0.5 * X.T @ d_hidden
print("done!!")
