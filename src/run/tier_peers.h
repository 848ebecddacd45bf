/* SPDX-License-Identifier: Apache-2.0 */
/* tier_peers.h - the other processes of a cache tier that is divided among all of them:
 * connections, questions, and when all have come. */
#pragma once

#include "hosts/doors.h"
#include "run/slot/slot.h"
#include "run/tier_wire.h"

/*
 * With cache_scope=all the slots of one cache are dealt out to the processes of a job: slot s is
 * that of process s % their number. All of them make all decisions, in the order of the plan, so
 * that each knows who has what; what is asked over TCP are bytes, which are there or not
 * (tier_inside.h).
 *
 * Between two processes there are a few connections, each of which has one question under way at
 * most. A thread that finds none free waits for one.
 */
struct tier_peers;

/* Of one pair, in one direction. */
#define TIER_CONNECTIONS 4u

struct tier_peers_config {
	struct hosts *hosts;
	uint32_t channel; /* that was reserved for it */
	unsigned number;  /* of the job among those of the run */
};

/*
 * Together, before the job's threads start: each can reach each of the others. NULL in *out where
 * nothing is to be asked: the tier is whole, or is played. 0, or -errno with err, alike in all.
 */
int tier_peers_open(struct tier_peers **out, const struct job *job, const struct pass *pass,
		    const struct tier_peers_config *cfg, struct mlgen_err *err);
/* NULL is fine, as it is below; nobody asks any more. */
void tier_peers_free(struct tier_peers *p);

/* Descriptors of both directions, and what listens. */
uint64_t tier_peers_files(const struct job *job);

/*
 * Together, by one thread of each: they answer, and may be asked; nobody asks any more. It waits
 * for all of them; where one of them is gone, failed before it had begun, or has left, it waits for
 * nobody.
 */
void tier_peers_await(struct tier_peers *p);
/* This one never begins: nobody is to wait. */
void tier_peers_leave(struct tier_peers *p);

/* Any thread: questions that are under way end, and so do all that come. */
void tier_peers_cut(struct tier_peers *p);

/* For who answers. */
const struct doors *tier_peers_doors(const struct tier_peers *p);

/*
 * A question, and its answer. Of a slot that is there its pieces come into `memory`, each at its
 * place; of a fill they come from there. What is wrong: -errno with err, which names the host.
 */
int tier_peers_ask(struct tier_peers *p, unsigned rank, const struct tier_ask *ask,
		   unsigned char *memory, struct tier_answer *answer, struct mlgen_err *err);

/* Of who answers, too: bytes of the pieces, UINT64_MAX where one of them lies beyond a slot. */
uint64_t tier_ask_bytes(const struct tier_ask *ask, uint64_t slot_bytes);
