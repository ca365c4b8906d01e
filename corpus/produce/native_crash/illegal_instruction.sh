# /// case
# cause = "segfault"
# exit_code = 132
# needs = ["gcc"]
# ///
# A program built for another processor ends with SIGILL at its first vector operation.
cat > matmul.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
static float dot(const float *a, const float *b, int n) {
    float s = 0;
    for (int i = 0; i < n; i++) s += a[i] * b[i];
#ifdef FAST
    __builtin_trap();
#endif
    return s;
}
int main(void) {
    float a[64], b[64];
    for (int i = 0; i < 64; i++) a[i] = b[i] = i / 64.0f;
    fprintf(stderr, "benchmarking kernels: generic");
    fprintf(stderr, " (%.2f) avx512", dot(a, b, 64));
    fprintf(stderr, " (%.2f)\n", dot(b, a, 64));
    return 0;
}
EOF
gcc -O0 -DFAST -march=x86-64 -o autotune matmul.c
ulimit -c 0
echo "host CPU flags: sse4_2 avx avx2"
./autotune --threads 1
rc=$?
[ $rc -eq 0 ] || { echo "autotune failed (exit code $rc), giving up" >&2; exit $rc; }
python -c 'print("training")'
