# /// case
# cause = "oom_killer"
# exit_code = 1
# needs = ["root"]
# why = "the counter of the cgroup proves the kill that the loader only calls killed by signal"
# ///
# A loader worker is killed for memory in the cgroup of the workers; the agent prints the counters as JSON.
group=/sys/fs/cgroup/memory/nomad/alloc-91cc/loader
mkdir -p $group || exit 90
echo $((300 << 20)) > $group/memory.limit_in_bytes
cat > loader.py <<'PY'
import os
import sys

import torch
from torch.utils.data import DataLoader, Dataset


class Volumes(Dataset):
    kept = []

    def __len__(self):
        return 400

    def __getitem__(self, index):
        self.kept.append(torch.ones(96, 96, 96))
        return self.kept[-1][0, 0] * index


def enter(worker):
    with open(sys.argv[1] + "/cgroup.procs", "w") as procs:
        procs.write(str(os.getpid()))


for n, batch in enumerate(DataLoader(Volumes(), 4, num_workers=1, worker_init_fn=enter)):
    if n % 5 == 0:
        print(f"iter {n} mean {batch.mean().item():.2f}", flush=True)
PY
python loader.py $group
code=$?
sleep 0.3
printf '{"level":"error","alloc":"91cc","task":"loader","exit_code":%d,"oom_killed":%s,"memory_limit":%s,"memory_peak":%s}\n' $code "$(awk '$1 == "oom_kill" {print ($2 > 0) ? "true" : "false"}' $group/memory.oom_control)" $(cat $group/memory.limit_in_bytes) $(cat $group/memory.max_usage_in_bytes)
(cd /sys/fs/cgroup/memory && rmdir -p nomad/alloc-91cc/loader)
exit $code
