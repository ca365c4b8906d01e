/* A stand-in for libnvidia-ml.so.1 that plays a scenario; see __init__.py.
 *
 * Only the functions that our source calls, with the C interface that NVIDIA documents and the
 * binding nvidia-ml-py declares.  A value that the scenario lacks is "not supported".
 */
#include "nvml.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int initialized;

status enter(const char *function, const struct device *device) {
    status refused = follow_rules(function, device);
    return refused ? refused : initialized ? SUCCESS : UNINITIALIZED;
}

static status read_text(const struct device *device, const char *name, char *out, unsigned size) {
    const char *text = scenario_text(device, name);
    if (!text) return NOT_SUPPORTED;
    if (strlen(text) >= size) return INSUFFICIENT_SIZE;
    strcpy(out, text);
    return SUCCESS;
}

/* -- the system ------------------------------------------------------------------------------- */

status nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    status refused = follow_rules(__func__, NULL);
    if (!refused) __atomic_add_fetch(&initialized, 1, __ATOMIC_SEQ_CST);
    return refused;
}

status nvmlShutdown(void) {
    ENTER(NULL);
    __atomic_sub_fetch(&initialized, 1, __ATOMIC_SEQ_CST);
    return SUCCESS;
}

const char *nvmlErrorString(status code) {
    static __thread char text[32];
    snprintf(text, sizeof text, "error %d", code);
    return text;
}

status nvmlSystemGetDriverVersion(char *version, unsigned size) {
    ENTER(NULL);
    return read_text(&scenario()->system, "driver", version, size);
}

status nvmlSystemGetNVMLVersion(char *version, unsigned size) {
    ENTER(NULL);
    return read_text(&scenario()->system, "nvml", version, size);
}

status nvmlSystemGetCudaDriverVersion_v2(int *version) {
    ENTER(NULL);
    return read_uint(&scenario()->system, "cuda", (unsigned *)version);
}

status nvmlDeviceGetCount_v2(unsigned *count) {
    ENTER(NULL);
    *count = (unsigned)scenario()->gpus;
    return SUCCESS;
}

status nvmlDeviceGetHandleByIndex_v2(unsigned index, struct device **device) {
    struct device *found = scenario_device((int)index, -1);
    ENTER(found);
    if (!found) return INVALID_ARGUMENT;
    *device = found;
    return SUCCESS;
}

/* -- properties of a GPU ---------------------------------------------------------------------- */

status nvmlDeviceGetIndex(struct device *device, unsigned *index) {
    ENTER(device);
    *index = (unsigned)device->gpu;
    return SUCCESS;
}

status nvmlDeviceGetName(struct device *device, char *name, unsigned size) {
    ENTER(device);
    return read_text(device, "name", name, size);
}

status nvmlDeviceGetUUID(struct device *device, char *uuid, unsigned size) {
    ENTER(device);
    return read_text(device, "uuid", uuid, size);
}

struct pci_info {
    char legacy_id[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char id[32];
};

status nvmlDeviceGetPciInfo_v3(struct device *device, struct pci_info *info) {
    ENTER(device);
    memset(info, 0, sizeof *info);
    return read_text(device, "pci", info->id, sizeof info->id);
}

status nvmlDeviceGetArchitecture(struct device *device, unsigned *architecture) {
    ENTER(device);
    return read_uint(device, "architecture", architecture);
}

status nvmlDeviceGetCudaComputeCapability(struct device *device, int *major, int *minor) {
    ENTER(device);
    unsigned both;
    status refused = read_uint(device, "capability", &both);
    if (refused) return refused;
    *major = (int)both / 10;
    *minor = (int)both % 10;
    return SUCCESS;
}

status nvmlDeviceGetEccMode(struct device *device, unsigned *current, unsigned *pending) {
    ENTER(device);
    status refused = read_uint(device, "ecc_mode", current);
    return refused ? refused : read_uint(device, "ecc_mode", pending);
}

status nvmlDeviceGetTemperatureThreshold(struct device *device, unsigned type, unsigned *celsius) {
    ENTER(device);
    return read_uint(device, type == 0 ? "shutdown" : type == 1 ? "slowdown" : "", celsius);
}

status nvmlDeviceGetMigMode(struct device *device, unsigned *current, unsigned *pending) {
    ENTER(device);
    status refused = read_uint(device, "mig_mode", current);
    return refused ? refused : read_uint(device, "mig_mode", pending);
}

status nvmlDeviceGetMaxMigDeviceCount(struct device *device, unsigned *count) {
    ENTER(device);
    *count = 7;
    return SUCCESS;
}

status nvmlDeviceGetMigDeviceHandleByIndex(struct device *device, unsigned index,
                                           struct device **mig) {
    ENTER(device);
    *mig = scenario_device(device->gpu, (int)index);
    return *mig ? SUCCESS : NOT_FOUND;
}

/* -- values of the moment --------------------------------------------------------------------- */

struct memory {
    unsigned long long total, free, used;
};

struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};

