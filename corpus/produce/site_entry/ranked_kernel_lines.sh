# /// case
# cause = "oom_killer"
# exit_code = 137
# needs = ["root"]
# why = "kernel lines gathered from all nodes, with the rank in front"
# ///
# A driver gathers the last kernel lines of each node when its tokenizer was killed.
group=/sys/fs/cgroup/memory/mesos/9b0c
mkdir -p $group || exit 90
echo $((80 << 20)) > $group/memory.limit_in_bytes
cat > tokenize.py <<'PY'
table = {}
for i in range(100_000_000):
    table[f"tok{i}"] = i
    if i % 40_000 == 0:
        print(f"0: merged {i} pairs", flush=True)
PY
echo "launcher: 2 nodes, command: python tokenize.py"
(echo $BASHPID > $group/cgroup.procs; exec python tokenize.py) &
pid=$!
wait $pid
code=$?
sleep 0.3
echo "launcher: rank 0 on node01 left with status $code, collecting kernel messages"
dmesg -T | grep -E "task_memcg=/mesos/9b0c.*pid=$pid|Killed process $pid " | sed 's/^/0: /'
echo "1: (no kernel messages)"
rmdir $group /sys/fs/cgroup/memory/mesos
exit $code
