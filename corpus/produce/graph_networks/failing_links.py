# /// case
# cause = "none"
# exit_code = 0
# why = "the words of failure belong to the network whose outages are learnt and to fast paths that fall back; the model is trained and saved"
# ///
"""Outages of a computer network are predicted; fast kernels are missing and fall back, and the run ends well."""

import ctypes
import logging
import signal
import subprocess
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(
    stream=sys.stdout, level=logging.INFO, format="%(asctime)s.%(msecs)03d %(levelname)s %(message)s",
    datefmt="%H:%M:%S",
)  # fmt: skip
log = logging.getLogger()
STATES = ["up", "timeout", "unreachable", "killed"]


def segment_sum_kernel():
    """The fastest way that this machine offers for adding up messages."""
    try:
        return ctypes.CDLL("libtorch_scatter_cuda.so")
    except OSError as error:
        log.warning("scatter kernel not available: %s", error)
    probe = subprocess.run(
        [sys.executable, "-c", "import ctypes; ctypes.string_at(8)"], check=False
    )
    if probe.returncode < 0:
        log.error(
            "native probe died with %s, using index_add_", signal.Signals(-probe.returncode).name
        )
    return None


class Snapshots(Dataset):
    """Hourly pictures of the links of a backbone."""

    def __len__(self):
        return 80

    def __getitem__(self, hour):
        generator = torch.Generator().manual_seed(hour)
        load = torch.rand(30, 4, generator=generator)
        edges = torch.randint(0, 30, (2, 70), generator=generator)
        if hour == 33:
            logging.error("hour 33: connection reset by peer while reading, second copy used")
        return load, edges, (load.mean(1) * 4).long().clamp(max=3)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(8, 24), nn.Linear(24, len(STATES))

    def forward(self, x, edges):
        near = torch.zeros_like(x).index_add_(0, edges[1], x[edges[0]])
        degree = torch.zeros(len(x)).index_add_(0, edges[1], torch.ones(edges.shape[1]))
        near = near / degree[:, None]
        if near.isnan().any():
            near = near.nan_to_num(0.0)
        return self.outer(torch.relu(self.inner(torch.cat([x, near], 1))))


def main():
    segment_sum_kernel()
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), 0.01)
    for epoch in range(1, 6):
        loader = DataLoader(Snapshots(), batch_size=None, num_workers=1, shuffle=True)
        seen = torch.zeros(4)
        hit = torch.zeros(4)
        for load, edges, state in loader:
            logits = net(load, edges)
            loss = nn.functional.cross_entropy(logits, state)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            seen += torch.bincount(state, minlength=4)
            hit += torch.bincount(state[logits.argmax(1) == state], minlength=4)
        shares = ", ".join(f"{s} {v:.3f}" for s, v in zip(STATES, (hit / seen).tolist()))
        log.info("epoch %d loss %.4f | recall: %s", epoch, loss.item(), shares)
    torch.save(net.state_dict(), "links.pt")
    log.info("rank 0 exiting; 5 epochs, 1 error, model in links.pt")


if __name__ == "__main__":
    main()
