# /// case
# cause = "disk_full"
# paper_class = "traceback"
# exit_code = 1
# needs = ["root"]
# ///
# The scratch volume fills up while features are written with h5py.
mkdir scratch
mount -t tmpfs -o size=3m tmpfs scratch
trap 'umount -l scratch' EXIT
df -h scratch | tail -1 | awk '{print "scratch:", $2, "total,", $4, "free"}'
cat > extract.py <<'EOF'
import h5py
import numpy as np

with h5py.File("scratch/features.h5", "w") as file:
    for shard in range(12):
        file.create_dataset(f"shard{shard}", data=np.random.default_rng(shard).normal(size=(500, 100)))
        file.flush()
        print(f"shard {shard} written", flush=True)
EOF
python extract.py
code=$?
echo "extraction ended with status $code"
exit $code
