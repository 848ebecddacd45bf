/* SPDX-License-Identifier: Apache-2.0 */
/* noise.h - what else this machine did meanwhile: other processes, a hypervisor, quotas, heat. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * Counters since boot, of the CPUs that this process may use; UINT64_MAX = this machine does not
 * tell. `root` is "" for this machine; tests put a tree there, whose CPUs are all allowed.
 */
struct noise_counts {
	uint64_t cpus;
	uint64_t steal_ns, guest_ns;
	uint64_t program_ns;              /* of all processes, the kernel's own too */
	uint64_t busy_ns;                 /* that, interrupts and what was stolen */
	uint64_t throttled, throttled_ns; /* by quotas of our groups */
	uint64_t hot;                     /* times that heat slowed a CPU */
	uint64_t waits_cpu_ns, waits_io_ns, waits_memory_ns; /* pressure */
};

void noise_read(struct noise_counts *c, const char *root);

/* Mean clock of up to eight of these CPUs now, and the highest they have, in MHz; NaN = unknown. A
 * busy host's tells something, an idle one's does not. */
double noise_clock_mhz(const char *root);
double noise_most_mhz(const char *root);

/* Between two of them. NaN and UINT64_MAX = unknown. */
struct noise {
	double steal_percent; /* of the CPUs' time, as all but pressure */
	double guest_percent; /* for virtual machines of this host */
	/* Neither mlgen nor interrupts: other processes, threads of the kernel. Guests are in
	 * it. */
	double other_percent;
	/* By anyone, this process included; a quota changes nothing of it. */
	double busy_percent;
	uint64_t throttled;
	double throttled_percent; /* of the time, summed over CPUs */
	uint64_t hot;
	/* Percent of the time in which someone waited for it, of anyone. */
	double pressure_cpu_percent, pressure_io_percent, pressure_memory_percent;
	double clock_mhz, most_mhz; /* filled by whoever looked meanwhile */
};

/* `own_ns`: CPU time of this process in these `wall_ns`. */
void noise_between(struct noise *n, const struct noise_counts *before,
		   const struct noise_counts *after, double wall_ns, double own_ns);

/*
 * Which of it touches a result, each with a limit below which it cannot move a figure by more than
 * other runs of the same job do: see noise.c.
 */
enum noise_kind {
	NOISE_STEAL = 1,
	NOISE_OTHER = 2,
	NOISE_THROTTLED = 4,
	NOISE_HOT = 8,
	NOISE_MEMORY = 16,
};
/* `cpu_percent`: how busy the allowed CPUs were, where the noise does not know it (an older
 * program's documents); NaN = unknown. */
unsigned noise_touches(const struct noise *n, double cpu_percent);
