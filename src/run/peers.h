/* SPDX-License-Identifier: Apache-2.0 */
/* peers.h - what the ranks of one job do together: wait for each other. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "hosts/channels.h"
#include "run/bell.h"

/*
 * The ranks that live in this process wait for each other here; where the job has other processes,
 * the last of them to arrive goes on to wait for those, over a channel of it. `local` is how many
 * ranks live here.
 */
struct peers {
	uint64_t local;
	struct clock *clock;
	struct hosts_channel *channel; /* NULL = there are no others */
	/* Below: under `lock`, which no one holds while waiting. */
	pthread_mutex_t lock;
	uint64_t members, arrived;
	const struct peers_decision *decision; /* of those who have arrived */
	void *arg;
	bool is_sent;               /* to the others that all here have arrived */
	_Atomic uint64_t here_ns;   /* when they had; of the last barrier */
	_Atomic uint32_t round;     /* barriers passed; written under the lock */
	_Atomic uint64_t passed_ns; /* the last of them; written likewise */
	_Atomic bool closed;
	struct bell bell;
};

/*
 * What is decided at a barrier, once in each process, before anyone goes on. vote: by the last here
 * to arrive, who first does what everyone is to find done. apply: with the OR of all votes, which
 * is the same everywhere. Either may be NULL.
 */
struct peers_decision {
	uint64_t (*vote)(void *arg);
	void (*apply)(void *arg, uint64_t votes);
};

void peers_init(struct peers *p, struct clock *clock, uint64_t ranks);
/* Before any of them waits: ranks of other processes are waited for, too, over channel `number` of
 * `hosts` (NULL = there are none). */
void peers_join(struct peers *p, struct hosts *hosts, uint32_t number);
void peers_fini(struct peers *p);

/*
 * Wait for all members. The last to arrive, or who leaves where only he was missing, decides before
 * anyone goes on (NULL = there is nothing to decide), so a decision is taken once and seen by all.
 * Members give the same. 0, or -EPIPE once closed.
 */
int peers_barrier(struct peers *p, const struct peers_decision *decision, void *arg);

/*
 * When the last to arrive opened the barrier that this rank went through last: the same for all of
 * them, however long each took to wake. Before that, those of this process had all arrived at
 * peers_here_ns; where there are no others that is the same time.
 */
uint64_t peers_passed_ns(const struct peers *p);
uint64_t peers_here_ns(const struct peers *p);

/*
 * Between two barriers, by one member in each of several processes: each gets what all of them say
 * (exchange.h). 0, or -EPIPE: closed, here or elsewhere, or a process has left.
 */
int peers_exchange(struct peers *p, const void *mine, size_t n, struct buf *all);

/* This rank is done: barriers wait for one less from now on. */
void peers_leave(struct peers *p);

/* An error: everyone who waits or will wait gets -EPIPE. Any thread. */
void peers_close(struct peers *p);

/* The same by a member who gives up: a round is passed by all of them or by none. Not from a
 * decision. */
void peers_cut(struct peers *p);
