/* Reads a scenario; see __init__.py for the format. */
#include "scenario.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static struct scenario read_so_far = {.system = {.gpu = -1, .mig = -1}};
static enum { SINCE_START, SINCE_EPOCH, SINCE_MTIME } clock_kind;
static double clock_zero;
static char *clock_path;
static int notes = -1;
static const char *path = "(no file)";
static int line_number;

static void give_up(const char *what, const char *word) {
    fprintf(stderr, "NVML stand-in: %s, line %d: %s: %s\n", path, line_number, what, word);
    abort();
}

static void *grown(void *items, size_t count, size_t size) {
    void *more = realloc(items, (count + 1) * size);
    if (!more) give_up("no memory", "");
    return more;
}

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* -- words of a line -------------------------------------------------------------------------- */

static char *word(char **rest, const char *what) {
    char *found = strsep(rest, " ");
    if (!found || !*found) give_up("missing", what);
    return found;
}

static double number(char *text, char **end) {
    char *stop;
    errno = 0;
    double value = strtod(text, &stop);
    if (stop == text || (*stop && !end)) give_up("not a number", text);
    if (end) *end = stop;
    return value;
}

static char *kept(const char *text) {
    char *copy = strdup(text);
    if (!copy) give_up("no memory", text);
    return copy;
}

static struct device *device_of(char *text) {
    if (!strcmp(text, "system")) return &read_so_far.system;
    char *end;
    int gpu = (int)number(text, &end), mig = *end == '/' ? (int)number(end + 1, NULL) : -1;
    struct device *found = scenario_device(gpu, mig);
    if (found) return found;
    found = calloc(1, sizeof *found);
    if (!found) give_up("no memory", text);
    found->gpu = gpu;
    found->mig = mig;
    read_so_far.device = grown(read_so_far.device, read_so_far.devices, sizeof found);
    read_so_far.device[read_so_far.devices++] = found;
    if (gpu >= read_so_far.gpus) read_so_far.gpus = gpu + 1;
    return found;
}

static struct named *added(struct list *list, const char *name) {
    list->items = grown(list->items, list->count, sizeof *list->items);
    struct named *item = &list->items[list->count++];
    *item = (struct named){.name = kept(name)};
    return item;
}

static struct curve curve_of(char **rest) {
    const char *shape = word(rest, "shape");
    struct curve curve = {.step = !strcmp(shape, "step")};
    if (!curve.step && strcmp(shape, "linear")) give_up("neither step nor linear", shape);
    while (*rest && **rest) {
        char *end, *point = word(rest, "point");
        curve.seconds = grown(curve.seconds, curve.count, sizeof *curve.seconds);
        curve.values = grown(curve.values, curve.count, sizeof *curve.values);
        curve.seconds[curve.count] = number(point, &end);
        if (*end != ':') give_up("not SECOND:VALUE", point);
        curve.values[curve.count++] = number(end + 1, NULL);
    }
    if (!curve.count) give_up("a curve without points", shape);
    return curve;
}

static void read_clock(char **rest) {
    const char *kind = word(rest, "clock");
    if (!strcmp(kind, "epoch")) {
        clock_kind = SINCE_EPOCH;
        clock_zero = number(word(rest, "epoch"), NULL);
    } else if (!strcmp(kind, "mtime")) {
        clock_kind = SINCE_MTIME;
        clock_path = kept(word(rest, "file"));
    } else if (strcmp(kind, "start")) {
        give_up("no such clock", kind);
    }
}

static void read_rule(char **rest, bool hangs) {
    read_so_far.rule = grown(read_so_far.rule, read_so_far.rules, sizeof *read_so_far.rule);
    struct rule *rule = &read_so_far.rule[read_so_far.rules++];
    char *gpu = word(rest, "device");
    rule->gpu = strcmp(gpu, "*") ? (int)number(gpu, NULL) : -1;
    rule->function = kept(word(rest, "function"));
    rule->code = hangs ? 0 : (int)number(word(rest, "code"), NULL);
    rule->from_s = number(word(rest, "from"), NULL);
    rule->until_s = number(word(rest, "until"), NULL);
}

static void read_event(char **rest) {
    read_so_far.event = grown(read_so_far.event, read_so_far.events, sizeof *read_so_far.event);
    struct event *event = &read_so_far.event[read_so_far.events++];
    event->device = device_of(word(rest, "device"));
    event->at_s = number(word(rest, "second"), NULL);
    event->type = (unsigned long long)number(word(rest, "type"), NULL);
    event->data = (unsigned long long)number(word(rest, "data"), NULL);
}

