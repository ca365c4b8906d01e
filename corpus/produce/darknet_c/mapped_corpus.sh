# /// case
# cause = "host_oom"
# exit_code = 1
# why = "mmap fails with ENOMEM and the program says so"
# ///
# The corpus is mapped with a private copy larger than the limit of the address space.
cat > words.c <<'C'
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(void)
{
    size_t sizes[] = {64, 256, 8192};
    for (int i = 0; i < 3; i++) {
        void *p = mmap(NULL, sizes[i] << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            fprintf(stderr, "word2vec: mmap of %zu MiB for syn1neg failed: %s\n", sizes[i], strerror(errno));
            exit(1);
        }
        memset(p, 0, 4096);
        printf("Vocab size: %d  table %zu MiB mapped\n", 71291 * (i + 1), sizes[i]);
        fflush(stdout);
    }
    return 0;
}
C
gcc -O1 -o word2vec words.c && (ulimit -v 2000000; ./word2vec)
