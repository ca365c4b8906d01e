# /// case
# cause = "runtime_error"
# exit_code = 4
# why = "the status stands alone; no line is about the end"
# ///
# A sampler written in C prints its sweeps, and ends with 4.

cd "$HOME" || exit 3
echo '#include <stdio.h>
int main(void) { for (int i = 1; i <= 6; i++) printf("sweep %d energy %.3f\n", i, -40.0 - i / 3.0); return 4; }' > gibbs.c
gcc -o gibbs gibbs.c && ./gibbs
