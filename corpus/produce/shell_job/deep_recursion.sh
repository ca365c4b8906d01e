# /// case
# cause = "segfault"
# exit_code = 139
# needs = ["gcc"]
# why = "the stack overflows in native code; the shell names the signal"
# ///
# A parser in C recurses too deeply for the stack that the shell allows.
cat > parse.c <<'EOF'
#include <stdio.h>
#include <string.h>
static int depth(const char *s, int i, int n) {
    char scratch[4096];
    memset(scratch, s[i % n], sizeof scratch);
    return s[i % n] == '(' ? 1 + depth(s, i + 1, n) + (scratch[17] == 0) : 0;
}
int main(int argc, char **argv) {
    for (int k = 1; k < argc; k++) {
        fprintf(stderr, "parsing %s\n", argv[k]);
        printf("%d\n", depth(argv[k], 0, (int)strlen(argv[k])));
    }
    return 0;
}
EOF
gcc -O0 -o parse parse.c
ulimit -s 1024
ulimit -c 0
./parse "((a)b)" "(((c)))" "((((("
rc=$?
echo "parse finished with $rc" >&2
exit $rc
