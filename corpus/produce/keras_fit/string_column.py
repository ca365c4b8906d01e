# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = {KERAS_BACKEND = "jax"}
# why = "the column is of text, which the program takes for numbers: wrong types in the data"
# ///
"""A numeric column holds text, so that the table becomes an array of objects."""

import csv
import random

import keras
import numpy as np

random.seed(1)
with open("patients.csv", "w", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(["age", "bmi", "smoker", "risk"])
    for i in range(120):
        writer.writerow([random.randint(20, 80), 20 + i % 15, "yes" if i % 3 else "no", i % 2])
rows = list(csv.reader(open("patients.csv")))[1:]
table = np.array(rows, dtype=object)
x, y = table[:, :3], table[:, 3].astype("int32")
print("x", x.shape, x.dtype, "y", y.shape, y.dtype)
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(8, "relu"), keras.layers.Dense(1)])
model.compile("adam", keras.losses.BinaryCrossentropy(from_logits=True))
model.fit(x, y, epochs=3, batch_size=12)
