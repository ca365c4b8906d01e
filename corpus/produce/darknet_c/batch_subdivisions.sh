# /// case
# cause = "div_zero"
# exit_code = 136
# why = "SIGFPE of an integer division; the shell says Floating point exception"
# ///
# The number of anchors per scale is worked out by an integer division in C.
cat > yolo.c <<'C'
#include <stdio.h>
#include <stdlib.h>

static int anchors_per_scale(int anchors, int scales) { return anchors / scales; }

int main(int argc, char **argv)
{
    int scales[] = {3, 3, 2, 1, atoi(argc > 1 ? argv[1] : "0")};
    for (int i = 0; i < 5; i++) {
        int n = anchors_per_scale(9, scales[i]);
        printf("[yolo] head %d: %d anchors, iou loss: mse (2), iou_norm: 0.75\n", i, n);
        fflush(stdout);
    }
    puts("Total BFLOPS 5.449");
    return 0;
}
C
gcc -O0 -o yolo yolo.c || exit 90
./yolo
status=$?
echo "`date '+%F %T'` yolo finished with status $status"
exit $status
