# /// case
# cause = "filesystem_io"
# paper_class = "traceback"
# exit_code = 120
# why = "the reader of the output went away: a broken output pipe"
# ///
# The viewer that reads the output ends early, and the trainer writes into a broken pipe.
set -o pipefail
cat > train.py <<'EOF'
import sys
import time


def main():
    for step in range(100000):
        sys.stdout.write(f"step {step} loss {1 / (step + 1):.6f}\n")
        sys.stdout.flush()
        time.sleep(0.0005)


main()
EOF
python train.py | head -n 12
status=$?
echo "exit status $status"
exit $status
