/* SPDX-License-Identifier: Apache-2.0 */
/* collect.h - from what threads counted to the figures of a report. */
#pragma once

#include "run/result/result.h"
#include "run/slot.h"

/* Fill a record of one job; its activity does what is its own. Histograms stay the slot's. */
void collect_job(struct job_result *out, size_t record, struct slot *s);

/* For the activities: parts of a record. */
void collect_workers(struct slot *s); /* into s->total */
void collect_direction(struct direction_result *d, const struct rate_set *rates, struct opstat *t,
		       unsigned which);
void collect_ops(struct ops_result *ops, struct opstat *t);
void collect_worker_time(struct loader_percent *p, const struct opstat *t);
void collect_depths(struct depth_result *d, const struct opstat *t);
void collect_usage(struct job_result *out, const struct usage *u);
/* CPU time of so much; the other roles have none. */
void collect_worker_cpu(struct thread_cpu_result *t, const struct usage *u);
void collect_storage(struct storage_result *st, struct slot *s, char *directory);
void collect_slowest(struct storage_result *st, const struct opstat *t);
/* The window of a record, which has its kind, what was read and written, its samples and the CPU
 * time of its workers: host, network, energy and, behind collect_storage, what storage
 * delivered. */
void collect_around(struct job_result *out, const struct slot *s, size_t record);
void collect_numa(struct numa_result *n, const struct slot *s);
/* The first of the errors that n workers, from number `first` on, counted. */
void collect_first_error(struct failed_result *f, const struct slot *s, uint64_t first, uint64_t n);
const char *collect_in_use(const struct slot *s);
