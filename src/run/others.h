/* SPDX-License-Identifier: Apache-2.0 */
/* others.h - looks at what the other processes of a job do, for rank 0. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "hosts/hosts.h"
#include "run/watch/watch.h"

struct run;

/*
 * Rank 0 asks (hosts/survey.h), and each of the others looks at its jobs and its host, on a thread
 * of its own; what it says stays until it says more, so nothing goes backwards where a process is
 * gone. With NULL there are no others, and nothing is added.
 */
struct others;

/* Of run_new and run_free; `number` is a channel's, `cpus` those that this process may use. NULL
 * with hosts NULL. */
struct others *others_new(const struct run *run, size_t jobs, struct hosts *hosts, uint32_t number,
			  uint64_t cpus);
void others_free(struct others *o);
/* The jobs of this process are over: the last look of it is said. */
void others_end(struct others *o);

/* ---- rank 0; any thread ---- */

/* A new look at all: what has not come after 300 ms is as it was. */
void others_ask(struct others *o);

/* What the others did in a job is added to a look of rank 0 at it. */
void others_add(struct others *o, size_t job, struct live *to);

/* Their hosts are added to a look at this one: memory and switches of all processes; page cache and
 * network of all hosts; CPUs as a mean of theirs. */
void others_add_hosts(struct others *o, struct live_host *to);

/* Is anybody of the others still at work? */
bool others_work(struct others *o);

/* So many processes there are: 1 with NULL. */
unsigned others_total(const struct others *o);
const char *others_host_name(const struct others *o, unsigned rank);

/* A look of one of them, in the place of `to`, whose histograms are filled. False: nothing is known
 * of it yet. */
bool others_look(struct others *o, unsigned rank, size_t job, struct live *to);

/* Likewise of its host, if it is the first process on it, with the memory and the switches of all
 * processes there; of rank 0's they are added to its own. */
bool others_look_host(struct others *o, unsigned rank, struct live_host *to);
