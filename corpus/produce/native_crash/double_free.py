# /// case
# cause = "segfault"
# exit_code = -6
# needs = ["gcc"]
# why = "SIGABRT from glibc's heap check"
# ///
"""A buffer of a C tokenizer is freed twice and glibc aborts the process."""

import ctypes
import logging
import subprocess

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
log = logging.getLogger("tokenize")

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
typedef struct { char *text; long *offsets; } batch_t;
batch_t *batch_new(long n) {
    batch_t *b = malloc(sizeof *b);
    b->text = calloc(n, 1);
    b->offsets = calloc(n, sizeof(long));
    return b;
}
void batch_reset(batch_t *b) { free(b->text); free(b->offsets); }
void batch_free(batch_t *b) { free(b->text); free(b->offsets); free(b); }
"""

with open("tok.c", "w") as file:
    file.write(SOURCE)
log.info("building tokenizer extension ...")
subprocess.check_call(["gcc", "-shared", "-fPIC", "-o", "tok.so", "tok.c"])
lib = ctypes.CDLL("./tok.so")
lib.batch_new.restype = ctypes.c_void_p
log.info("tokenizer ready, 0 errors, 0 warnings")
for shard in range(6):
    batch = ctypes.c_void_p(lib.batch_new(ctypes.c_long(2000 + shard)))
    log.info("tokenizing shard %d of 6", shard)
    if shard == 4:
        lib.batch_reset(batch)
    lib.batch_free(batch)
log.info("tokenized 6 shards")
