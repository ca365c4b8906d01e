# /// case
# cause = "none"
# exit_code = 0
# why = "two attempts fail, the third one succeeds and does all the work"
# ///
# The first two attempts fail at a service that is not up yet; the third one trains to the end.
cat > train.py <<'EOF'
import os
import sys

attempt = int(sys.argv[1])
if attempt < 3:
    raise ConnectionRefusedError(111, "Connection refused", "feature-store:6566")
loss = 2.0
for step in range(0, 500, 100):
    loss *= 0.8
    print(f"step={step} loss={loss:.4f} pid={'x' * (os.getpid() > 0)}")
print("Training complete. Model written to model.bin")
EOF
for attempt in 1 2 3 4 5; do
    echo "[attempt $attempt]"
    python train.py $attempt && echo "succeeded on attempt $attempt" && exit 0
    echo "attempt $attempt failed with exit code $?, retrying in 1s" >&2
    sleep 0.2
done
exit 1
