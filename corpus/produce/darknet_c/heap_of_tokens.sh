# /// case
# cause = "segfault"
# exit_code = 134
# why = "glibc's check of the heap aborts the process"
# ///
# A tokenizer in C writes behind its buffer, which glibc notices when the buffer grows.
cat > bpe.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void)
{
    size_t size = 56;
    char *merged = malloc(size);
    char *next = malloc(24);
    for (int merge = 0; merge < 900; merge++) {
        size_t length = 20 + merge / 10;
        memset(merged, 'a' + merge % 26, length);
        if (merge % 100 == 0) fprintf(stderr, "INFO bpe: merge %d of 32000, longest token %zu\n", merge, length);
        if (length > 96) { merged = realloc(merged, size *= 2); free(next); next = malloc(24); }
    }
    fprintf(stderr, "INFO bpe: done\n");
    return 0;
}
C
gcc -O0 -w -o bpe bpe.c || exit 90
./bpe
code=$?
[ $code -eq 0 ] || { echo "tokenizer training failed (status $code)"; exit $code; }
