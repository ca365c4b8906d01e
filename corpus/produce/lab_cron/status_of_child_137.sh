# /// case
# cause = "killed_unknown"
# exit_code = 137
# why = "128+9 is the status of a child that was killed; nothing says who did it"
# ///
# A parent passes on the status of its child, which was killed.

cd "$HOME" || exit 3
python - <<'EOF'
import os, signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "for i in range(5): print('tokens', i * 4096, flush=True)\ninput()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for _ in range(5):
    print(child.stdout.readline().decode().strip(), flush=True)
os.kill(child.pid, signal.SIGKILL)
sys.exit(128 - child.wait())
EOF
