/* SPDX-License-Identifier: Apache-2.0 */
/* star_rig.h - processes of a job that are played by threads, and meet over loopback. */
#pragma once

#include <check.h>
#include <pthread.h>
#include <string.h>

#include "hosts/hosts_internal.h"

#define RANKS 4

/* In the place of MPI: threads that exchange through memory. */
static _Thread_local unsigned own_rank;
static pthread_barrier_t all_there;
static char shared[RANKS][sizeof(struct hello)];

static inline int exchange(const void *mine, size_t n, void *all)
{
	memcpy(shared[own_rank], mine, n);
	pthread_barrier_wait(&all_there);
	for (unsigned i = 0; i < RANKS; i++)
		memcpy((char *)all + i * n, shared[i], n);
	pthread_barrier_wait(&all_there);
	return 0;
}

static inline void end(void)
{
}

static const struct hosts_mpi threads_mpi = {
	.abi = HOSTS_MPI_ABI, .name = "threads", .exchange = exchange, .end = end
};

struct member {
	unsigned rank;
	void (*does)(struct member *m);
	struct hosts *hosts;
	struct mlgen_err err;
	const char *version;
	int met;
};

static inline void *member_main(void *arg)
{
	struct member *m = arg;
	const struct hosts_config cfg = { .version = m->version };

	own_rank = m->rank;
	m->met = hosts_meet_through(&m->hosts, &threads_mpi, m->rank, RANKS, &cfg, &m->err);
	if (m->met == 0) {
		m->does(m);
		hosts_finish(m->hosts);
	}
	return NULL;
}

static inline void run_members(struct member *m, void (*does)(struct member *m))
{
	pthread_t threads[RANKS];

	pthread_barrier_init(&all_there, NULL, RANKS);
	for (unsigned i = 0; i < RANKS; i++) {
		if (!m[i].version)
			m[i].version = "1";
		m[i].rank = i;
		m[i].does = does;
		pthread_create(&threads[i], NULL, member_main, &m[i]);
	}
	for (unsigned i = 0; i < RANKS; i++)
		pthread_join(threads[i], NULL);
	pthread_barrier_destroy(&all_there);
}
