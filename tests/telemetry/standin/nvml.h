/* What all functions of the stand-in share: NVML's codes, and what a scenario makes of a call. */
#pragma once

#include "scenario.h"

enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    TIMEOUT = 10,
    GPU_IS_LOST = 15,
    OUT_OF_MEMORY = 20,
    ARGUMENT_VERSION_MISMATCH = 25,
};
typedef int status;

enum { DOZE_MS = 20 };
void doze(unsigned ms);

/* What fails, or hangs, by this name now; NULL where nothing does. */
const struct rule *rule_for(const char *function, const struct device *device, bool hangs);

/* Notes the call and comes back when it hangs no more, with the code that it fails with. */
status follow_rules(const char *function, const struct device *device);

/* The same, and fails before NVML is opened. */
status enter(const char *function, const struct device *device);

/* The first line of a function: what it is called for, or NULL. */
#define ENTER(device)                             \
    do {                                          \
        status refused = enter(__func__, device); \
        if (refused) return refused;              \
    } while (0)

/* Values of the moment; NOT_SUPPORTED where the scenario has none. */
status tell_double(const struct device *device, const char *name, double *told);
status tell_uint(const struct device *device, const char *name, unsigned *told);
status tell_ulong_long(const struct device *device, const char *name, unsigned long long *told);
