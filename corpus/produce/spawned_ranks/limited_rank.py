# /// case
# cause = "host_oom"
# exit_code = 1
# why = "the allocator of torch on the host, in a child process with a memory limit"
# ///
"""Each process has a limit of address space; the optimizer's state of one of them does not fit."""

import resource

import torch
import torch.multiprocessing as mp


def train(rank, widths):
    torch.set_num_threads(1)
    used = int(open("/proc/self/statm").read().split()[0]) * 4096
    resource.setrlimit(resource.RLIMIT_AS, (used + (900 << 20),) * 2)
    model = torch.nn.Linear(widths[rank], widths[rank], bias=False)
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(3):
        loss = model(torch.ones(1, widths[rank])).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"rank {rank} step {step} loss {loss.item():+.5f}", flush=True)


if __name__ == "__main__":
    mp.spawn(train, args=([256, 8192],), nprocs=2)
