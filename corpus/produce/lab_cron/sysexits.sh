# /// case
# cause = "runtime_error"
# exit_code = 78
# why = "the status stands alone; no line is about the end"
# ///
# The steps of a program, and a status of sysexits.h.

cd "$HOME" || exit 3
python - <<'EOF'
import os, sys
for step in range(0, 50, 10):
    print(f"step {step:04d} | loss {2.0 / (1 + step):.3f} | lr 1e-4", flush=True)
sys.exit(os.EX_CONFIG)
EOF
