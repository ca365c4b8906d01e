# /// case
# cause = "segfault"
# exit_code = 0
# why = "the script carries on after the crash and its last command succeeds"
# ///
# The training crashes, and the script goes on to pack up what there is.
set +e
mkdir -p results
cat > train.py <<'EOF'
import ctypes
import json

history = []
for epoch in range(4):
    history.append({"epoch": epoch, "loss": 1.0 / (epoch + 1)})
    print("epoch", epoch, "loss", history[-1]["loss"], flush=True)
    if epoch == 2:
        ctypes.memset(8, 0, 64)
with open("results/history.json", "w") as file:
    json.dump(history, file)
EOF
ulimit -c 0
python train.py
echo "training finished, collecting results"
tar czf results.tar.gz results
ls results | wc -l
echo "done"
