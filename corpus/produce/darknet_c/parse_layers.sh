# /// case
# cause = "segfault"
# exit_code = 139
# ///
# A small trainer in C walks a list of layers one too far.
cat > net.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <math.h>

typedef struct layer { int in, out; float *w; struct layer *next; } layer;

static layer *dense(int in, int out, layer *next)
{
    layer *l = calloc(1, sizeof *l);
    l->in = in; l->out = out; l->next = next;
    l->w = malloc(sizeof(float) * in * out);
    for (int i = 0; i < in * out; i++) l->w[i] = sinf(i) / in;
    return l;
}

int main(void)
{
    layer *net = dense(64, 32, dense(32, 16, dense(16, 10, NULL)));
    float loss = 2.3f;
    for (int iter = 1; iter <= 400; iter++) {
        int depth = iter < 250 ? 3 : 4;
        layer *l = net;
        for (int d = 0; d < depth; d++, l = l->next)
            for (int i = 0; i < l->in; i++) loss -= 1e-6f * fabsf(l->w[i]);
        if (iter % 50 == 0) {
            printf("%d: %.6f, %.6f avg, 0.001000 rate, %d images\n", iter, loss, loss * 1.1f, iter * 64);
            fflush(stdout);
        }
    }
    puts("Saving weights to backup/net_final.weights");
}
C
gcc -O1 -g -o darknet net.c -lm || exit 90
echo "layer     filters    size              input                output"
./darknet
