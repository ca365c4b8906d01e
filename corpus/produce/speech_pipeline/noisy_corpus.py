# /// case
# cause = "none"
# exit_code = 0
# why = "clipped and broken recordings are left out, a transfer is retried, the transcripts speak of crashes; the model is trained"
# ///
"""Recordings of an emergency line: alarming transcripts, warnings and retries, and a good end."""

import logging
import time
import warnings

import numpy as np
import torch
from scipy import signal
from scipy.io import wavfile
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)-8s %(name)s: %(message)s")
logging.captureWarnings(True)
log = logging.getLogger("dispatch")
CALLS = [
    ("fire", "the engine crashed and two were killed"),
    ("fire", "out of memory lane, near the fatal curve"),
    ("police", "permission denied at the gate, no such file he says"),
    ("police", "connection refused to stop, signal 9 shots heard"),
    ("medical", "she had a heart failure, aborted the call"),
    ("medical", "timeout of the pacemaker, device error on the display"),
]


def record():
    rng = np.random.default_rng(6)
    for i in range(24):
        tone = np.sin(np.arange(6000) * (0.05 + 0.08 * (i % 3))) + 0.1 * rng.normal(size=6000)
        scale = 60000 if i == 5 else 9000
        pcm = np.clip(tone * scale, -32768, 32767).astype(np.int16)
        wavfile.write(f"call{i:02d}.wav", 8000, pcm)
    with open("call08.wav", "r+b") as file:
        file.truncate(30)
    with open("call17.wav", "r+b") as file:
        file.truncate(8000)


class Store:
    """The recordings' archive, which is slow to wake up."""

    tries = 0

    def open(self):
        self.tries += 1
        if self.tries < 3:
            raise ConnectionResetError(104, "Connection reset by peer")
        return self


def features(i):
    rate, pcm = wavfile.read(f"call{i:02d}.wav")
    if (np.abs(pcm.astype(int)) >= 32767).mean() > 0.1:
        warnings.warn(f"call{i:02d}.wav: severe clipping detected", stacklevel=2)
    _, _, power = signal.spectrogram(pcm.astype(np.float32), rate, nperseg=128)
    return torch.from_numpy(np.log(power + 1).mean(1))


record()
store = Store()
for attempt in range(5):
    try:
        store.open()
        break
    except ConnectionResetError:
        log.exception("archive not reachable (attempt %d/5), retrying", attempt + 1)
        time.sleep(0.1)
x, y = [], []
for i in range(24):
    try:
        x.append(features(i))
        y.append(i % 3)
    except Exception as error:
        log.error("call%02d.wav dropped: %s: %s", i, type(error).__name__, error)
    if i < len(CALLS):
        log.info("call%02d [%s] %r", i, *CALLS[i])
x, y = torch.stack(x), torch.tensor(y)
torch.manual_seed(0)
net = nn.Sequential(nn.LayerNorm(65), nn.Linear(65, 16), nn.ReLU(), nn.Linear(16, 3))
optimizer = torch.optim.Adam(net.parameters(), 0.01)
for epoch in range(1, 31):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if epoch % 5 == 0:
        log.info("epoch %d loss %.4f acc %.3f", epoch, loss, (net(x).argmax(1) == y).float().mean())
log.info("finished: %d of 24 calls used, %d failed, WER not computed (nan)", len(x), 24 - len(x))
