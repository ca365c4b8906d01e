# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# environment = "jax"
# env = { KERAS_BACKEND = "jax" }
# why = "the export of one plant holds a day that does not exist"
# ///
"""The readings of one plant are dated on a 29th of February that there was not."""

import csv
from datetime import date, timedelta
from pathlib import Path

import keras
import numpy as np

keras.utils.set_random_seed(0)
PLANTS = ("north", "harbour", "east")


def export(folder):
    folder.mkdir()
    for k, plant in enumerate(PLANTS):
        with open(folder / f"{plant}.csv", "w", newline="") as file:
            out = csv.writer(file, delimiter=";")
            out.writerow(["day", "mwh"])
            for i in range(120):
                day = (date(2023, 1, 1) + timedelta(i)).isoformat()
                if plant == "east" and day == "2023-03-01":
                    day = "2023-02-29"
                out.writerow([day, round(20 + 5 * np.sin(i / 7 * 6.28 + k), 2)])


def read(path):
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file, delimiter=";"))
    days = np.array([row["day"] for row in rows], dtype="datetime64[D]")
    values = np.array([float(row["mwh"]) for row in rows], dtype=np.float32)
    weekday = (days.astype(int) + 3) % 7
    return np.stack([(values - values.mean()) / values.std(), weekday / 6], 1)


def windows(table, width=14):
    x = np.stack([table[i : i + width] for i in range(len(table) - width)])
    return x.astype(np.float32), table[width:, 0].astype(np.float32)


model = keras.Sequential([keras.Input((14, 2)), keras.layers.GRU(8), keras.layers.Dense(1)])
model.compile("adam", "huber")
export(Path("plants"))
for plant in PLANTS:
    x, y = windows(read(Path("plants") / f"{plant}.csv"))
    print(f"--- plant {plant}: {len(x)} windows", flush=True)
    model.fit(x, y, epochs=2, batch_size=32, verbose=2)
model.save("plants.keras")
