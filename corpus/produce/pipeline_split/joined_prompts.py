# /// case
# cause = "device_mismatch"
# exit_code = 1
# why = "planned with fake tensors; virtual tokens and text embeddings are on two cards"
# ///
"""Virtual tokens of prompt tuning are on the second card, the embedded text on the first."""

import argparse

import torch
from torch._subclasses.fake_tensor import FakeTensorMode

parser = argparse.ArgumentParser()
parser.add_argument("--virtual-tokens", type=int, default=20)
parser.add_argument("--batch-size", type=int, default=4)
parser.add_argument("--max-length", type=int, default=1024)
args = parser.parse_args()
print("Namespace", vars(args), file=open(2, "w", closefd=False), flush=True)


def bytes_of(*tensors):
    return sum(t.numel() * t.element_size() for t in tensors)


with FakeTensorMode():
    prompt = torch.empty(args.virtual_tokens, 768, dtype=torch.bfloat16, device="cuda:1")
    for length in (128, args.max_length):
        text = torch.empty(args.batch_size, length, 768, dtype=torch.bfloat16, device="cuda:0")
        where = text.device if length == 128 else prompt.device
        virtual = torch.empty_like(prompt, device=where).expand(args.batch_size, -1, -1)
        inputs = torch.cat([virtual, text], dim=1)
        print(
            f"length {length}: {bytes_of(inputs) / 2**20:.2f} MiB of inputs on {inputs.device}",
            flush=True,
        )
