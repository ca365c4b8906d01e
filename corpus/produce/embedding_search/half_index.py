# /// case
# cause = "dtype_mismatch"
# paper_class = "runtime_error"
# exit_code = 1
# ///
"""The passages are stored in bfloat16, and the queries come in float32."""

import time

import torch

torch.manual_seed(0)
torch.set_num_threads(1)
started = time.time()


def say(text):
    print(f"[{time.time() - started:6.2f}s] {text}", flush=True)


def encode(count, width=96):
    tower = torch.nn.Sequential(
        torch.nn.Linear(32, width), torch.nn.GELU(), torch.nn.Linear(width, width)
    )
    with torch.inference_mode():
        return torch.nn.functional.normalize(tower(torch.randn(count, 32)), dim=-1)


passages = torch.cat([encode(500) for _ in range(4)]).to(torch.bfloat16)
say(f"index: {tuple(passages.shape)} {passages.dtype}, {passages.nbytes / 1024:.0f} KiB")
queries = encode(64)
say(f"queries: {tuple(queries.shape)}")
for k in (1, 5, 10):
    scores = torch.mm(queries, passages.t())
    top = scores.topk(k, dim=1)
    say(f"recall@{k}: {(top.indices < 500).float().mean():.3f}")
