# /// case
# cause = "traceback"
# exit_code = 1
# why = "BlockingIOError: the file is locked by a writer; no other name fits"
# ///
"""An HDF5 file is opened for reading while another process holds it open for writing."""

import subprocess
import sys
import time

import h5py

WRITER = """
import h5py, time
with h5py.File('features.h5', 'w') as file:
    file['x'] = range(10)
    file.flush()
    time.sleep(30)
"""
writer = subprocess.Popen([sys.executable, "-c", WRITER])
time.sleep(4)
print("extracting features in the background, starting training", flush=True)
try:
    with h5py.File("features.h5", "r") as file:
        print("features", file["x"].shape)
finally:
    writer.terminate()
