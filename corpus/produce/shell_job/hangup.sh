# /// case
# cause = "cancelled"
# exit_code = -1
# stop = {signal = "HUP", when = "epoch 3", pid = "group"}
# why = "the terminal was closed"
# ///
# The terminal is closed while the job runs in its foreground.
echo "starting (tip: use nohup or tmux)"
for epoch in $(seq 1 50); do
    python - "$epoch" <<'EOF'
import sys
import time

time.sleep(0.5)
print(f"epoch {sys.argv[1]}/50 train_loss={1 / int(sys.argv[1]):.4f}", flush=True)
EOF
done
