# /// case
# cause = "oom_killer"
# exit_code = 137
# environment = "jax"
# needs = ["root"]
# why = "the last state that the agent prints has the reason OOMKilled, from the counter of the cgroup"
# ///
# A shuffle buffer fills the cgroup of the pod; the agent prints the state of the container.
group=/sys/fs/cgroup/memory/kubepods.slice/besteffort/pod-keras
mkdir -p $group || exit 90
echo $((300 << 20)) > $group/memory.limit_in_bytes
cat > pipeline.py <<'PY'
import numpy as np


def records():
    rng = np.random.default_rng(0)
    while True:
        yield rng.random((256, 256), dtype=np.float32)


buffer = []
for n, record in enumerate(records()):
    buffer.append(record)
    if n % 100 == 0:
        print(f"Filling up shuffle buffer (this may take a while): {n} of 10000", flush=True)
    if len(buffer) == 10000:
        break
print("Shuffle buffer filled.")
PY
(echo $BASHPID > $group/cgroup.procs; exec python pipeline.py)
code=$?
sleep 0.2
kills=$(awk '$1 == "oom_kill" {print $2}' $group/memory.oom_control)
reason=Error; [ "$kills" -gt 0 ] && reason=OOMKilled
printf 'containerStatuses:\n- name: trainer\n  restartCount: 0\n  state:\n    terminated:\n      exitCode: %d\n      reason: %s\n' $code $reason
(cd /sys/fs/cgroup/memory && rmdir -p kubepods.slice/besteffort/pod-keras)
exit $code
