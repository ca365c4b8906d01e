# /// case
# cause = "too_many_files"
# paper_class = "traceback"
# exit_code = 1
# ///
# The limit on open files is low on one node, where each example keeps its file open.
PORT=$(python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir clips && for i in $(seq 0 299); do echo "$i $((i % 7))" > clips/$i.txt; done
cat > features.py <<'PY'
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset, DistributedSampler


class Clips(Dataset):
    def __init__(self, folder):
        self.paths = sorted(Path(folder).iterdir(), key=lambda p: int(p.stem))
        self.open = {}

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, i):
        if i not in self.open:
            self.open[i] = self.paths[i].open()
        self.open[i].seek(0)
        return torch.tensor([float(one) for one in self.open[i].read().split()])


def main():
    dist.init_process_group("gloo")
    clips = Clips("clips")
    loader = DataLoader(clips, batch_size=10, sampler=DistributedSampler(clips, shuffle=False))
    mean = torch.zeros(2)
    for number, batch in enumerate(loader):
        part = batch.mean(0)
        dist.all_reduce(part)
        mean += part / dist.get_world_size()
        if dist.get_rank() == 0:
            print(f"batch {number:02d} running mean {(mean / (number + 1)).tolist()}", file=sys.stderr, flush=True)
    print("node", os.environ["GROUP_RANK"], "finished")


main()
PY
agent() { torchrun --nnodes 2 --nproc-per-node 1 --rdzv-id 5 --rdzv-backend c10d --rdzv-endpoint localhost:$PORT features.py; }
agent 2>&1 | sed -u 's/^/0| /' &
(ulimit -n 90; agent 2>&1 | sed -u 's/^/1| /'; exit ${PIPESTATUS[0]})
status=$?
wait
exit $status
