# /// case
# cause = "oom_killer"
# exit_code = 1
# needs = ["root"]
# why = "the kernel's report below the traceback names one of the pool's processes"
# ///
# One process of a pool is killed for memory; the pool only knows that it broke, the kernel knows more.
group=/sys/fs/cgroup/memory/kubepods/burstable/pod7d1c
mkdir -p $group || exit 90
echo $((220 << 20)) > $group/memory.limit_in_bytes
cat > preprocess.py <<'EOF'
from concurrent.futures import ProcessPoolExecutor

import numpy as np


def tokenize(shard):
    size = 1 << (18 + shard)
    table = np.ones(size, dtype=np.int64)
    return shard, int(table.sum())


if __name__ == "__main__":
    with ProcessPoolExecutor(2) as pool:
        for shard, tokens in pool.map(tokenize, range(12)):
            print(f"shard {shard}: {tokens} tokens", flush=True)
    print("preprocessing finished")
EOF
(
    echo $BASHPID > $group/cgroup.procs
    exec python preprocess.py
)
code=$?
sleep 0.3
echo "preprocess.py: exit code $code; kernel messages since start:"
dmesg -T | grep -E "invoked oom-killer|oom-kill:|Memory cgroup out of memory|oom_reaper" | tail -3
(cd /sys/fs/cgroup/memory && rmdir -p kubepods/burstable/pod7d1c)
exit $code
