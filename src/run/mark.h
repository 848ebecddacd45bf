/* SPDX-License-Identifier: Apache-2.0 */
/* mark.h - this host at one time, and what it did between two: figures around the work of a
 * record. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "io/energy.h"
#include "io/host.h"
#include "io/memsource.h"
#include "io/netif.h"
#include "io/noise.h"

/* Counters of this host at one end of a window. */
struct mark {
	uint64_t ns; /* of the run's clock; 0 = it was not reached */
	struct host_cpu cpu;
	struct noise_counts noise;
	uint64_t received_bytes; /* by the interface; UINT64_MAX = unknown */
	/* What storage had delivered (read_bytes UINT64_MAX = unknown), and what the jobs that it
	 * counts had read. */
	struct memsource_count storage;
	uint64_t jobs_read_bytes;
	struct energy_counts energy;
};

/*
 * The ends of a record's window. All that they hold counts on for the whole host, so that the
 * window of several records is as exact as that of one: from the first of their beginnings to the
 * last of their ends. A zeroed struct is none.
 */
struct marks {
	struct mark begin, end;
	uint64_t zero_ns;    /* when the jobs of the group began to prepare */
	bool is_behind_ramp; /* the beginning is the end of ramp_time */
	/* Whose bytes are counted; borrowed; NULL = nobody's, or of several records not the
	 * same. */
	const struct netif *network;
	const struct memsource *storage;
	double mhz_sum; /* of so many looks */
	uint64_t mhz_looks;
};

/* From one to the other; 0 = it never began, or was over before. */
uint64_t marks_ns(const struct marks *m);

/* The window of both. */
void marks_join(struct marks *to, const struct marks *from);

/* The figures of a record. What cannot be told is NaN, UINT64_MAX or NULL. */
struct window_result;
struct host_result;
struct network_result;
struct storage_result;
void marks_window(struct window_result *w, const struct marks *m);
struct energy_result;
struct thread_cpu_result;
/* All but oversleep_ns, which stays. */
void marks_host(struct host_result *h, const struct marks *m);
void marks_network(struct network_result *n, const struct marks *m);
/* What was delivered, what was read meanwhile, and its share from memory; false = nobody tells, and
 * nothing is changed. */
bool marks_storage(struct storage_result *st, const struct marks *m);
/* Also of each GiB of `bytes`, and of each sample; 0 = there are none. */
void marks_energy(struct energy_result *e, const struct marks *m, uint64_t bytes, uint64_t samples);
/* What the process had beside the threads whose CPU time is in it. */
void marks_other_cpu(struct thread_cpu_result *t, const struct marks *m);
