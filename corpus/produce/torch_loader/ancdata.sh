# /// case
# cause = "too_many_files"
# paper_class = "runtime_error"
# exit_code = 1
# ///
# Batches kept in a list hold a descriptor each until the limit of the shell is reached.
ulimit -n 96
ulimit -a
cat > collect.py <<'EOF'
import torch
from torch.utils.data import DataLoader, TensorDataset


def main():
    data = TensorDataset(torch.randn(4000, 16), torch.randint(0, 3, (4000,)))
    cached = []
    for i, (x, y) in enumerate(DataLoader(data, batch_size=10, num_workers=2)):
        cached.append((x, y))
        if i % 10 == 0:
            print("cached", i, "batches", flush=True)
    print("done", len(cached))


if __name__ == "__main__":
    main()
EOF
python -u collect.py
