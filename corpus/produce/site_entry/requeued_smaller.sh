# /// case
# cause = "none"
# exit_code = 0
# needs = ["root"]
# why = "the second attempt with a smaller cache does the work"
# ///
# The first attempt is killed for memory, the second one with a smaller cache ends well.
group=/sys/fs/cgroup/memory/sched/job-310
mkdir -p $group || exit 90
echo $((90 << 20)) > $group/memory.limit_in_bytes
cat > cache.py <<'PY'
import sys

size, rows = int(sys.argv[1]), []
for step in range(200):
    rows.append(bytearray(1 << 20))
    rows = rows[-size:]
    if step % 40 == 0:
        print(f"cache={size} step {step} loss {2.0 / (step + 1):.4f}", flush=True)
print("training complete, 200 steps")
PY
for size in 400 24; do
    (echo $BASHPID > $group/cgroup.procs; exec python cache.py $size)
    code=$?
    sleep 0.3
    [ $code -eq 0 ] && break
    echo "attempt with cache=$size ended with $code: $(dmesg | grep 'Memory cgroup out of memory' | tail -1)"
    echo "halving until it fits"
done
(cd /sys/fs/cgroup/memory && rmdir -p sched/job-310)
exit $code
