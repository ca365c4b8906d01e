# /// case
# cause = "rendezvous"
# paper_class = "traceback"
# exit_code = 1
# why = "the port of the master is taken by another process, and the store cannot be opened"
# ///
# A service of the machine already listens on the port that the launcher chose for the master.
python - <<'PY' &
import socket
import time

with socket.create_server(("127.0.0.1", 29517)):
    time.sleep(40)
PY
OTHER=$!
trap 'kill $OTHER 2>/dev/null' EXIT
sleep 1
cat > main.py <<'PY'
import argparse
import logging
import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp

logging.basicConfig(level=logging.INFO, format="%(asctime)s - %(levelname)s - %(message)s")


def worker(local_rank, args):
    rank = args.node_rank * args.procs + local_rank
    logging.info("worker %d connects to %s:%s", rank, os.environ["MASTER_ADDR"], os.environ["MASTER_PORT"])
    dist.init_process_group("gloo", rank=rank, world_size=args.nodes * args.procs)
    total = torch.ones(1)
    dist.all_reduce(total)
    logging.info("worker %d sees %d workers", rank, int(total))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=1)
    parser.add_argument("--node-rank", type=int, default=0)
    parser.add_argument("--procs", type=int, default=1)
    args = parser.parse_args()
    os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    os.environ.setdefault("MASTER_PORT", "29517")
    mp.spawn(worker, (args,), nprocs=args.procs)
PY
python main.py
