# /// case
# cause = "killed_unknown"
# exit_code = -9
# why = "SIGKILL and an empty log"
# ///
# The program is killed before it prints anything.

cd "$HOME" || exit 3
exec python -c 'import os, signal; os.kill(os.getpid(), signal.SIGKILL)'
