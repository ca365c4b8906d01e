# /// case
# cause = "file_not_found"
# exit_code = 2
# ///
# Compares two summaries; one of them does not exist.

cd "$HOME" || exit 3
printf 'epoch,acc\n1,0.5\n2,0.61\n' > left.csv
diff -u left.csv right.csv
