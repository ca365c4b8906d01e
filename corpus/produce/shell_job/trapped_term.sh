# /// case
# cause = "cancelled"
# exit_code = 143
# stop = {signal = "TERM", when = "step 30"}
# why = "SIGTERM with nothing else known"
# ///
# SIGTERM from outside; the script passes it on, cleans up and leaves with 143.
cat > train.py <<'EOF'
import signal
import sys
import time


def stop(number, frame):
    print(f"received signal {number}, saving a checkpoint before exit", flush=True)
    sys.exit(128 + number)


signal.signal(signal.SIGTERM, stop)
for step in range(5000):
    time.sleep(0.02)
    if step % 10 == 0:
        print(f"step {step} loss {3 / (1 + step / 100):.3f}", flush=True)
EOF
on_term() {
    echo "job.sh: caught SIGTERM, forwarding to training (pid $child)"
    kill -TERM "$child"
    wait "$child"
    exit $?
}
python train.py &
child=$!
trap on_term TERM
wait "$child"
