# /// case
# cause = "none"
# exit_code = 0
# why = "a helper is killed on purpose, cleaning up complains, and the training ends well"
# ///
# A run that ends well between a killed monitor and complaints of rm and pkill.
rm out/*.lock
command -v nvidia-smi > /dev/null || echo "nvidia-smi: command not found, GPU statistics disabled"
(while sleep 0.2; do :; done) &
monitor=$!
cat > train.py <<'EOF'
import numpy as np

rng = np.random.default_rng(0)
x = rng.normal(size=(400, 6))
y = (x @ np.ones(6) > 0).astype(float)
w = np.zeros(6)
for epoch in range(6):
    p = 1 / (1 + np.exp(-x @ w))
    w += 0.5 * x.T @ (y - p) / len(x)
    loss = -np.mean(y * np.log(p + 1e-9) + (1 - y) * np.log(1 - p + 1e-9))
    print(f"epoch {epoch} loss {loss:.4f} errors {int(((p > 0.5) != y).sum())}")
np.savez("model.npz", w=w)
EOF
python train.py || exit 1
kill -9 $monitor
wait $monitor
grep -ci "traceback" model.npz
echo "training completed successfully"
exit 0
