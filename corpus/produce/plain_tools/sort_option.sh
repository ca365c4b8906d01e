# /// case
# cause = "config"
# exit_code = 2
# ///
# An option of sort that does not exist.

cd "$HOME" || exit 3
seq 5 | sort --uniqe --numeric-sort
