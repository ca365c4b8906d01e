/* The content of a scenario file, and its clock.  The format is described in __init__.py. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct curve {
    bool step;
    size_t count;
    double *seconds, *values;
};

struct named { /* a curve or a text, or a process, whose name is its pid or @FILE */
    char *name;
    char *text;
    struct curve curve;
};

struct list {
    size_t count;
    struct named *items;
};

struct device {
    int gpu, mig; /* mig is -1 for a whole GPU, both are -1 for the system */
    struct list curves, texts, processes;
};

struct event {
    struct device *device;
    double at_s;
    unsigned long long type, data;
};

struct rule { /* a failure or a hang: gpu is -1 for every GPU */
    int gpu;
    char *function;
    int code; /* 0 for a hang */
    double from_s, until_s;
};

struct scenario {
    struct device system;
    size_t devices, events, rules;
    struct device **device;
    struct event *event;
    struct rule *rule;
    int gpus; /* one more than the highest number */
};

/* The scenario, read once; a file that cannot be read ends the process with a message. */
const struct scenario *scenario(void);

/* Seconds on the scenario's clock. */
double scenario_now(void);

/* Writes a line for a call of this function, where the scenario asks for it. */
void scenario_note(const char *function, const struct device *device);

/* NULL where there is none. */
struct device *scenario_device(int gpu, int mig);
const char *scenario_text(const struct device *device, const char *name);
const struct curve *scenario_curve(const struct device *device, const char *name);

double curve_at(const struct curve *curve, double second);
double curve_mean(const struct curve *curve, double from_s, double until_s);

/* The process's number, 0 while its file is not there. */
unsigned process_pid(const struct named *process);
