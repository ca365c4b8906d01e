# /// case
# cause = "traceback"
# exit_code = 1
# why = "a SyntaxError"
# ///
# The program was committed with the marks of a merge conflict.
set -o pipefail
cat > train.py <<'EOF'
import torch

<<<<<<< HEAD
LEARNING_RATE = 3e-4
=======
LEARNING_RATE = 1e-4
>>>>>>> feature/warmup

print(torch.__version__, LEARNING_RATE)
EOF
echo "git rev: 4be1c07-dirty"
python -u train.py | tee train.log
rc=${PIPESTATUS[0]}
echo "exit: $rc"
exit $rc
