# /// case
# cause = "segfault"
# exit_code = -4
# ///
"""A kernel built for another CPU than the one it runs on executes an instruction that is none here."""

import ctypes
import subprocess
import sys
from pathlib import Path

SOURCE = """
void axpy(float *y, const float *x, float a, int n, int wide)
{
    if (wide) __asm__ volatile(".byte 0x0f, 0x0b");
    for (int i = 0; i < n; i++) y[i] += a * x[i];
}
"""
Path("kernels.c").write_text(SOURCE)
subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", "kernels.so", "kernels.c"], check=True)
kernels = ctypes.CDLL("./kernels.so")
Vector = ctypes.c_float * 256
y, x = Vector(), Vector(*range(256))
for epoch in range(4):
    wide = int(epoch == 2)
    print(f"epoch {epoch + 1}/4 kernels={'avx512_bf16' if wide else 'avx2'}", file=sys.stderr)
    for _ in range(100):
        kernels.axpy(y, x, ctypes.c_float(0.01), 256, wide)
    print(f"  |y|={sum(y):.1f}", file=sys.stderr)
