# /// case
# cause = "filesystem_io"
# paper_class = "runtime_error"
# exit_code = 1
# command = "unshare -m bash {program}"
# needs = ["root"]
# why = "torch.save's 'unexpected pos' with nothing about space"
# ///
# torch.save breaks off in the middle of a file, and nothing in the log says why.
mkdir -p out
mount -t tmpfs -o size=3m tmpfs out || exit 90
cat > train.py <<'EOF'
import torch
from tqdm import tqdm

model = torch.nn.Linear(512, 512)
optimizer = torch.optim.Adam(model.parameters())
for step in tqdm(range(1, 301), ncols=80):
    x = torch.randn(4, 512)
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 150 == 0:
        tqdm.write(f"step {step} loss {loss.item():.4f} -> saving model and optimizer")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "out/last.pt")
EOF
python train.py
