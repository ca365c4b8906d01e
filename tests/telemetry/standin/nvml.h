/* Shared by all functions of the stand-in: the codes of NVML, and the effects of a scenario. */
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

/* The rule by which this function fails, or hangs, now; NULL if there is none. */
const struct rule *rule_for(const char *function, const struct device *device, bool hangs);

/* Writes the call to the log of calls, waits while it hangs, and returns the code it fails with. */
status follow_rules(const char *function, const struct device *device);

/* The same, and fails before NVML is opened. */
status enter(const char *function, const struct device *device);

/* The first line of a function, with its device or NULL. */
#define ENTER(device)                             \
    do {                                          \
        status refused = enter(__func__, device); \
        if (refused) return refused;              \
    } while (0)

/* Values of the moment; NOT_SUPPORTED where the scenario has none. */
status read_double(const struct device *device, const char *name, double *out);
status read_uint(const struct device *device, const char *name, unsigned *out);
status read_ulong_long(const struct device *device, const char *name, unsigned long long *out);
