/* SPDX-License-Identifier: Apache-2.0 */
/* noise.c - see noise.h; the kernel's proc.rst, cgroup-v2.rst, accounting/psi.rst. */
#include "io/noise.h"

#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "io/cgroup.h"
#include "io/sysfile.h"

#define CPUS_MAX 8192u /* NR_CPUS of the largest kernels */
#define CLOCKS_READ 8u /* each may interrupt its CPU */
#define CPU_FILES "/sys/devices/system/cpu/cpu%u/"

/*
 * Limits of what is worth a line. Reports give AU to a tenth of a percent, and epochs of an
 * undisturbed run differ by up to about a percent.
 */
#define STEAL_LEAST 1.0     /* each thread is late by so much of its time */
#define THROTTLED_LEAST 1.0 /* whoever is throttled stands still */
#define MEMORY_LEAST 1.0    /* whoever waits for memory stands still */
/* Others matter where CPUs are scarce: else they run beside us. */
#define OTHER_LEAST 5.0
#define OTHER_BUSY 80.0     /* as busy, threads begin to wait for a CPU */
#define OTHER_PRESSURE 10.0 /* and so often someone did */

struct cpus {
	cpu_set_t set;
	unsigned char rest[CPUS_MAX / 8 - sizeof(cpu_set_t)];
	bool are_all; /* of a test's tree */
};

/* Of the main thread: workers may have bound themselves already. */
static void read_allowed(struct cpus *c, const char *root)
{
	memset(c, 0, sizeof(*c));
	c->are_all = root[0] || sched_getaffinity(getpid(), CPUS_MAX / 8, &c->set) < 0;
}

static bool may_use(const struct cpus *c, unsigned cpu)
{
	const unsigned char *bytes = (const unsigned char *)c;

	return cpu < CPUS_MAX && (c->are_all || (bytes[cpu / 8] >> (cpu % 8)) & 1);
}

/* What adds up over CPUs and groups begins as unknown. */
static void noise_add(uint64_t *to, uint64_t n)
{
	*to = *to == UINT64_MAX ? n : *to + n;
}

static void add_hot(struct noise_counts *c, const char *root, unsigned cpu)
{
	char path[128];
	uint64_t n;

	snprintf(path, sizeof(path), CPU_FILES "thermal_throttle/core_throttle_count", cpu);
	if (sysfile_u64(&n, root, path) == 0)
		noise_add(&c->hot, n);
}

/* "cpu3 user nice system idle iowait irq softirq steal guest guest_nice" in ticks; user has guest
 * in it. */
static void add_cpu(struct noise_counts *c, const struct cpus *allowed, const char *root,
		    const char *line, uint64_t tick_ns)
{
	uint64_t t[10] = { 0 };
	unsigned cpu;

	/* The sum of all has a blank there, which %u would skip. */
	if (line[3] == ' ')
		return;
	if (sscanf(line,
		   "cpu%u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &cpu, &t[0], &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7], &t[8],
		   &t[9]) < 9 ||
	    !may_use(allowed, cpu))
		return;
	c->cpus++;
	noise_add(&c->program_ns, (t[0] + t[1] + t[2]) * tick_ns);
	noise_add(&c->busy_ns, (t[0] + t[1] + t[2] + t[5] + t[6] + t[7]) * tick_ns);
	noise_add(&c->steal_ns, t[7] * tick_ns);
	noise_add(&c->guest_ns, (t[8] + t[9]) * tick_ns);
	add_hot(c, root, cpu);
}

static void read_cpus(struct noise_counts *c, const char *root)
{
	long hz = sysconf(_SC_CLK_TCK);
	uint64_t tick_ns = 1000000000u / (uint64_t)(hz > 0 ? hz : 100);
	struct cpus allowed;
	char path[PATH_MAX], line[512];
	FILE *f;

	read_allowed(&allowed, root);
	snprintf(path, sizeof(path), "%s/proc/stat", root);
	f = fopen(path, "re");
	if (!f)
		return;
	/* The lines of the CPUs stand first. */
	while (fgets(line, sizeof(line), f) && strncmp(line, "cpu", 3) == 0)
		add_cpu(c, &allowed, root, line, tick_ns);
	fclose(f);
}

static void see_quota(void *arg, const char *root, const char *dir, bool is_v2)
{
	struct noise_counts *c = arg;
	char path[CGROUP_PATH_BYTES];
	uint64_t n, time;

	snprintf(path, sizeof(path), "%.*s/cpu.stat", CGROUP_PATH_BYTES - 16, dir);
	if (sysfile_keyed(&n, root, path, "nr_throttled") ||
	    sysfile_keyed(&time, root, path, is_v2 ? "throttled_usec" : "throttled_time"))
		return;
	noise_add(&c->throttled, n);
	noise_add(&c->throttled_ns, is_v2 ? time * 1000 : time);
}

