# /// case
# cause = "oom_killer"
# exit_code = 137
# needs = ["root"]
# why = "the report at the end counts the kills of the cgroup and shows the kernel's line"
# ///
# The trainer in C keeps every decoded image, and the kernel kills it in the cgroup of the job.
group=/sys/fs/cgroup/memory/pbs_jobs/9920.head
mkdir -p $group || exit 90
echo $((48 << 20)) > $group/memory.limit_in_bytes
cat > train.c <<'C'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void)
{
    for (int i = 1; i <= 2000; i++) {
        char *image = malloc(608 * 608);
        memset(image, i, 608 * 608);
        if (i % 20 == 0) { printf("Loaded: %d images, %.4f avg loss\n", i, 900.0 / i); fflush(stdout); }
    }
    puts("done");
    return 0;
}
C
gcc -O0 -o darknet train.c || exit 90
(echo $BASHPID > $group/cgroup.procs; exec ./darknet)
code=$?
sleep 0.3
echo "PBS epilogue: job 9920.head exit_status=$code resources_used.mem=$(($(cat $group/memory.max_usage_in_bytes) >> 10))kb Resource_List.mem=49152kb"
echo "PBS epilogue: $(dmesg | grep 'Memory cgroup out of memory.*(darknet)' | tail -1)"
(cd /sys/fs/cgroup/memory && rmdir -p pbs_jobs/9920.head)
exit $code
