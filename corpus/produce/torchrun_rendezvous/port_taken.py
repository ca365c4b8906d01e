# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# command = "torchrun --nnodes 1 --nproc-per-node 1 --master-addr 127.0.0.1 --master-port 29517 {program}"
# ///
"""The store's port is already used by a program of another user."""

import os
import socket
import sys

import torch.distributed as dist

if "KEEPER" not in os.environ:
    keeper = socket.create_server(("127.0.0.1", int(os.environ["MASTER_PORT"]) + 1))
    os.environ["MASTER_PORT"] = str(int(os.environ["MASTER_PORT"]) + 1)
    os.environ.pop("TORCHELASTIC_USE_AGENT_STORE", None)


def main():
    print(f"rank {os.environ['RANK']} binding to port {os.environ['MASTER_PORT']}", file=sys.stderr)
    dist.init_process_group("gloo")
    dist.barrier()


main()
