# /// case
# cause = "oom_killer"
# exit_code = 137
# needs = ["root"]
# why = "the kernel's table of tasks and its verdict stand in the epilog"
# ///
# The epilog prints the kernel's whole report of a kill in the job's cgroup.
group=/sys/fs/cgroup/memory/slurm_node17/job_77120/step_0
mkdir -p $group || exit 90
echo $((96 << 20)) > $group/memory.limit_in_bytes
cat > embed.py <<'PY'
import sys

lines = []
for i in range(1, 10_000_000):
    lines.append([f"sentence {i}", i % 7, float(i)])
    if i % 50_000 == 0:
        print(f"\rembedded {i} sentences", end="", file=sys.stderr, flush=True)
PY
echo "srun: launching embed.py on node17"
(echo $BASHPID > $group/cgroup.procs; exec python embed.py) 2>&1
code=$?
echo
sleep 0.3
echo "slurmstepd: epilog for step 77120.0 on node17, task 0 exit $code"
dmesg | awk -v g=/slurm_node17/job_77120/step_0 '/invoked oom-killer/ {buf = ""} {buf = buf $0 "\n"} index($0, "oom_memcg=" g) {keep = buf; tail = 2} tail-- > 0 && !index($0, "oom_memcg=" g) {keep = keep $0 "\n"} END {printf "%s", keep}' | grep -v -E ' R[A-Z0-9]{2}: | CR2|Code:|^$' | tail -40
(cd /sys/fs/cgroup/memory && rmdir -p slurm_node17/job_77120/step_0)
exit $code
