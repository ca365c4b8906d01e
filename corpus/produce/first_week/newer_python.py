# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# why = "the code was written on a newer interpreter: the name is in typing from 3.12 on"
# ///
"""The package of the team imports a name from typing that this interpreter does not have yet."""

import platform
import runpy
from pathlib import Path

print(f"running on {platform.system()}, python {platform.python_version()}")
package = Path("visionlab")
package.mkdir()
(package / "__init__.py").write_text('__version__ = "2.4.0"\n')
(package / "callbacks.py").write_text(
    "from typing import Any, override\n\n\n"
    "class Callback:\n    def on_step(self, state: Any) -> None: ...\n\n\n"
    "class PrintLoss(Callback):\n"
    "    @override\n    def on_step(self, state: Any) -> None:\n        print(state)\n"
)
(package / "cli.py").write_text(
    "import torch\n\nfrom visionlab import __version__\n"
    'print("visionlab", __version__, "torch", torch.__version__)\n'
    "from visionlab.callbacks import PrintLoss\n\nPrintLoss().on_step({'loss': 0.7})\n"
)
runpy.run_module("visionlab.cli", run_name="__main__")
