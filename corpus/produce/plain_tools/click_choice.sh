# /// case
# cause = "config"
# exit_code = 2
# ///
# A command of click gets a value that is not among its choices.

cd "$HOME" || exit 3
cat > fit.py <<'EOF'
import click


@click.command()
@click.option("--optimizer", type=click.Choice(["sgd", "adamw", "lion"]), default="adamw")
@click.option("--epochs", type=int, default=3)
def fit(optimizer, epochs):
    click.echo(f"{optimizer} for {epochs} epochs")


fit()
EOF
python fit.py --epochs 4 --optimizer adan
