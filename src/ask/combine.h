/* SPDX-License-Identifier: Apache-2.0 */
/* combine.h - two results of one job as one: of clients, or of repetitions. */
#pragma once

#include "report/json_read.h"
#include "run/results.h"

/*
 * Latencies merge exactly, counts and bytes add up. What ran side by side adds
 * its rates, accelerators and demand, lasts as long as the longest, and has its
 * epochs and checkpoints together; what ran one after the other adds its time,
 * epochs and checkpoints, and has the mean of the rates. Percentages are means,
 * weighted by what they are percentages of: utilisation by accelerators. What
 * is of one run alone (published windows, rules, ceilings, slowest ranks) is
 * not known of the whole.
 */
enum combine_how { SIDE_BY_SIDE, ONE_AFTER_THE_OTHER };

/* to += from. New memory comes from the store; `to` keeps pointers into what
 * `from` owns nowhere. Both are of the same kind. */
void combine_jobs(struct json_store *s, struct job_result *to,
		  const struct job_result *from, enum combine_how how);

/* Parts of it, in combine_parts.c. */
struct combine {
	struct json_store *store;
	bool beside;
	double wall_to, wall_from;     /* seconds */
	double weight_to, weight_from; /* the same of all workers together */
};

/* NaN = not known, counts for nothing. */
double combine_mean(double a, double weight_a, double b, double weight_b);
/* Structs that are nothing but doubles. */
void combine_means(void *to, double weight_to, const void *from,
		   double weight_from, size_t bytes);
/* Of rates, of times, of what is there at once, of what happens in turn. */
double combine_rate(const struct combine *c, double a, double b);
double combine_span(const struct combine *c, double a, double b);
uint64_t combine_parts(const struct combine *c, uint64_t a, uint64_t b);
uint64_t combine_turns(const struct combine *c, uint64_t a, uint64_t b);
/* A sum in which UINT64_MAX is not known. */
uint64_t combine_known(uint64_t a, uint64_t b);
void combine_hist(const struct combine *c, struct hist **to,
		  const struct hist *from);
/* The elements of both lists, `most` of them. */
void combine_lists(const struct combine *c, struct metric_list *to,
		   const struct metric_list *from, size_t element_bytes,
		   size_t most);

void combine_ops(const struct combine *c, struct ops_result *to,
		 const struct ops_result *from);
void combine_storage(struct storage_result *to, double bytes_to,
		     const struct storage_result *from, double bytes_from);
void combine_host(const struct combine *c, struct host_result *to,
		  const struct host_result *from);
void combine_network(const struct combine *c, struct network_result *to,
		     const struct network_result *from);
void combine_numa(struct numa_result *to, double weight_to,
		  const struct numa_result *from, double weight_from);
/* combine_checkpoints.c */
void combine_checkpoints(const struct combine *c, struct checkpoints_result *to,
			 const struct checkpoints_result *from);
