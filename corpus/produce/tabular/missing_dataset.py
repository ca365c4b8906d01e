# /// case
# cause = "data"
# paper_class = "traceback"
# exit_code = 1
# why = "the file is there, and the array that the program reads is not in it"
# ///
"""The HDF5 file of one patient lacks an array."""

import h5py
import numpy as np

for patient in range(6):
    with h5py.File(f"p{patient:03d}.h5", "w") as file:
        file["signal/ecg"] = np.sin(np.arange(1000) / 10)
        if patient != 4:
            file["annotations/beats"] = np.arange(0, 1000, 60)

rates = []
for patient in range(6):
    with h5py.File(f"p{patient:03d}.h5") as file:
        beats = file["annotations/beats"][:]
        print(
            f"patient {patient}: {len(file['signal/ecg'])} samples, {len(beats)} beats", flush=True
        )
    rates.append(len(beats))
print("mean", np.mean(rates))
