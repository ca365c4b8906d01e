# /// case
# cause = "permission"
# exit_code = 1
# command = "setpriv --bounding-set=-dac_override,-dac_read_search python {program}"
# needs = ["root", "gcc"]
# why = "the folder for compiled kernels may not be written"
# ///
"""The shared folder for compiled kernels may only be read."""

import hashlib
import os
import pathlib
import subprocess

os.makedirs("kernel_cache", mode=0o755)
os.chmod("kernel_cache", 0o555)


def compiled(source, cache):
    key = hashlib.sha1(source.encode()).hexdigest()[:12]
    folder = pathlib.Path(cache, key)
    if (folder / "kernel.so").exists():
        print("cache hit", key)
        return folder / "kernel.so"
    print("cache miss", key, "- compiling", flush=True)
    folder.mkdir(parents=True)
    (folder / "kernel.c").write_text(source)
    subprocess.check_call(
        ["gcc", "-shared", "-fPIC", folder / "kernel.c", "-o", folder / "kernel.so"]
    )
    return folder / "kernel.so"


try:
    compiled(
        "float gelu(float x) { return x > 0 ? x : 0; }",
        os.environ.get("KERNEL_CACHE", "kernel_cache"),
    )
finally:
    os.chmod("kernel_cache", 0o755)
