# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# needs = ["root"]
# ///
# The disk of the cache is full while joblib stores a result; the program does not catch it.
mkdir -p cache
cat > features.py <<'PY'
import numpy as np

for fold in range(8):
    x = np.random.default_rng(fold).random((200, 512))
    np.save(f"cache/fold{fold}.npy", x)
    print(f"fold {fold}: cached {x.nbytes >> 10} KiB, mean {x.mean():.4f}", flush=True)
PY
unshare -m bash -c 'mount -t tmpfs -o size=3500k tmpfs cache && exec python features.py'
