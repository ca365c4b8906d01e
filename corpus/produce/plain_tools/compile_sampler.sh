# /// case
# cause = "file_not_found"
# exit_code = 1
# ///
# Compiles a program of two sources, one of which is missing.

cd "$HOME" || exit 3
echo 'int main(void) { return 0; }' > main.c
gcc -O2 -Wall -o sampler main.c alias_table.c && ./sampler
