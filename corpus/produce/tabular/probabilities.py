# /// case
# cause = "assertion"
# exit_code = 1
# why = "an assertion of numpy's testing tools about the program's own result"
# ///
"""A check of the program finds that its probabilities do not sum to one."""

import numpy as np


def softmax(z):
    e = np.exp(z - z.max())
    return e / e.sum(axis=0)


def fit(x, y, classes, steps):
    w = np.zeros((x.shape[1], classes))
    for step in range(steps):
        p = softmax(x @ w)
        w += 0.5 * x.T @ (np.eye(classes)[y] - p) / len(x)
        if step % 10 == 0:
            print(
                f"step {step} loss {-np.log(p[np.arange(len(y)), y] + 1e-12).mean():.4f}",
                flush=True,
            )
    return w


rng = np.random.default_rng(0)
x = rng.normal(size=(120, 4))
y = x[:, :3].argmax(1)
w = fit(x, y, 3, 40)
p = softmax(x @ w)
np.testing.assert_allclose(p.sum(1), 1, rtol=1e-6, err_msg="class probabilities must sum to one")
