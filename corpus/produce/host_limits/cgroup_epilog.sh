# /// case
# cause = "oom_killer"
# exit_code = 137
# needs = ["root"]
# why = "the epilog shows the kernel's line about the kill"
# ///
# The memory cgroup of the job is full, the kernel kills the trainer, and the epilog shows it.
group=/sys/fs/cgroup/memory/slurm/uid_1004/job_48211
mkdir -p $group || exit 90
echo $((160 << 20)) > $group/memory.limit_in_bytes
cat > train.py <<'EOF'
import time

import numpy as np

cache, loss = [], 2.0
for step in range(400):
    cache.append(np.ones((1 << 20,), dtype=np.float32))
    loss *= 0.99
    if step % 5 == 0:
        print(f"[{time.strftime('%X')}] step {step} loss {loss:.4f} cached batches {len(cache)}", flush=True)
EOF
(
    echo $BASHPID > $group/cgroup.procs
    exec python train.py
)
code=$?
sleep 0.3
echo "--- epilog: job 48211 ended with exit code $code ---"
dmesg | grep "Memory cgroup out of memory" | tail -1
(cd /sys/fs/cgroup/memory && rmdir -p slurm/uid_1004/job_48211)
exit $code
