# /// case
# cause = "nan_loss"
# exit_code = 0
# why = "the losses grow without bound and stay nan to the last step; the printed prediction is nan too"
# ///
"""Gradient descent on areas in square metres that were never scaled."""

import numpy as np

area = np.array([45, 60, 72, 85, 90, 110, 130, 150, 180, 210], dtype=float)
rooms = np.array([1, 2, 2, 3, 3, 4, 4, 5, 5, 6], dtype=float)
price = 2.1 * area + 15 * rooms + 20
print("Houses:", len(area))
w_area, w_rooms, b = 0.0, 0.0, 0.0
lr = 0.01
for step in range(401):
    guess = w_area * area + w_rooms * rooms + b
    diff = guess - price
    cost = (diff * diff).mean()
    w_area -= lr * 2 * (diff * area).mean()
    w_rooms -= lr * 2 * (diff * rooms).mean()
    b -= lr * 2 * diff.mean()
    if step % 20 == 0:
        print(f"step {step:3d}   cost = {cost}")
print("trained weights:", w_area, w_rooms, b)
print("a flat with 100 m2 and 3 rooms costs", w_area * 100 + w_rooms * 3 + b)
