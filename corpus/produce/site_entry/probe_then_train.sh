# /// case
# cause = "none"
# exit_code = 0
# needs = ["root"]
# why = "the probes fail as they should on this node, the training is done"
# ///
# The start script probes for what the node does not have, with many errors, and trains well.
set +e
echo "== probes =="
nvidia-smi-of-the-site --query || echo "(no GPU tools: status $?)"
setpriv --bounding-set=-dac_override,-fowner bash -c 'touch /proc/self/status'
echo "(write probe of /proc: status $?)"
(ulimit -v 60000; python -c 'x = bytearray(1 << 30)')
echo "(memory probe: status $?)"
bash -c 'kill -SEGV $$'
echo "(core dump probe: status $?, no core pattern set)"
grep -c oom_kill /proc/vmstat > /dev/null && echo "oom killer accounting available"
echo "== training =="
python - <<'PY'
w = 0.0
for step in range(50):
    w -= 0.1 * 2 * (w - 4)
    if step % 10 == 9:
        print(f"step {step + 1}/50 loss {(w - 4) ** 2:.3e}")
print("model written, exiting with success")
PY
