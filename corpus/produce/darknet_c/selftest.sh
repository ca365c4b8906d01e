# /// case
# cause = "none"
# exit_code = 0
# why = "the crashes are those of the self test, the training ends well"
# ///
# The self test provokes crashes in child processes on purpose; the training afterwards ends well.
cat > selftest.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
int main(int c, char **v) { int z = c - 2; fflush(stdout); if (v[1][0] == 's') raise(SIGSEGV); if (v[1][0] == 'f') return 1 / z; return 0; }
C
gcc -O0 -w -o selftest selftest.c || exit 90
for kind in segv fpe ok; do
    ./selftest $kind
    echo "selftest $kind: status $? (expected)"
done
cat > fit.c <<'C'
#include <stdio.h>
int main(void) { double w = 0; for (int i = 0; i < 100; i++) { w += 0.1 * (3 - w); if (i % 20 == 0) printf("iter %d w %.4f nan 0\n", i, w); } printf("converged, w = %.4f, 0 errors\n", w); return 0; }
C
gcc -o fit fit.c && ./fit
