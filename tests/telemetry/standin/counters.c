/* Fields, the older functions for the same values, and activity between two samples. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nvml.h"

/* -- fields ----------------------------------------------------------------------------------- */

enum { DOUBLE, UINT, ULONG, ULONG_LONG, LONG_LONG, INT, USHORT };

struct field_value {
    unsigned id, scope;
    long long timestamp, latency;
    unsigned type;
    status result;
    union {
        double as_double;
        unsigned as_uint;
        unsigned long as_ulong;
        unsigned long long as_ulong_long;
        long long as_long_long;
        int as_int;
        unsigned short as_ushort;
    } value;
};

static status read_field(const struct device *device, struct field_value *field) {
    char name[32], scoped[48];
    double value;
    snprintf(name, sizeof name, "field:%u", field->id);
    if (field->scope)
        snprintf(scoped, sizeof scoped, "%s@%u", name, field->scope);
    else
        strcpy(scoped, name);
    const struct rule *failure = rule_for(scoped, device, false);
    if (failure) return failure->code;
    status refused = read_double(device, scoped, &value);
    if (refused) return refused;
    snprintf(name, sizeof name, "type:%u", field->id);
    const char *type = scenario_text(device, name);
    field->type = type ? (unsigned)atoi(type) : ULONG_LONG;
    memset(&field->value, 0xA5, sizeof field->value); /* what is not the member must not be read */
    switch (field->type) {
    case DOUBLE: field->value.as_double = value; break;
    case UINT: field->value.as_uint = (unsigned)value; break;
    case ULONG: field->value.as_ulong = (unsigned long)value; break;
    case LONG_LONG: field->value.as_long_long = (long long)value; break;
    case INT: field->value.as_int = (int)value; break;
    case USHORT: field->value.as_ushort = (unsigned short)value; break;
    default: field->value.as_ulong_long = (unsigned long long)value;
    }
    return SUCCESS;
}

status nvmlDeviceGetFieldValues(struct device *device, int count, struct field_value *fields) {
    ENTER(device);
    const struct rule *spoilt = count > 1 ? rule_for("fields", device, false) : NULL;
    if (spoilt) return spoilt->code;
    for (int i = 0; i < count; i++) fields[i].result = read_field(device, &fields[i]);
    return SUCCESS;
}

/* -- older functions for the values of fields ------------------------------------------------ */

status nvmlDeviceGetTotalEccErrors(struct device *device, unsigned type, unsigned counter,
                                   unsigned long long *count) {
    ENTER(device);
    if (type > 1 || counter) return INVALID_ARGUMENT;
    return read_ulong_long(device, type ? "old:uncorrected" : "old:corrected", count);
}

status nvmlDeviceGetRemappedRows(struct device *device, unsigned *corrected, unsigned *uncorrected,
                                 unsigned *pending, unsigned *failure) {
    ENTER(device);
    unsigned *const counts[] = {corrected, uncorrected, pending, failure};
    for (unsigned i = 0; i < 4; i++) {
        char name[] = "old:remapped0";
        name[sizeof name - 2] += (char)i;
        status one = read_uint(device, name, counts[i]);
        if (one) return one;
    }
    return SUCCESS;
}

status nvmlDeviceGetPcieReplayCounter(struct device *device, unsigned *count) {
    ENTER(device);
    return read_uint(device, "old:replays", count);
}

struct violation {
    unsigned long long reference_us, violation_ns;
};

status nvmlDeviceGetViolationStatus(struct device *device, unsigned policy,
                                    struct violation *violation) {
    ENTER(device);
    if (policy > 1) return INVALID_ARGUMENT;
    violation->reference_us = (unsigned long long)(1e6 * scenario_now());
    const char *name = policy ? "old:thermal" : "old:power";
    return read_ulong_long(device, name, &violation->violation_ns);
}

/* -- activity between two samples ------------------------------------------------------------- */

struct gpm_sample {
    const struct device *device;
    double at_s;
};

struct gpm_metric {
    unsigned id;
    status result;
    double value;
    const char *names[3];
};

struct gpm_question {
    unsigned version, count;
    struct gpm_sample *earlier, *later;
    struct gpm_metric metric[];
};

struct gpm_support {
    unsigned version, supported;
};

status nvmlGpmQueryDeviceSupport(struct device *device, struct gpm_support *support) {
    ENTER(device);
    if (support->version != 1) return ARGUMENT_VERSION_MISMATCH;
    support->supported = 0;
    for (size_t i = 0; i < device->curves.count; i++)
        support->supported |= !strncmp(device->curves.items[i].name, "gpm:", 4);
    return SUCCESS;
}

status nvmlGpmSampleAlloc(struct gpm_sample **sample) {
    ENTER(NULL);
    *sample = calloc(1, sizeof **sample);
    return *sample ? SUCCESS : OUT_OF_MEMORY;
}

status nvmlGpmSampleFree(struct gpm_sample *sample) {
    ENTER(NULL);
    free(sample);
    return SUCCESS;
}

status nvmlGpmSampleGet(struct device *device, struct gpm_sample *sample) {
    ENTER(device);
    *sample = (struct gpm_sample){device, scenario_now()};
    return SUCCESS;
}

status nvmlGpmMetricsGet(struct gpm_question *question) {
    const struct device *device = question->earlier->device;
    ENTER(device);
    if (question->version != 1) return ARGUMENT_VERSION_MISMATCH;
    if (!device || device != question->later->device) return INVALID_ARGUMENT;
    for (unsigned i = 0; i < question->count; i++) {
        char name[32];
        snprintf(name, sizeof name, "gpm:%u", question->metric[i].id);
        const struct curve *curve = scenario_curve(device, name);
        question->metric[i].result = curve ? SUCCESS : NOT_SUPPORTED;
        if (curve)
            question->metric[i].value =
                curve_mean(curve, question->earlier->at_s, question->later->at_s);
    }
    return SUCCESS;
}
