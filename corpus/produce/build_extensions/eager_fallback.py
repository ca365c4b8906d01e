# /// case
# cause = "none"
# exit_code = 0
# env = {CXX = "/usr/local/bin/no-such-compiler"}
# why = "the compiler fails, the errors are suppressed, and the training runs eagerly to its end"
# ///
"""torch.compile fails and falls back to eager execution; the training ends well."""

import torch
import torch._dynamo

torch._dynamo.config.suppress_errors = True
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(6, 24), torch.nn.Tanh(), torch.nn.Linear(24, 1))
compiled = torch.compile(model)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for epoch in range(5):
    for _ in range(20):
        x = torch.randn(32, 6)
        loss = (compiled(x) - x.sum(1, keepdim=True)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"epoch {epoch} loss {loss.item():.4f}", flush=True)
torch.save(model.state_dict(), "model.pt")
print("training finished, model.pt written")
