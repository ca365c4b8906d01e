# /// case
# cause = "none"
# exit_code = 0
# why = "only the probe of the network timed out; the training is finished"
# ///
# A probe at the start times out and is ignored; the training ends well.
echo "probing license server"
timeout 1 sleep 5
code=$?
[ $code -eq 124 ] && echo "WARNING: probe timed out after 1s (exit code $code), continuing without license check" >&2
python - <<'EOF'
import sys

loss = 4.0
for step in range(1, 6):
    loss *= 0.6
    print(f"step {step}/5 loss {loss:.4f} (timeouts 0, retries 0)")
print("all steps done", file=sys.stderr)
EOF
sync
echo "job done with status $?"
