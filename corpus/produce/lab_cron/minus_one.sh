# /// case
# cause = "runtime_error"
# exit_code = 255
# why = "the status stands alone; no line is about the end"
# ///
# A program in C returns -1 after its last batch.

cd "$HOME" || exit 3
echo '#include <stdio.h>
int main(void) { puts("reading 3 batches"); for (int b = 0; b < 3; b++) printf("batch %d ok\n", b); return -1; }' > read.c
gcc -o read read.c && ./read
