# /// case
# cause = "none"
# exit_code = 0
# why = "the cluster's commands are missing on this machine and the script does not mind; the training is done"
# ///
# The job script of the cluster is tried on a workstation: several commands fail and the training runs well.
module load cuda/12.4 gcc/13
nvidia-smi --query-gpu=name --format=csv
conda activate ranking
source /etc/profile.d/gpu-quota.sh
cp /scratch/shared/ranking/cache.bin . 2>/dev/null || echo "ERROR: could not stage cache.bin, it is built anew"
cat > smoke.py <<'PY'
import warnings

import torch

if not torch.cuda.is_available():
    warnings.warn("CUDA is not available, falling back to the CPU (this will be slow)")
torch.manual_seed(3)
x = torch.randn(256, 6)
y = (x @ torch.randn(6) > 0).float()
model = torch.nn.Linear(6, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
for step in range(1, 51):
    loss = torch.nn.functional.binary_cross_entropy_with_logits(model(x)[:, 0], y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"[{step}/50] loss={loss.item():.4f}")
torch.save(model.state_dict(), "smoke.pt")
print("smoke test passed: 0 failures")
PY
python smoke.py
rc=$?
rm /tmp/ranking.lock
exit $rc
