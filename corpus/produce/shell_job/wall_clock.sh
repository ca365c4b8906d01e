# /// case
# cause = "time_limit"
# exit_code = 124
# ///
# timeout(1) ends a training that is still making progress.
cat > train.py <<'EOF'
import time

import torch

torch.manual_seed(0)
model = torch.nn.Linear(10, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
start = time.time()
for step in range(1, 10**6):
    x = torch.randn(32, 10)
    loss = (model(x) - x.sum(1, keepdim=True)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    time.sleep(0.002)
    if step % 200 == 0:
        print(f"step {step}/1000000 loss {loss.item():.5f} {step / (time.time() - start):.0f} it/s", flush=True)
EOF
LIMIT=8s
echo "running with a limit of $LIMIT"
timeout --verbose --signal=TERM --kill-after=5s $LIMIT python train.py
rc=$?
[ $rc -eq 124 ] && echo "run.sh: wall clock limit of $LIMIT reached, job stopped"
exit $rc
