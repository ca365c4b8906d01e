# /// case
# cause = "config"
# paper_class = "runtime_error"
# exit_code = 1
# why = "the settings contradict each other: a window of 50 ms is longer than the FFT"
# ///
"""A YAML file asks for a window that is longer than the FFT; the transform refuses."""

import logging

import torch
import yaml

logging.basicConfig(
    level=logging.INFO,
    format="%(asctime)s (%(module)s:%(lineno)d) %(levelname)s: %(message)s",
)
BASE = """
frontend: {fs: 16k, n_fft: 512, win_ms: 25, hop_ms: 10, n_mels: 40}
train: {epochs: 4, batch_size: 8, lr: 0.002, stop_on_nan: true}
specaug: {time_mask: 10, error_rate: 0.0}
"""
OVERRIDE = """
frontend: {win_ms: 50}
"""


def merge(base, other):
    for key, value in other.items():
        base[key] = merge(base[key], value) if isinstance(value, dict) else value
    return base


class Frontend(torch.nn.Module):
    def __init__(self, fs, n_fft, win_ms, hop_ms, n_mels):
        super().__init__()
        rate = int(fs.rstrip("k")) * 1000
        self.n_fft, self.win, self.hop = n_fft, rate * win_ms // 1000, rate * hop_ms // 1000
        self.register_buffer("window", torch.hann_window(self.win))
        self.mel = torch.nn.Linear(n_fft // 2 + 1, n_mels, bias=False)

    def forward(self, speech):
        spectrum = torch.stft(
            speech, self.n_fft, self.hop, self.win, self.window, return_complex=True
        )
        return self.mel(spectrum.abs().square().transpose(1, 2)).clamp(min=1e-10).log()


config = merge(yaml.safe_load(BASE), yaml.safe_load(OVERRIDE))
logging.info("config:\n%s", yaml.safe_dump(config, indent=4))
torch.manual_seed(0)
frontend = Frontend(**config["frontend"])
logging.info("%s", frontend)
logging.info("pytorch.version=%s, cuda.available=%s", torch.__version__, torch.cuda.is_available())
for epoch in range(1, config["train"]["epochs"] + 1):
    features = frontend(torch.randn(config["train"]["batch_size"], 16000))
    logging.info("epoch %d: features %s mean %.3f", epoch, tuple(features.shape), features.mean())
