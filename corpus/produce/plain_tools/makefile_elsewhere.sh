# /// case
# cause = "file_not_found"
# exit_code = 2
# ///
# make is told to read a file that is not there.

cd "$HOME" || exit 3
make -f experiments/train.mk all
