# /// case
# cause = "assertion"
# exit_code = 134
# ///
# The optimizer in C checks with assert() that its step length shrinks, and it does not.
cat > lbfgs.c <<'C'
#include <assert.h>
#include <stdio.h>

static double line_search(int k, double f) { return k == 7 ? f * 1.01 : f * 0.8; }

int main(void)
{
    double f = 120.5;
    for (int k = 1; k < 40; k++) {
        double next = line_search(k, f);
        assert(next <= f && "line search must not increase f");
        f = next;
        printf("iter %3d  f=%12.6f  |g|=%.3e\n", k, f, f / 7);
        fflush(stdout);
    }
}
C
gcc -o lbfgs lbfgs.c || exit 90
./lbfgs
