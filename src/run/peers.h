/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h - what the ranks of one job do together: wait for each other. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "run/bell.h"

/*
 * Ranks are numbered globally: `first` is the first that lives in this
 * process, `local` how many do, `total` how many there are in all. Here all
 * are local; several nodes will be another implementation of these functions.
 */
struct peers {
	uint64_t first, local, total;
	struct clock *clock;
	/* Below: under `lock`, which no one holds while waiting. */
	pthread_mutex_t lock;
	uint64_t members, arrived;
	void (*decide)(void *arg); /* of those who have arrived */
	void *arg;
	_Atomic uint32_t round; /* barriers passed; written under the lock */
	_Atomic uint64_t passed_ns; /* the last of them; written likewise */
	_Atomic bool closed;
	struct bell bell;
};

void peers_init(struct peers *p, struct clock *clock, uint64_t ranks);
void peers_fini(struct peers *p);

/*
 * Wait for all members. The last to arrive, or who leaves where only he was
 * missing, calls decide(arg) before anyone goes on, so a decision is taken once
 * and seen by all. Members give the same. 0, or -EPIPE once closed.
 */
int peers_barrier(struct peers *p, void (*decide)(void *arg), void *arg);

/*
 * When the last to arrive opened the barrier that this rank went through last:
 * the same for all of them, however long each took to wake.
 */
uint64_t peers_passed_ns(const struct peers *p);

/* This rank is done: barriers wait for one less from now on. */
void peers_leave(struct peers *p);

/* An error: everyone who waits or will wait gets -EPIPE. Any thread. */
void peers_close(struct peers *p);

/* The same by a member who gives up: a round is passed by all of them or by
 * none. Not from decide(). */
void peers_cut(struct peers *p);
