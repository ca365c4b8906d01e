# /// case
# cause = "shared_memory"
# paper_class = "runtime_error"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# ///
# Batches larger than the container's /dev/shm end the workers with a bus error.
mount -t tmpfs -o size=1m tmpfs /dev/shm || exit 90
cat > main.py <<'EOF'
import torch
from torch.utils.data import DataLoader, Dataset


class Segmentation(Dataset):
    def __len__(self):
        return 96

    def __getitem__(self, i):
        side = 64 if i < 24 else 256
        return torch.rand(3, side, side), torch.randint(0, 4, (side, side))


def main():
    net = torch.nn.Conv2d(3, 4, 1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for i, (x, y) in enumerate(DataLoader(Segmentation(), batch_size=4, num_workers=2)):
        loss = torch.nn.functional.cross_entropy(net(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"[{i}] loss={loss.item():.4f}", flush=True)


if __name__ == "__main__":
    main()
EOF
echo "== $(date +%F) segmentation, 2 workers =="
df -h /dev/shm | tail -1
python main.py