static status read_memory(const struct device *device, struct memory_v2 *memory) {
    status refused = read_ulong_long(device, "memory_total", &memory->total);
    if (refused) return refused;
    refused = read_ulong_long(device, "memory_used", &memory->used);
    if (refused) return refused;
    if (read_ulong_long(device, "memory_reserved", &memory->reserved)) memory->reserved = 0;
    memory->free = memory->total - memory->used - memory->reserved;
    return SUCCESS;
}

status nvmlDeviceGetMemoryInfo(struct device *device, struct memory *memory) {
    ENTER(device);
    struct memory_v2 all;
    status refused = read_memory(device, &all);
    if (refused) return refused;
    *memory = (struct memory){all.total, all.free, all.used + all.reserved};
    return SUCCESS;
}

status nvmlDeviceGetMemoryInfo_v2(struct device *device, struct memory_v2 *memory) {
    ENTER(device);
    if (memory->version != (sizeof *memory | 2u << 24)) return ARGUMENT_VERSION_MISMATCH;
    return read_memory(device, memory);
}

struct utilization {
    unsigned gpu, memory;
};

status nvmlDeviceGetUtilizationRates(struct device *device, struct utilization *percent) {
    ENTER(device);
    status refused = read_uint(device, "utilization_gpu", &percent->gpu);
    return refused ? refused : read_uint(device, "utilization_memory", &percent->memory);
}

static const char *const CLOCKS[] = {"graphics_clock", "sm_clock", "memory_clock"};
static const char *const MOST[] = {"graphics_clock_max", "sm_clock_max", "memory_clock_max"};

status nvmlDeviceGetClockInfo(struct device *device, unsigned type, unsigned *mhz) {
    ENTER(device);
    return type > 2 ? INVALID_ARGUMENT : read_uint(device, CLOCKS[type], mhz);
}

status nvmlDeviceGetMaxClockInfo(struct device *device, unsigned type, unsigned *mhz) {
    ENTER(device);
    return type > 2 ? INVALID_ARGUMENT : read_uint(device, MOST[type], mhz);
}

status nvmlDeviceGetCurrentClocksEventReasons(struct device *device, unsigned long long *mask) {
    ENTER(device);
    return read_ulong_long(device, "reasons", mask);
}

status nvmlDeviceGetCurrentClocksThrottleReasons(struct device *device, unsigned long long *mask) {
    ENTER(device);
    return read_ulong_long(device, "reasons", mask);
}

struct temperature {
    unsigned version, sensor;
    int celsius;
};

status nvmlDeviceGetTemperatureV(struct device *device, struct temperature *temperature) {
    ENTER(device);
    if (temperature->version != (sizeof *temperature | 1u << 24)) return ARGUMENT_VERSION_MISMATCH;
    return read_uint(device, "temperature", (unsigned *)&temperature->celsius);
}

status nvmlDeviceGetTemperature(struct device *device, unsigned sensor, unsigned *celsius) {
    ENTER(device);
    return sensor ? INVALID_ARGUMENT : read_uint(device, "temperature", celsius);
}

status nvmlDeviceGetPowerUsage(struct device *device, unsigned *milliwatts) {
    ENTER(device);
    return read_uint(device, "power", milliwatts);
}

status nvmlDeviceGetEnforcedPowerLimit(struct device *device, unsigned *milliwatts) {
    ENTER(device);
    return read_uint(device, "power_limit", milliwatts);
}

struct process_info {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};

static status read_processes(const struct device *device, unsigned *room,
                             struct process_info *infos) {
    unsigned count = 0, given = *room;
    for (size_t i = 0; i < device->processes.count; i++) {
        const struct named *process = &device->processes.items[i];
        double used = curve_at(&process->curve, scenario_now());
        unsigned pid = process_pid(process);
        if (!pid || used <= 0) continue;
        if (infos && count < given)
            infos[count] = (struct process_info){
                pid, isnan(used) ? ~0ULL : (unsigned long long)used, ~0U, ~0U};
        count++;
    }
    *room = count;
    return count > given ? INSUFFICIENT_SIZE : SUCCESS;
}

status nvmlDeviceGetComputeRunningProcesses_v2(struct device *device, unsigned *count,
                                               struct process_info *processes) {
    ENTER(device);
    return read_processes(device, count, processes);
}

status nvmlDeviceGetComputeRunningProcesses_v3(struct device *device, unsigned *count,
                                               struct process_info *processes) {
    ENTER(device);
    return read_processes(device, count, processes);
}
