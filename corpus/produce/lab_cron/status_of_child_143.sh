# /// case
# cause = "cancelled"
# exit_code = 143
# why = "128+15 is the status of a child that SIGTERM ended; nothing else is known"
# ///
# A parent passes on the status of its child, which SIGTERM ended.

cd "$HOME" || exit 3
python - <<'EOF'
import subprocess, sys
child = subprocess.Popen(["sleep", "60"])
for minute in (10, 20, 30):
    print(f"{minute} min, 0 of 1 workers idle", flush=True)
child.terminate()
sys.exit(128 - child.wait())
EOF
