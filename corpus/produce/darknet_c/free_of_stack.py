# /// case
# cause = "segfault"
# exit_code = -6
# ///
"""A buffer that the library does not own is freed through ctypes; glibc says invalid pointer."""

import ctypes
import faulthandler
import logging
import subprocess
from pathlib import Path

logging.basicConfig(
    level=logging.INFO,
    format="I%(asctime)s %(process)d %(filename)s:%(lineno)d] %(message)s",
    datefmt="%m%d %H:%M:%S",
)
Path("crop.c").write_text(
    """
#include <stdlib.h>
static float pool[4096];
float *crop(int n) { float *p = n < 512 ? malloc(n * sizeof *p) : pool + 16;
    for (int i = 0; i < n; i++) p[i] = i; return p; }
void release(float *p) { free(p); }
"""
)
subprocess.run(["gcc", "-w", "-shared", "-fPIC", "-o", "libcrop.so", "crop.c"], check=True)
faulthandler.enable()
lib = ctypes.CDLL("./libcrop.so")
lib.crop.restype = ctypes.c_void_p
lib.release.argtypes = [ctypes.c_void_p]


def augment(width):
    data = lib.crop(width)
    lib.release(data)


for width in (64, 128, 256, 384, 512, 768):
    logging.info("augmenting crops of width %d", width)
    augment(width)
logging.info("done")
