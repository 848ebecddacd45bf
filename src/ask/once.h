/* SPDX-License-Identifier: Apache-2.0 */
/* once.h - what a host has once, of which each of its processes has counted all, in the merged
 * report of a job. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "run/results.h"

/* Of the ranks of one host, and of a job: what they all counted is the most of it, what each knows
 * its part of is a sum. Zeroed at first. */
struct once {
	bool is_there;
	double cpu_percent, user_percent, system_percent;
	double network_percent, received_bits_per_sec;
	/* UINT64_MAX: of one it is not known. */
	uint64_t device_read_bytes, device_reads, received_bytes, line_rate;
	/* Of those that have saved checkpoints: what each found dirty, and at most what it had
	 * written. */
	bool has_saved;
	uint64_t dirty_bytes, in_memory_bytes;
};

/* One more process of the host. */
void once_add(struct once *o, const struct job_result *r);

/* Of all hosts, `step` apart: sums of what they have, means of their percents. */
struct once once_total(const struct once *hosts, size_t count, size_t step);

/* Takes the place of what the processes' results have added up to. */
void once_put(const struct once *total, struct job_result *to);
