# /// case
# cause = "oom_killer"
# exit_code = 137
# environment = "jax"
# needs = ["root"]
# why = "the counters of the job's cgroup and the kernel's line say that it was killed for memory"
# ///
# A JAX job fills the cgroup of its container; the entry point prints the counters as an agent would.
group=/sys/fs/cgroup/memory/crio/jaxjob-7c1
mkdir -p $group || exit 90
echo $((420 << 20)) > $group/memory.limit_in_bytes
cat > sampler.py <<'PY'
import jax
import numpy as np

replay = []
step = jax.jit(lambda s, a: 0.9 * s + a)
state = np.zeros(65536, np.float32)
for i in range(4000):
    state = np.asarray(step(state, np.float32(i % 3)))
    replay.append(np.tile(state, 16))
    if i % 10 == 0:
        print(f"env_steps={i * 128} replay={len(replay)} return={float(state.mean()):.3f}", flush=True)
PY
echo "[entrypoint] memory limit $(cat $group/memory.limit_in_bytes)"
(echo $BASHPID > $group/cgroup.procs; exec python sampler.py)
code=$?
echo "[entrypoint] sampler exited with $code"
printf '[entrypoint] memory.events: low 0 high 0 max %s oom %s oom_kill %s\n' "$(cat $group/memory.failcnt)" 1 "$(awk '$1 == "oom_kill" {print $2}' $group/memory.oom_control)"
(cd /sys/fs/cgroup/memory && rmdir -p crio/jaxjob-7c1)
exit $code
