/* Event sets: an event of a GPU is delivered once to each set that it is registered with. */
#include <pthread.h>
#include <stdlib.h>

#include "nvml.h"

enum { MOST_GPUS = 64 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct event_set {
    unsigned long long types[MOST_GPUS];
    double since_s[MOST_GPUS];
    bool *delivered;
};

struct event_data {
    struct device *device;
    unsigned long long type, data;
    unsigned gpu_instance, compute_instance;
};

status nvmlEventSetCreate(struct event_set **set) {
    ENTER(NULL);
    *set = calloc(1, sizeof **set);
    if (*set) (*set)->delivered = calloc(scenario()->events + 1, sizeof(bool));
    return *set && (*set)->delivered ? SUCCESS : OUT_OF_MEMORY;
}

status nvmlEventSetFree(struct event_set *set) {
    ENTER(NULL);
    free(set->delivered);
    free(set);
    return SUCCESS;
}

status nvmlDeviceGetSupportedEventTypes(struct device *device, unsigned long long *types) {
    ENTER(device);
    return read_ulong_long(device, "event_types", types);
}

status nvmlDeviceRegisterEvents(struct device *device, unsigned long long types,
                                struct event_set *set) {
    ENTER(device);
    if (device->gpu >= MOST_GPUS) return INVALID_ARGUMENT;
    set->types[device->gpu] |= types;
    set->since_s[device->gpu] = scenario_now();
    return SUCCESS;
}

static bool delivered(struct event_set *set, struct event_data *data) {
    const struct scenario *all = scenario();
    double now = scenario_now();
    for (size_t i = 0; i < all->events; i++) {
        const struct event *event = &all->event[i];
        int gpu = event->device->gpu;
        if (set->delivered[i] || event->at_s > now || !(event->type & set->types[gpu]) ||
            event->at_s < set->since_s[gpu])
            continue;
        set->delivered[i] = true;
        *data = (struct event_data){scenario_device(gpu, -1), event->type, event->data, ~0U, ~0U};
        if (event->device->mig >= 0) data->gpu_instance = (unsigned)event->device->mig;
        if (event->device->mig >= 0) data->compute_instance = 0;
        return true;
    }
    return false;
}

static bool has_lost(const struct event_set *set) {
    for (int gpu = 0; gpu < scenario()->gpus; gpu++) {
        if (!set->types[gpu]) continue;
        const struct rule *rule = rule_for("nvmlEventSetWait_v2", scenario_device(gpu, -1), false);
        if (rule && rule->code == GPU_IS_LOST) return true;
    }
    return false;
}

/* As a real driver: first the events that came, then, at once, the error that a GPU of the set is lost. */
status nvmlEventSetWait_v2(struct event_set *set, struct event_data *data, unsigned timeout_ms) {
    ENTER(NULL);
    bool quiet = !scenario()->events && !scenario()->rules; /* no event and no failure can come */
    unsigned step_ms = quiet ? timeout_ms : DOZE_MS;
    for (unsigned waited_ms = 0;; waited_ms += step_ms) {
        pthread_mutex_lock(&lock);
        bool found = delivered(set, data);
        pthread_mutex_unlock(&lock);
        if (found) return SUCCESS;
        if (has_lost(set)) return GPU_IS_LOST;
        if (waited_ms >= timeout_ms) return TIMEOUT;
        doze(step_ms);
    }
}
