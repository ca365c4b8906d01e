# /// case
# cause = "segfault"
# exit_code = -11
# why = "SIGSEGV and an empty log"
# ///
# A program in C crashes, and prints nothing.

cd "$HOME" || exit 3
echo 'int main(void) { volatile int *p = 0; return *p; }' > index.c
gcc -O0 -o index index.c && exec ./index
