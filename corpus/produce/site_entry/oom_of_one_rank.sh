# /// case
# cause = "oom_killer"
# exit_code = 1
# needs = ["root"]
# why = "the line of the kernel with the pid of rank 1 says why it got SIGKILL"
# ///
# torchrun reports SIGKILL of one rank; the node's agent adds the kernel's line.
group=/sys/fs/cgroup/memory/agent/train-5f6/rank1
mkdir -p $group || exit 90
echo $((330 << 20)) > $group/memory.limit_in_bytes
cat > ddp.py <<'PY'
import os
import sys

import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
if rank == 1:
    with open(sys.argv[1] + "/cgroup.procs", "w") as procs:
        procs.write(str(os.getpid()))
dist.init_process_group("gloo")
kept = []
for step in range(300):
    loss = torch.rand(()) / (step + 1)
    dist.all_reduce(loss)
    if rank == 1:
        kept.append(torch.ones(1 << 20))
    if rank == 0 and step % 10 == 0:
        print(f"step {step}: loss {loss.item():.4f}", flush=True)
PY
torchrun --standalone --nproc-per-node 2 ddp.py $group 2>&1
code=$?
sleep 0.3
dmesg | grep -E 'oom_memcg=/agent/train-5f6|Memory cgroup out of memory' | tail -2 | sed 's/^/node-agent[4411]: kernel: /'
(cd /sys/fs/cgroup/memory && rmdir -p agent/train-5f6/rank1)
exit $code
