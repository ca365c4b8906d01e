# /// case
# cause = "config"
# exit_code = 2
# ///
# A command of argparse gets a word for a number.

cd "$HOME" || exit 3
cat > fit.py <<'EOF'
import argparse

parser = argparse.ArgumentParser(prog="fit", description="Fit a line.")
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--rows", type=int, required=True)
print(parser.parse_args())
EOF
python fit.py --rows 40k --lr 0.5
