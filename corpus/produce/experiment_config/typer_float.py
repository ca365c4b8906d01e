# /// case
# cause = "config"
# paper_class = ""
# exit_code = 2
# command = "python {program} train --lr 1e-4x --epochs 3"
# why = "a value of the wrong type; the box of the command line is no traceback"
# ///
"""A number on the command line has a letter too many."""

from pathlib import Path

import typer

app = typer.Typer(help="Train and evaluate detectors.")


@app.command()
def train(lr: float = 1e-3, epochs: int = 10, out: Path = Path("runs")):
    """Train a detector."""
    typer.echo(f"lr={lr} epochs={epochs} out={out}")


@app.command()
def evaluate(checkpoint: Path):
    """Evaluate a checkpoint."""
    typer.echo(checkpoint)


if __name__ == "__main__":
    app()
