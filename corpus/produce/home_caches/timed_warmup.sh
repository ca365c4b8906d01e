# /// case
# cause = "time_limit"
# exit_code = 124
# ///
# The warm-up of the cache is ended by timeout in mid-run.
cat > warm.py <<'PY'
import time
for i in range(1000):
    print(f"[{time.strftime('%H:%M:%S')}] cached {i + 1}/1000 shards, eta {(1000 - i) * 0.1:.0f} s", flush=True)
    time.sleep(0.1)
PY
echo "warming the cache, limit 3s"
timeout --verbose 3s python warm.py
code=$?
echo "warm-up ended with $code" >&2
exit $code
