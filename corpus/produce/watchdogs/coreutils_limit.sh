# /// case
# cause = "time_limit"
# paper_class = ""
# exit_code = 124
# ///
# timeout(1) ends a training that was making progress; the program says good-bye.
cat > train.py <<'EOF'
import signal, sys, time

def bye(number, frame):
    print("got SIGTERM, exiting gracefully after the current step", flush=True)
    sys.exit(0)

signal.signal(signal.SIGTERM, bye)
for step in range(1, 2000):
    time.sleep(0.1)
    print(f"| epoch   1 | {step:5d}/ 1999 batches | ms/batch 100.11 | loss {7 - step / 500:5.2f} |", flush=True)
EOF
set -o pipefail
timeout -v 6 python train.py 2>&1 | grep -v '[1-9]/ 1999'
exit ${PIPESTATUS[0]}
