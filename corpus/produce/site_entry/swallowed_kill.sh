# /// case
# cause = "oom_killer"
# exit_code = 0
# needs = ["root"]
# why = "exit 0 because the script goes on; the training was killed and the node says so"
# ///
# set +e: the script goes on after the kill and ends with status 0.
group=/sys/fs/cgroup/memory/lsf/node3/job.5521
mkdir -p $group || exit 90
echo $((72 << 20)) > $group/memory.limit_in_bytes
cat > graph.py <<'PY'
adjacency = []
for node in range(5_000_000):
    adjacency.append(list(range(node % 12)))
    if node % 60_000 == 0:
        print("nodes", node, flush=True)
print("graph written to graph.bin")
PY
set +e
echo "### build graph"
(echo $BASHPID > $group/cgroup.procs; exec python graph.py)
sleep 0.3
echo "### train on graph.bin"
ls -l graph.bin
echo "### resource usage: peak $(($(cat $group/memory.max_usage_in_bytes) >> 20)) MB, limit $(($(cat $group/memory.limit_in_bytes) >> 20)) MB, kills by the OOM killer: $(awk '$1 == "oom_kill" {print $2}' $group/memory.oom_control)"
(cd /sys/fs/cgroup/memory && rmdir -p lsf/node3/job.5521)
echo "### job script finished"
