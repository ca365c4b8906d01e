# /// case
# cause = "killed_unknown"
# exit_code = 137
# why = "the shell says Killed and nothing else tells who or why"
# ///
# The training gets SIGKILL from elsewhere and the shell prints its line.
trainer() {
    cat > main.py <<'EOF'
import time

for step in range(1000):
    time.sleep(0.01)
    if step % 25 == 0:
        print(f"INFO:root:step={step} loss={2.3 / (1 + step / 50):.4f} mem=2.1G/64G", flush=True)
EOF
    python main.py
}
trainer &
shell=$!
(sleep 2; pkill -KILL -P $shell) > /dev/null 2>&1 &
wait $shell
status=$?
echo "main.py exited with code $status"
exit $status
