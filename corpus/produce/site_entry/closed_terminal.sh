# /// case
# cause = "cancelled"
# exit_code = 129
# stop = { signal = "HUP", when = "step 6", pid = "group" }
# why = "the terminal was closed: SIGHUP"
# ///
# The terminal of an interactive session is closed in mid-run; the shell reports the hangup.
trap 'echo "got SIGHUP after the connection was closed, leaving"; exit 129' HUP
cat > loop.py <<'PY'
import signal
import time
signal.signal(signal.SIGHUP, signal.SIG_DFL)
for step in range(300):
    print(f"step {step} loss {5 / (step + 1):.3f}", flush=True)
    time.sleep(0.2)
PY
echo "[user@login2 ~]$ python loop.py"
python loop.py
echo "python ended with $?"