static void read_line(char *line) {
    char *rest = line, *kind = word(&rest, "statement");
    if (!strcmp(kind, "clock")) {
        read_clock(&rest);
    } else if (!strcmp(kind, "calls")) {
        notes = open(word(&rest, "file"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
        if (notes < 0) give_up(strerror(errno), line);
    } else if (!strcmp(kind, "text")) {
        struct device *device = device_of(word(&rest, "device"));
        struct named *text = added(&device->texts, word(&rest, "name"));
        text->text = kept(rest ? rest : "");
    } else if (!strcmp(kind, "curve")) {
        struct device *device = device_of(word(&rest, "device"));
        struct named *curve = added(&device->curves, word(&rest, "name"));
        curve->curve = curve_of(&rest);
    } else if (!strcmp(kind, "process")) {
        struct device *device = device_of(word(&rest, "device"));
        struct named *process = added(&device->processes, word(&rest, "pid"));
        process->curve = curve_of(&rest);
    } else if (!strcmp(kind, "event")) {
        read_event(&rest);
    } else if (!strcmp(kind, "fails") || !strcmp(kind, "hangs")) {
        read_rule(&rest, *kind == 'h');
    } else {
        give_up("no such statement", kind);
    }
}

static void read_all(void) {
    clock_zero = seconds_of(CLOCK_MONOTONIC);
    const char *named = getenv("STANDIN_NVML_SCENARIO");
    if (!named) give_up("unset", "STANDIN_NVML_SCENARIO");
    path = kept(named);
    FILE *file = fopen(path, "r");
    if (!file) give_up("cannot be read", strerror(errno));
    char *line = NULL;
    size_t size = 0;
    for (line_number = 1; getline(&line, &size, file) >= 0; line_number++) {
        line[strcspn(line, "\n")] = 0;
        if (*line && *line != '#') read_line(line);
    }
    free(line);
    fclose(file);
}

const struct scenario *scenario(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_all);
    return &read_so_far;
}

/* -- the content and the clock --------------------------------------------------------------- */

double scenario_now(void) {
    scenario();
    struct stat status;
    switch (clock_kind) {
    case SINCE_EPOCH:
        return seconds_of(CLOCK_REALTIME) - clock_zero;
    case SINCE_MTIME:
        if (stat(clock_path, &status)) return 0;
        return seconds_of(CLOCK_REALTIME) - (double)status.st_mtim.tv_sec -
               1e-9 * (double)status.st_mtim.tv_nsec;
    default:
        return seconds_of(CLOCK_MONOTONIC) - clock_zero;
    }
}

void scenario_note(const char *function, const struct device *device) {
    scenario();
    if (notes < 0) return;
    char line[128];
    int length = snprintf(line, sizeof line, "%s %d\n", function, device ? device->gpu : -1);
    if (write(notes, line, (size_t)length) != length) give_up("cannot be written", "calls");
}

struct device *scenario_device(int gpu, int mig) {
    for (size_t i = 0; i < read_so_far.devices; i++) {
        struct device *device = read_so_far.device[i];
        if (device->gpu == gpu && device->mig == mig) return device;
    }
    return NULL;
}

static const struct named *find(const struct list *list, const char *name) {
    for (size_t i = 0; i < list->count; i++)
        if (!strcmp(list->items[i].name, name)) return &list->items[i];
    return NULL;
}

const char *scenario_text(const struct device *device, const char *name) {
    const struct named *found = find(&device->texts, name);
    return found ? found->text : NULL;
}

const struct curve *scenario_curve(const struct device *device, const char *name) {
    const struct named *found = find(&device->curves, name);
    return found ? &found->curve : NULL;
}

double curve_at(const struct curve *curve, double second) {
    const double *seconds = curve->seconds, *values = curve->values;
    size_t next = 0;
    while (next < curve->count && seconds[next] <= second) next++;
    if (!next) return values[0];
    if (next == curve->count || curve->step) return values[next - 1];
    double part = (second - seconds[next - 1]) / (seconds[next] - seconds[next - 1]);
    return values[next - 1] + part * (values[next] - values[next - 1]);
}

double curve_mean(const struct curve *curve, double from_s, double until_s) {
    double area = 0, at = from_s;
    if (until_s <= from_s) return curve_at(curve, from_s);
    while (at < until_s) { /* between two points the middle is the mean */
        double next = until_s;
        for (size_t i = 0; i < curve->count; i++)
            if (curve->seconds[i] > at && curve->seconds[i] < next) next = curve->seconds[i];
        area += (next - at) * curve_at(curve, (at + next) / 2);
        at = next;
    }
    return area / (until_s - from_s);
}

unsigned process_pid(const struct named *process) {
    if (*process->name != '@') return (unsigned)strtoul(process->name, NULL, 10);
    unsigned pid = 0;
    FILE *file = fopen(process->name + 1, "r");
    if (file) {
        if (fscanf(file, "%u", &pid) != 1) pid = 0;
        fclose(file);
    }
    return pid;
}
