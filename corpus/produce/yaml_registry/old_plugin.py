# /// case
# cause = "dependency"
# paper_class = "missing_module"
# exit_code = 1
# why = "torch is installed, but a private part of it that the plugin was written for is gone"
# ///
"""A plugin written for an older torch imports a part of it that was removed; a rich console shows the trace."""

import importlib
import os
import sys
from pathlib import Path

import yaml
from rich.console import Console
from rich.panel import Panel

console = Console(width=100)
PLUGIN = '''"""Gradient clipping by agc."""
import torch
from torch._six import inf
from forge_api import hook


@hook("before_step")
def clip(model, limit=0.1):
    norms = [p.grad.norm(inf) for p in model.parameters()]
    return torch.stack(norms).max()
'''
API = """HOOKS = {}


def hook(event):
    return lambda function: HOOKS.setdefault(event, []).append(function)
"""


def prepare():
    Path("plugins").mkdir()
    Path("plugins/agc_clip.py").write_text(PLUGIN)
    Path("plugins/forge_api.py").write_text(API)
    Path("experiment.yaml").write_text(
        "name: agc\nplugins: [forge_api, agc_clip]\ntrain: {steps: 20}\n"
    )
    sys.path.insert(0, os.path.abspath("plugins"))


def run(path):
    config = yaml.safe_load(Path(path).read_text())
    console.print(Panel(yaml.safe_dump(config).strip(), title=path))
    for name in config["plugins"]:
        with console.status(f"importing {name}"):
            importlib.import_module(name)
        console.log(f"plugin [cyan]{name}[/] ready")


prepare()
try:
    run("experiment.yaml")
except Exception:
    console.print_exception(show_locals=False, max_frames=6)
    console.print("[red]run aborted[/], see above")
    sys.exit(1)
