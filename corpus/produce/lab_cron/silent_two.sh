# /// case
# cause = "runtime_error"
# exit_code = 2
# why = "the status stands alone; no line is about the end"
# ///
# A program written in C ends with 2 and prints nothing.

cd "$HOME" || exit 3
echo '#include <stdio.h>
int main(void) { double s = 0; for (int i = 0; i < 1000; i++) s += i; return s > 10 ? 2 : 0; }' > fit.c
gcc -o fit fit.c && exec ./fit
