# /// case
# cause = "host_oom"
# exit_code = 1
# ///
# The attention matrix of a long context does not fit into the address space that the shell allows.
ulimit -v 3000000
cat > lm.py <<'EOF'
import torch
from tqdm import trange


def attend(q, k, v):
    weights = (q @ k.transpose(-2, -1)) / q.size(-1) ** 0.5
    return weights.softmax(-1) @ v


proj = torch.nn.Linear(16, 48)
optimizer = torch.optim.Adam(proj.parameters())
for step in trange(12, desc="training", ncols=70):
    context = 128 << step
    x = torch.randn(1, 2, context, 16)
    loss = attend(*proj(x).chunk(3, -1)).square().mean()
    loss.backward()
    optimizer.step()
    tqdm_line = f"step {step} context {context} loss {loss.item():.5f}"
    print(tqdm_line)
EOF
exec python lm.py
