# /// case
# cause = "killed_unknown"
# exit_code = 137
# command = "bash {program}"
# why = "the shell reports that its child was killed; nothing says by whom"
# ///
# A child of the job is killed from outside while it counts.
cat > count.py <<'PY'
import os, signal, time
counts = {}
for block in range(100):
    for token in range(block * 50, block * 50 + 500):
        counts[token] = counts.get(token, 0) + 1
    print(f"block {block} distinct={len(counts)} top={max(counts.values())}", flush=True)
    if block == 9:
        os.posix_spawn("/bin/sh", ["sh", "-c", f"sleep 0.3; kill -9 {os.getpid()}"], {})
    time.sleep(0.05)
PY
echo "counting tokens (2 of 5 passes left)"
python count.py
status=$?
echo "count ended with $status"
exit $status
