# /// case
# cause = "missing_module"
# exit_code = 1
# why = "the kernels of the package need triton, which is not installed; the package's own ImportError hides it"
# ///
"""The fused layer of the team's package needs triton; the trainer chooses it by a registry."""

import importlib
import logging
import sys
from pathlib import Path

import torch
from torch import nn

logging.basicConfig(level=logging.INFO, format="%(asctime)s | %(levelname)-8s | %(message)s")
KERNELS = Path("fastnorm")


def write_package():
    KERNELS.mkdir(exist_ok=True)
    (KERNELS / "__init__.py").write_text("")
    (KERNELS / "reference.py").write_text("from torch.nn import RMSNorm\n")
    (KERNELS / "fused.py").write_text(
        "import torch\nimport triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def _rms(x, out, n: tl.constexpr):\n    i = tl.arange(0, n)\n    row = tl.load(x + i)\n"
        "    tl.store(out + i, row / tl.sqrt(tl.sum(row * row) / n))\n"
    )
    sys.path.insert(0, str(KERNELS.parent))


def norm_layer(kind, dim):
    try:
        module = importlib.import_module(f"fastnorm.{kind}")
    except ImportError as error:
        logging.error("norm %r cannot be used on this machine", kind)
        raise RuntimeError(f"unsupported norm implementation: {kind}") from error
    return module.RMSNorm(dim)


def main():
    write_package()
    for kind in ("reference", "fused"):
        model = nn.Sequential(nn.Linear(16, 16), norm_layer(kind, 16))
        out = model(torch.randn(2, 16))
        logging.info("norm=%s output std %.3f", kind, out.std().item())


main()
