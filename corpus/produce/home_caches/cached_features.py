# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search,-fowner python {program}"
# needs = ["root"]
# why = "a process of the pool may not write to the cache; joblib repeats its traceback"
# ///
"""Processes of a pool write into joblib's cache, of which one folder belongs to another user."""

import logging
import os

import numpy as np
from joblib import Parallel, delayed

logging.basicConfig(
    level=logging.INFO, format="%(asctime)s - %(name)s - %(levelname)s - %(message)s"
)
log = logging.getLogger("mel")
for speaker in ("anna", "bob", "carl"):
    os.makedirs(f"cache/mel/{speaker}")
os.chmod("cache/mel/carl", 0o555)


def extract(speaker, n):
    rng = np.random.default_rng(n)
    mel = np.abs(np.fft.rfft(rng.normal(size=(20, 256)))).astype(np.float32)
    np.save(f"cache/mel/{speaker}/{n:04d}.npy", mel)
    return mel.mean()


for speaker in ("anna", "bob", "carl"):
    means = Parallel(n_jobs=2)(delayed(extract)(speaker, n) for n in range(6))
    log.info("%s: %d files, mean magnitude %.3f", speaker, len(means), np.mean(means))
