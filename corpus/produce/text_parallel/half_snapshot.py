# /// case
# cause = "checkpoint"
# paper_class = "runtime_error"
# exit_code = 1
# command = "torchrun --standalone --nproc-per-node 2 --max-restarts 2 {program}"
# why = "the first attempt died of a lost rank and was restarted; every later attempt dies of the snapshot that was cut off then, and so will the next run"
# ///
"""A rank is killed while it writes its snapshot; both restarts fail because the snapshot is cut off."""

import io
import os
import signal

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.elastic.multiprocessing.errors import record
from torch.nn.parallel import DistributedDataParallel

PATH = "snapshots/latest.pt"


def save(state):
    buffer = io.BytesIO()
    torch.save(state, buffer)
    content = buffer.getvalue()
    os.makedirs(os.path.dirname(PATH), exist_ok=True)
    with open(PATH, "wb") as file:
        for start in range(0, len(content), 4096):
            if state["epoch"] == 2 and start > len(content) // 2:
                file.flush()
                os.kill(os.getpid(), signal.SIGKILL)
            file.write(content[start : start + 4096])


@record
def main():
    rank = int(os.environ["RANK"])
    body = nn.Sequential(nn.Embedding(128, 64), nn.Linear(64, 128))
    first = 0
    if os.path.exists(PATH):
        print(f"[{rank}] loading {PATH}", flush=True)
        state = torch.load(PATH, map_location="cpu")
        body.load_state_dict(state["body"])
        first = state["epoch"]
    dist.init_process_group("gloo")
    model = DistributedDataParallel(body)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    for epoch in range(first, 5):
        for _ in range(15):
            ids = torch.randint(0, 128, (8, 17))
            loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), ids.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if rank == 0:
            print(f"epoch {epoch + 1}/5 perplexity {loss.exp().item():.2f}", flush=True)
            save(
                {"body": body.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch + 1}
            )
        dist.barrier()
    dist.destroy_process_group()


main()
