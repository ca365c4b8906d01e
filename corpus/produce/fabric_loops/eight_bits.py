# /// case
# cause = "config"
# exit_code = 1
# environment = "hf4"
# paper_class = "traceback"
# ///
"""A precision that Fabric does not know."""

import json
import pathlib

import lightning_fabric as L

pathlib.Path("run.json").write_text(
    json.dumps({"precision": "fp8-mixed", "devices": 1, "lr": 3e-4})
)
settings = json.loads(pathlib.Path("run.json").read_text())
print("lightning_fabric", L.__version__)
for key, value in settings.items():
    print(f"  {key:<10} {value}")
fabric = L.Fabric(accelerator="cpu", devices=settings["devices"], precision=settings["precision"])
fabric.launch()
fabric.print("ready")
