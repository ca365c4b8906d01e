/* Effects of a scenario on a call: a note, a pause, a failure, or the values of the moment. */
#include <string.h>
#include <time.h>

#include "nvml.h"

void doze(unsigned ms) {
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L}, NULL);
}

const struct rule *rule_for(const char *function, const struct device *device, bool hangs) {
    const struct scenario *all = scenario();
    double now = scenario_now();
    for (size_t i = 0; i < all->rules; i++) {
        const struct rule *rule = &all->rule[i];
        bool here = rule->gpu < 0 || (device && device->gpu == rule->gpu);
        bool named = !strcmp(rule->function, "*") || !strcmp(rule->function, function);
        if (here && named && hangs == !rule->code && now >= rule->from_s && now < rule->until_s)
            return rule;
    }
    return NULL;
}

status follow_rules(const char *function, const struct device *device) {
    scenario_note(function, device);
    while (rule_for(function, device, true)) doze(DOZE_MS);
    const struct rule *failure = rule_for(function, device, false);
    return failure ? failure->code : SUCCESS;
}

status read_double(const struct device *device, const char *name, double *out) {
    const struct curve *curve = scenario_curve(device, name);
    if (!curve) return NOT_SUPPORTED;
    *out = curve_at(curve, scenario_now());
    return SUCCESS;
}

status read_uint(const struct device *device, const char *name, unsigned *out) {
    double value;
    status refused = read_double(device, name, &value);
    if (!refused) *out = (unsigned)value;
    return refused;
}

status read_ulong_long(const struct device *device, const char *name, unsigned long long *out) {
    double value;
    status refused = read_double(device, name, &value);
    if (!refused) *out = (unsigned long long)value;
    return refused;
}
