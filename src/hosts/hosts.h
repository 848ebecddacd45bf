/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.h - the processes of one job on several hosts: who they are, and what they tell each
 * other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"

/*
 * A launcher (mpirun, srun) starts the same program several times; each of the processes has a
 * rank, and those with the same boot id and the same host name are on one host. NULL stands for a
 * process that nobody started so: it is rank 0 of 1, the first on its host, and everything below is
 * done with it, too, at once and without a system call. So nobody asks whether there are others.
 *
 * What says `together` is called by all processes, in the same order, by one thread at a time of
 * each (the main thread, or the conductor that it waits for). It sleeps until the others have come.
 *
 * Death: where a process ends, hangs or cannot be reached any more, what is done together gives
 * -EPIPE in all others from then on, with err saying which host it was and what it last did; but
 * for hosts_gather, which goes on with those that are left while rank 0 is. Where rank 0 is the one
 * that is gone, that, too, gives -EPIPE.
 */
struct hosts;

unsigned hosts_rank(const struct hosts *h);
unsigned hosts_total(const struct hosts *h); /* processes */

/* Hosts are numbered from 0 in the order of the first rank on each. */
unsigned hosts_count(const struct hosts *h);
unsigned hosts_host_of(const struct hosts *h, unsigned rank);
/* As uname says it; "" of a process alone. */
const char *hosts_name(const struct hosts *h, unsigned rank);
/* Is this process the first on its host? What a host has once (its page cache, its counters) is its
 * to drop and to count. */
bool hosts_is_first_here(const struct hosts *h);
bool hosts_is_first_on_host(const struct hosts *h, unsigned rank);

/* How far the clock of a process (of its time of day) was ahead of rank 0's when they met;
 * unsure_ns: give or take that. */
int64_t hosts_clock_offset_ns(const struct hosts *h, unsigned rank, uint64_t *unsure_ns);

/* Together: the OR of what all of them say. 0, or -EPIPE with err. */
int hosts_vote(struct hosts *h, uint64_t mine, uint64_t *all, struct mlgen_err *err);
/* Together: nobody goes on before all have come. 0, or -EPIPE with err. */
int hosts_barrier(struct hosts *h, struct mlgen_err *err);

/*
 * Together: rank 0 gets the n bytes of each in `all`, which it reads with hosts_part; the others
 * get nothing and need not wait (all may be NULL there). 0, or -EPIPE with err.
 */
int hosts_gather(struct hosts *h, const void *mine, size_t n, struct buf *all,
		 struct mlgen_err *err);
/* What came from a rank; NULL: nothing, for it is gone. */
const char *hosts_part(const struct buf *all, unsigned rank, size_t *n);

/* Together: what is in the buffer of rank 0 is then in that of all. 0, or -EPIPE with err. */
int hosts_share(struct hosts *h, struct buf *b, struct mlgen_err *err);
/* The same on each host, from the first process there: by way of rank 0. */
int hosts_share_here(struct hosts *h, struct buf *b, struct mlgen_err *err);

/*
 * Together: each gives what something came to for it, 0 or -errno with err. Where any has failed,
 * all get the error of the lowest rank that has, which names its host in all others, and its code.
 * 0: it went well everywhere.
 */
int hosts_agree(struct hosts *h, int rc, struct mlgen_err *err);

/* ---- while it works ---- */

/* What this process does now, as in "preparing its files": where it dies, the others say so. */
void hosts_doing(struct hosts *h, const char *what);

/* All are to end: a process was interrupted, failed, or is gone. */
struct hosts_news {
	bool is_interrupted, is_death;
	struct mlgen_err err; /* of the two others: what happened, and where */
};

/* Called by a thread of its own. Of a death that was before: at once. With NULL nobody is called
 * any more, once this has returned. */
typedef void hosts_hear(void *arg, const struct hosts_news *news);
void hosts_watch(struct hosts *h, hosts_hear *hear, void *arg);

/* This process is ending, because of `err`, or of an interruption (NULL): the others hear it. Any
 * thread. */
void hosts_tell(struct hosts *h, const struct mlgen_err *err);

/* Is anyone gone? Any thread. */
bool hosts_is_lost(struct hosts *h);
