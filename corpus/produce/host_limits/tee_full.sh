# /// case
# cause = "disk_full"
# paper_class = ""
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "tee says that the disk is full and fails the pipe; the trainer itself goes on"
# ///
# tee cannot write the log any more, and the pipe fails although the trainer goes on.
set -o pipefail
mkdir -p scratch
mount -t tmpfs -o size=8k tmpfs scratch || exit 90
python - <<'EOF' 2>&1 | tee scratch/stdout.log
import random

random.seed(0)
loss = 3.0
for step in range(1, 301):
    loss *= 0.995 + random.random() * 0.004
    print(f"step {step:5d} | loss {loss:.4f} | tokens {step * 4096}")
print("evaluating: perplexity", round(2.718**loss, 3))
EOF
status=$?
echo "pipeline status $status" >&2
exit $status
