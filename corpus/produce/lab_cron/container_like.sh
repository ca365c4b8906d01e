# /// case
# cause = "runtime_error"
# exit_code = 125
# why = "the status stands alone; no line is about the end"
# ///
# Epochs of a program, and the status 125.

cd "$HOME" || exit 3
python -c '
for epoch in range(1, 4):
    print(f"Epoch {epoch}: train 0.{90 - epoch * 7} valid 0.{95 - epoch * 5}")
raise SystemExit(125)'
