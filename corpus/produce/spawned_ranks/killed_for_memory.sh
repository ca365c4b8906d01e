# /// case
# cause = "oom_killer"
# exit_code = 1
# needs = ["root"]
# why = "the kernel's line in the epilog says why process 1 got SIGKILL"
# ///
# One of the spawned processes is killed for memory; the launcher only knows the signal, the epilog more.
group=/sys/fs/cgroup/memory/flux/job-f2k9/rank1
mkdir -p $group || exit 90
echo $((280 << 20)) > $group/memory.limit_in_bytes
cat > spawn.py <<'PY'
import os
import sys

import torch
import torch.multiprocessing as mp


def train(rank, group):
    if rank == 1:
        with open(group + "/cgroup.procs", "w") as procs:
            procs.write(str(os.getpid()))
    history = []
    for step in range(500):
        history.append(torch.rand(512, 512))
        if rank == 1:
            history.append(torch.rand(1024, 1024))
        if step % 10 == 0:
            print(f"({rank}) step {step} history {len(history)}", flush=True)


if __name__ == "__main__":
    mp.spawn(train, args=(sys.argv[1],), nprocs=2)
PY
python spawn.py $group
code=$?
sleep 0.3
echo "flux-epilog: exit $code, kernel log of the node:"
dmesg --time-format iso 2>/dev/null | grep -A1 'oom_memcg=/flux/job-f2k9' | tail -2
(cd /sys/fs/cgroup/memory && rmdir -p flux/job-f2k9/rank1)
exit $code
