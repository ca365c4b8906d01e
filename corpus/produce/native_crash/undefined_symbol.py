# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# needs = ["gcc"]
# ///
"""The C part of a package was built against another version of a library: undefined symbol."""

import subprocess
import sys
import sysconfig
from pathlib import Path

INIT = '"""Fused optimizers."""\nfrom fused_adam._C import step\n\n__version__ = "0.4.1"\n'
SOURCE = r"""
#include <Python.h>
extern void at_native_adam_step_v2(double *, long);
static PyObject *step(PyObject *self, PyObject *args) {
    double x = 1.0;
    at_native_adam_step_v2(&x, 1);
    return PyFloat_FromDouble(x);
}
static PyMethodDef methods[] = {{"step", step, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_C", "", -1, methods};
PyMODINIT_FUNC PyInit__C(void) { return PyModule_Create(&module); }
"""


def install(site):
    package = site / "fused_adam"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(INIT)
    (package / "_C.c").write_text(SOURCE)
    target = package / f"_C{sysconfig.get_config_var('EXT_SUFFIX')}"
    include = sysconfig.get_paths()["include"]
    command = [
        "gcc",
        "-shared",
        "-fPIC",
        "-z",
        "now",
        f"-I{include}",
        "-o",
        target,
        package / "_C.c",
    ]
    subprocess.run(command, check=True)


def main():
    site = Path("site-packages").resolve()
    install(site)
    sys.path.insert(0, str(site))
    print("Python", sys.version.split()[0], "| optimizer: fused_adam | precision: fp32")
    import fused_adam

    print("using fused_adam", fused_adam.__version__)


if __name__ == "__main__":
    main()
