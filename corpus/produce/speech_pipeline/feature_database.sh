# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "SQLite says that the database or disk is full; the volume is a small one"
# ///
# Features go into an SQLite file on a scratch volume that has no room left.
set -e
mkdir -p scratch && mount -t tmpfs -o size=4m tmpfs scratch
cat > extract.py <<'PY'
"""Log-mel features of the training clips, kept in one SQLite file."""
import sqlite3
import numpy as np
from scipy import signal
from tqdm import tqdm

rng = np.random.default_rng(0)
base = sqlite3.connect("scratch/features.sqlite")
base.execute("PRAGMA journal_mode=WAL")
base.execute("CREATE TABLE mel (utt TEXT PRIMARY KEY, frames INTEGER, data BLOB)")


def mel(n):
    _, _, power = signal.spectrogram(rng.normal(size=n), 16000, nperseg=400, noverlap=240)
    return np.log(power + 1e-10).astype(np.float32)


for i in tqdm(range(200), desc="extracting", mininterval=0.05, ncols=70):
    x = mel(int(rng.integers(8000, 24000)))
    base.execute("INSERT INTO mel VALUES (?, ?, ?)", (f"utt{i:05d}", x.shape[1], x.tobytes()))
    if i % 10 == 9:
        base.commit()
base.close()
PY
echo "[$(basename "$PWD")] stage 1: feature extraction, nj=1"
python extract.py
echo "[$(basename "$PWD")] stage 2: training"
