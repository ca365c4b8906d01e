# /// case
# cause = "segfault"
# exit_code = -11
# why = "the process ends with SIGSEGV and without a word"
# ///
"""Frames are cut with a stride trick that counts samples instead of bytes and runs past the recording."""

import sys
from pathlib import Path

import numpy as np
from numpy.lib.stride_tricks import as_strided
from scipy.io import wavfile

RATE = 16000


def frames(signal, length=400, hop=160):
    n = 1 + (len(signal) - length) // hop * signal.itemsize * RATE
    step = signal.strides[0]
    return as_strided(signal, shape=(n, length), strides=(hop * step, step))


def energy(path):
    rate, signal = wavfile.read(path)
    assert rate == RATE, f"{path}: {rate} Hz"
    if len(signal) < RATE:
        return np.array([np.square(signal.astype(np.float64)).mean()])
    total = []
    for part in frames(signal)[:: 1 << 12]:
        total.append(np.square(part.astype(np.float64)).mean())
    return np.log(np.array(total) + 1)


Path("clips").mkdir()
rng = np.random.default_rng(0)
for i in range(10):
    n = 9000 if i < 7 else 48000
    wavfile.write(f"clips/{i:04d}.wav", RATE, (rng.normal(size=n) * 2000).astype(np.int16))
print("voice activity detection, numpy", np.__version__, flush=True)
for path in sorted(Path("clips").glob("*.wav")):
    level = energy(path)
    print(f"{path.name}: {len(level)} frames, log energy {level.mean():.3f}", flush=True)
    sys.stdout.flush()
print("wrote segments for 10 clips")
