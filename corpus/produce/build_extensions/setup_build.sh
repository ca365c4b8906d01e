# /// case
# cause = "compile_error"
# exit_code = 1
# needs = ["gcc"]
# paper_class = ""
# why = "the compiler refuses the source while the extension is built at the start of the job"
# ///
# The extension is built at the start of the job, and the compiler refuses its source.
set -e
cat > nms.c <<'EOF'
#include <Python.h>

static PyObject *nms(PyObject *self, PyObject *args) {
    double threshold
    if (!PyArg_ParseTuple(args, "d", &threshold)) return NULL;
    return PyFloat_FromDouble(treshold * 2);
}
static PyMethodDef methods[] = {{"nms", nms, METH_VARARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "nms", "", -1, methods};
PyMODINIT_FUNC PyInit_nms(void) { return PyModule_Create(&module); }
EOF
cat > setup.py <<'EOF'
from setuptools import Extension, setup

setup(name="nms", version="0.1", ext_modules=[Extension("nms", ["nms.c"])])
EOF
echo ">>> building extensions"
python setup.py build_ext --inplace
echo ">>> training"
python -c "import nms; print(nms.nms(0.5))"