/* "some avg10=0.00 avg60=0.00 avg300=0.00 total=12345", in microseconds. */
static uint64_t pressure_ns(const char *root, const char *path)
{
	char line[160];
	const char *total;
	uint64_t us;

	if (sysfile_line(line, sizeof(line), root, path) || strncmp(line, "some ", 5) != 0)
		return UINT64_MAX;
	total = strstr(line, " total=");
	if (!total || sscanf(total, " total=%" SCNu64, &us) != 1)
		return UINT64_MAX;
	return us * 1000;
}

void noise_read(struct noise_counts *c, const char *root)
{
	const uint64_t none = UINT64_MAX;

	*c = (struct noise_counts){ 0, none, none, none, none, none, none, none, none, none, none };
	read_cpus(c, root);
	cgroup_walk(root, "cpu", see_quota, c);
	c->waits_cpu_ns = pressure_ns(root, "/proc/pressure/cpu");
	c->waits_io_ns = pressure_ns(root, "/proc/pressure/io");
	c->waits_memory_ns = pressure_ns(root, "/proc/pressure/memory");
}

static bool clock_khz(uint64_t *khz, const char *root, unsigned cpu, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), CPU_FILES "cpufreq/%s", cpu, name);
	return sysfile_u64(khz, root, path) == 0;
}

double noise_clock_mhz(const char *root)
{
	struct cpus allowed;
	unsigned found = 0, misses = 0;
	uint64_t khz, sum = 0;

	read_allowed(&allowed, root);
	for (unsigned cpu = 0; cpu < CPUS_MAX && found < CLOCKS_READ && misses < CLOCKS_READ;
	     cpu++) {
		if (!may_use(&allowed, cpu))
			continue;
		if (clock_khz(&khz, root, cpu, "scaling_cur_freq")) {
			sum += khz;
			found++;
		} else {
			misses++;
		}
	}
	return found ? (double)sum / found / 1000 : (double)NAN;
}

double noise_most_mhz(const char *root)
{
	uint64_t khz;

	return clock_khz(&khz, root, 0, "cpuinfo_max_freq") ? (double)khz / 1000 : (double)NAN;
}

static bool noise_is_known(uint64_t before, uint64_t after)
{
	return before != UINT64_MAX && after != UINT64_MAX && after >= before;
}

static double percent(uint64_t before, uint64_t after, double whole_ns)
{
	if (!noise_is_known(before, after) || !(whole_ns > 0))
		return (double)NAN;
	return fmin(100 * (double)(after - before) / whole_ns, 100);
}

static uint64_t difference(uint64_t before, uint64_t after)
{
	return noise_is_known(before, after) ? after - before : UINT64_MAX;
}

void noise_between(struct noise *n, const struct noise_counts *before,
		   const struct noise_counts *after, double wall_ns, double own_ns)
{
	const struct noise_counts *a = before, *b = after;
	double cpus_ns = wall_ns * (double)b->cpus;

	*n = (struct noise){
		.steal_percent = percent(a->steal_ns, b->steal_ns, cpus_ns),
		.guest_percent = percent(a->guest_ns, b->guest_ns, cpus_ns),
		.other_percent = percent(a->program_ns, b->program_ns, cpus_ns),
		.busy_percent = percent(a->busy_ns, b->busy_ns, cpus_ns),
		.throttled = difference(a->throttled, b->throttled),
		.throttled_percent = percent(a->throttled_ns, b->throttled_ns, wall_ns),
		.hot = difference(a->hot, b->hot),
		.pressure_cpu_percent = percent(a->waits_cpu_ns, b->waits_cpu_ns, wall_ns),
		.pressure_io_percent = percent(a->waits_io_ns, b->waits_io_ns, wall_ns),
		.pressure_memory_percent = percent(a->waits_memory_ns, b->waits_memory_ns, wall_ns),
		.clock_mhz = (double)NAN,
		.most_mhz = (double)NAN,
	};
	/* Ticks of 10 ms: a little below zero is nothing. */
	if (!isnan(n->other_percent))
		n->other_percent = fmax(n->other_percent - 100 * own_ns / cpus_ns, 0);
}

unsigned noise_touches(const struct noise *n, double cpu_percent)
{
	unsigned kinds = 0;
	double busy = isnan(n->busy_percent) ? cpu_percent : n->busy_percent;

	if (n->steal_percent >= STEAL_LEAST)
		kinds |= NOISE_STEAL;
	if (n->other_percent >= OTHER_LEAST &&
	    (busy >= OTHER_BUSY || n->pressure_cpu_percent >= OTHER_PRESSURE))
		kinds |= NOISE_OTHER;
	if (n->throttled_percent >= THROTTLED_LEAST)
		kinds |= NOISE_THROTTLED;
	if (n->hot != UINT64_MAX && n->hot > 0)
		kinds |= NOISE_HOT;
	if (n->pressure_memory_percent >= MEMORY_LEAST)
		kinds |= NOISE_MEMORY;
	return kinds;
}
