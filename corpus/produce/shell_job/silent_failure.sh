# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "a silent exit 1: nothing is said"
# ///
# The script stops at its first command that fails, without a word.
set -e
cat > train.py <<'EOF'
import sys

best = 1e9
for epoch in range(5):
    loss = 1.2 / (epoch + 1)
    print(f"Epoch {epoch + 1}/5 - loss: {loss:.4f}")
    best = min(best, loss)
sys.exit(best > 0.1)
EOF
echo "=== training ==="
python train.py
echo "=== evaluation ==="
