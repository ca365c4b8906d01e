# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# why = "a compiled part is there and does not fit the interpreter"
# ///
"""The cached wheel of a package was built for another interpreter: its extension lacks the init function."""

import pathlib
import subprocess
import sysconfig

import torch

suffix = sysconfig.get_config_var("EXT_SUFFIX")
pathlib.Path("fastbpe").mkdir()
pathlib.Path("fastbpe/__init__.py").write_text("from fastbpe._core import encode\n")
pathlib.Path("core.c").write_text("int initcore2(void) { return 0; }\n")
subprocess.run(["gcc", "-shared", "-fPIC", "-o", f"fastbpe/_core{suffix}", "core.c"], check=True)
print("torch", torch.__version__, "| loading tokenizer extension from the wheel cache")
import fastbpe  # noqa: E402

print(fastbpe.encode("hello"))
