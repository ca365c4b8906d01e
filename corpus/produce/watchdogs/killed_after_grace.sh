# /// case
# cause = "time_limit"
# paper_class = ""
# exit_code = 137
# why = "timeout -v says that it sent TERM and then KILL at its limit"
# ///
# The program ignores TERM, so timeout(1) kills it after its grace time.
cat > train.py <<'EOF'
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
step = 0
while True:
    step += 1
    time.sleep(0.2)
    if step % 5 == 0:
        print(f"global_step={step}, train/loss={3 * 0.99 ** step:.4f}", flush=True)
EOF
echo "starting at $(date +%T), limit 5s"
timeout --verbose --kill-after=2 5 python train.py
code=$?
echo "train.py finished with code $code"
exit $code
