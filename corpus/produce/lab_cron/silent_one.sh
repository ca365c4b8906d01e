# /// case
# cause = "runtime_error"
# exit_code = 1
# why = "the status stands alone; no line is about the end"
# ///
# A program ends with 1 and prints nothing.

cd "$HOME" || exit 3
exec python -c 'import os; os.path.getsize("."); os._exit(1)'
