# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# needs = ["root"]
# why = "the short write is explained by the listing of the disk: 100% used"
# ///
# The disk of the cache is full while an array is stored; numpy only says how much was written.
mkdir -p cache
cat > features.py <<'PY'
import numpy as np

for fold in range(8):
    x = np.random.default_rng(fold).random((200, 512))
    np.save(f"cache/fold{fold}.npy", x)
    print(f"fold {fold}: cached {x.nbytes >> 10} KiB, mean {x.mean():.4f}", flush=True)
PY
unshare -m bash -c '
mount -t tmpfs -o size=3500k tmpfs cache
python features.py
code=$?
df -h cache | sed "s/^tmpfs/scratch/"
exit $code
'
