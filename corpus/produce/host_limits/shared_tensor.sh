# /// case
# cause = "shared_memory"
# paper_class = "runtime_error"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# ///
# The parameters that all processes share are larger than the container's /dev/shm.
mount -t tmpfs -o size=8m tmpfs /dev/shm || exit 90
cat > hogwild.py <<'EOF'
import torch
import torch.multiprocessing as mp


def build(width):
    return torch.nn.Sequential(torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, 1))


if __name__ == "__main__":
    mp.set_sharing_strategy("file_system")
    for width in (64, 256, 1024, 4096):
        model = build(width)
        size = sum(p.numel() for p in model.parameters()) * 4 / 2**20
        print(f"sharing model of width {width} ({size:.1f} MiB) with 4 processes", flush=True)
        model.share_memory()
EOF
exec python hogwild.py
