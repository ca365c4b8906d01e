# /// case
# cause = "shape_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 --redirects 1 --log-dir logs --tee 2 {program}"
# ///
"""The classifier's input width does not fit the encoder, on every rank at once."""

import argparse

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record


class Tagger(nn.Module):
    def __init__(self, hidden, bidirectional=True):
        super().__init__()
        self.encoder = nn.LSTM(24, hidden, batch_first=True, bidirectional=bidirectional)
        self.head = nn.Linear(hidden, 9)

    def forward(self, x):
        states, _ = self.encoder(x)
        return self.head(states)


@record
def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hidden", type=int, default=48)
    args = parser.parse_args()
    dist.init_process_group("gloo")
    print("starting with", vars(args))
    model = nn.parallel.DistributedDataParallel(Tagger(args.hidden))
    for _ in range(10):
        logits = model(torch.randn(3, 20, 24))
        logits.sum().backward()


main()
