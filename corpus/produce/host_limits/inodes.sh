# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "no inode is left, which is said with the same words as a full disk"
# ///
# The quota of files is used up although df shows free space.
mkdir -p features
mount -t tmpfs -o size=64m,nr_inodes=200 tmpfs features || exit 90
cat > extract.py <<'EOF'
import numpy as np
from tqdm import tqdm

rng = np.random.default_rng(0)
for i in tqdm(range(500), desc="extracting features", ncols=88, mininterval=0.01):
    np.save(f"features/clip_{i:05d}.npy", rng.normal(size=(16, 8)).astype("f2"))
EOF
df -h features | sed 's#/.*/#/#'
python extract.py || { code=$?; df -h features | tail -1 | sed 's#/.*/#/#'; exit $code; }
