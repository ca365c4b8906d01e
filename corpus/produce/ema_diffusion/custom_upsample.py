# /// case
# cause = "compile_error"
# paper_class = "traceback"
# exit_code = 1
# why = "dynamo cannot trace the custom operator because it has no fake kernel; in eager mode the same operator works"
# ///
"""The compiled generator calls an operator of the user's own that has no fake kernel."""

import time

import torch
import torch.nn.functional as F
from torch import nn


@torch.library.custom_op("stylized::upfirdn", mutates_args=())
def upfirdn(x: torch.Tensor, factor: int) -> torch.Tensor:
    return F.interpolate(x, scale_factor=factor, mode="bilinear")


upfirdn.register_autograd(
    lambda ctx, grad: (F.avg_pool2d(grad, ctx.factor) * ctx.factor**2, None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
)


class Synthesis(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Conv2d(4, 8, 3, padding=1)
        self.rgb = nn.Conv2d(8, 3, 1)

    def forward(self, x):
        return torch.tanh(self.rgb(F.silu(self.body(upfirdn(x, 2)))))


torch.manual_seed(0)
G = Synthesis()
optimizer = torch.optim.Adam(G.parameters(), lr=1e-3)
step_fn = G
for epoch in range(4):
    began = time.perf_counter()
    if epoch == 2:
        print("warm-up over, switching to the compiled generator (mode=default, fullgraph)")
        step_fn = torch.compile(G, fullgraph=True)
    for _ in range(8):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            image = step_fn(torch.randn(4, 4, 8, 8))
            loss = (image.float() - 0.5).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(
        f"epoch {epoch} loss_G {loss.item():.4f} {time.perf_counter() - began:.2f}s/epoch",
        flush=True,
    )
