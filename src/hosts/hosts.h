/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.h - the processes of one job on several hosts: how they meet, and what they tell each
 * other. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "hosts/mpi_plugin.h"

/* ---- the processes of one job on several hosts: who they are, and what they tell each other ----
 */

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

/* ---- barriers of all processes that may be under way side by side, each with a vote ---- */

/*
 * Each job of a run has its own barriers, and jobs run side by side; so each has a channel. At a
 * barrier of it every process arrives once, with votes; when all have, each is called with the OR
 * of these. That costs one message to rank 0 and one from it for each process.
 */
struct hosts_channel;

/* What a process is told: by the thread that receives, or in rank 0 by the one that arrives; one
 * call of a channel at a time, in the same order everywhere. */
struct hosts_waiter {
	void (*passed)(void *arg, uint64_t votes);
	void (*closed)(void *arg); /* once: none is passed any more */
};

/* So many numbers that no channel has yet: the first of them. All processes reserve alike. */
uint32_t hosts_reserve(struct hosts *h, uint32_t count);

/* Open one here; others may have come to it already. Never NULL. */
struct hosts_channel *hosts_open(struct hosts *h, uint32_t number,
				 const struct hosts_waiter *waiter, void *arg);
/* It is not opened here: nobody is to wait for this process. */
void hosts_refuse(struct hosts *h, uint32_t number);
/* No call comes once this has returned. NULL is fine. */
void hosts_shut(struct hosts_channel *c);

/* With no lock held that a waiter takes. */
void hosts_arrive(struct hosts_channel *c, uint64_t votes);
/* It comes no more: barriers wait for one less. */
void hosts_leave(struct hosts_channel *c);
/* Nobody is to wait any more; a barrier is passed by all or by none, so what counts is when rank 0
 * hears of it. Any thread, from a call of a waiter, too. */
void hosts_close(struct hosts_channel *c);

/* ---- votes of all processes that one thread of each waits for, over a channel of their own ----
 */

/*
 * As hosts_vote, but beside what is done together, and beside other ballots: so a thread of its own
 * may vote while a job runs. One at a time of each process.
 */
struct ballot;

/* `number` is a channel's that was reserved (hosts.h). Never NULL; NULL with h NULL, since
 * nobody else votes. */
struct ballot *ballot_open(struct hosts *h, uint32_t number);
/* Nobody votes any more, or waits here: NULL is fine. */
void ballot_free(struct ballot *b);

/* The OR of what all of them say, which may have all 64 bits: 0; -EPIPE once one of them has closed
 * it, or is gone. With NULL: of this one. */
int ballot_vote(struct ballot *b, uint64_t mine, uint64_t *all);

/* Any thread: nobody is to wait any more. NULL is fine. */
void ballot_close(struct ballot *b);

/* ---- what the processes of a channel tell each other: each gets what all have said ---- */

/*
 * For what is too much for votes and too little for a network of its own: each sends its part to
 * rank 0, which sends all of them to each. So rank 0 sends as many bytes as all say, once for each
 * other process; whoever has much to say says it in turns of some hundred KiB, which is what is in
 * memory of it.
 *
 * Called by one thread of each process at a time, in the same order everywhere, with no lock held
 * that a waiter of the channel takes. It sleeps until all have said theirs. It is over with the
 * channel, whoever closed it, and where anyone has left that, for of him nothing comes any more.
 *
 * `all` is read with hosts_part. 0, or -EPIPE: the channel is closed.
 */
int hosts_exchange(struct hosts_channel *c, const void *mine, size_t n, struct buf *all);

/* ---- what one process of a job has found, handed to the others in pieces, so that nobody holds
 * all of it ---- */

/*
 * Together, from relay_begin to relay_end: rank 0 gives to all, or the first process of each host
 * to the others there. Who gives puts bytes, who takes gets as many in the same order; behind each
 * piece all vote, so that a process that is slow, or fails, holds the others up or stops them. With
 * no other process nothing is sent.
 */
struct relay {
	struct hosts *hosts;
	bool is_everywhere; /* from rank 0 */
	bool gives, has_takers;
	struct buf piece;
	size_t at; /* of what came, so much was taken */
	bool goes_on, is_broken, is_stopped;
};

void relay_begin(struct relay *r, struct hosts *h, bool is_everywhere);
bool relay_gives(const struct relay *r);

/* 0, or -errno with err: -ECANCELED where another process has failed, whose words relay_end
 * brings. */
int relay_put(struct relay *r, const void *bytes, size_t n, struct mlgen_err *err);
int relay_get(struct relay *r, void *to, size_t n, struct mlgen_err *err);

/* What came of it here, 0 or -errno with err; then for all, as hosts_agree. */
int relay_end(struct relay *r, int rc, struct mlgen_err *err);

/* ---- what rank 0 asks all others for while a job runs, beside all that is done together ---- */

/*
 * In each of the others a thread of its own puts an answer together when rank 0 asks, so nobody who
 * works waits; without a question nothing is sent. Their last answer comes unasked, at the end.
 * What is there of a process that does not answer, or is gone, is what it said before.
 */
struct survey;

/* Appends an answer; on the survey's thread. */
typedef void survey_put(void *arg, struct buf *to);

/* `number` is a channel's that was reserved (hosts.h), of all alike. NULL with h NULL. Where no
 * thread can be started, only the last answer is given. */
struct survey *survey_open(struct hosts *h, uint32_t number, survey_put *put, void *arg);
/* Not rank 0: the last answer is put together, and sent; once. */
void survey_end(struct survey *s);
void survey_free(struct survey *s); /* NULL is fine, as it is above */

/* ---- rank 0; any thread ---- */

/* Ask, and wait until all have answered that have not ended and are not gone, but at most so
 * long. */
void survey_ask(struct survey *s, uint64_t most_ns);

/* The last answer of a rank instead of what is in `to`. False: there is none. */
bool survey_answer(struct survey *s, unsigned rank, struct buf *to);

/* Has each of the others given its last answer, or is gone? True of NULL. */
bool survey_is_over(struct survey *s);

/* ---- do all processes have the same job? ---- */

/*
 * Together: each gives its job as lines "option=value", with comments, which do not count. 0, or
 * -EINVAL with err: which host differs in which option. The number of accelerators may differ.
 */
int hosts_same_job(struct hosts *h, const char *job, struct mlgen_err *err);

/* ---- processes that a launcher started find each other, and part again ---- */

struct hosts_config {
	const char *binary_dir; /* the plugins are looked for beside it */
	const char *version;    /* of the program, with its commit */
	uint16_t port;          /* that rank 0 listens at; 0 = any */
	bool over_mpi;          /* messages go through MPI, not TCP */
	const char *why;        /* this process cannot take part; NULL = it can */
	/* Says what all are refused for, in rank 0, before they part: launchers end those that come
	 * to their end later. NULL = it has been said. */
	void (*say)(const struct mlgen_err *err);
};

/*
 * Together, before any thread is started: NULL in *out where no launcher started several. 0, or
 * -errno with err, of what keeps this one from the others (no plugin); or -ECANCELED, alike in all,
 * of what has been said: another version, no connection, or one that cannot take part, which meets
 * the others all the same, for they would wait for it.
 */
int hosts_meet(struct hosts **out, const struct hosts_config *cfg, struct mlgen_err *err);
/* The same of processes that have met through `mpi` (tests: a table of theirs). */
int hosts_meet_through(struct hosts **out, const struct hosts_mpi *mpi, unsigned rank,
		       unsigned total, const struct hosts_config *cfg, struct mlgen_err *err);

/* Together: all have done what they had to. Waits for the others, and frees h; after a death it
 * waits for nobody. NULL is fine. */
void hosts_finish(struct hosts *h);

/* ---- which launcher started this process, as the environment says ---- */

/* Whose library can talk to it. */
enum launcher_mpi { LAUNCHER_NONE, LAUNCHER_OPENMPI, LAUNCHER_MPICH };

struct launcher {
	enum launcher_mpi mpi; /* NONE: nobody, or it started one process */
	const char *name;      /* "mpirun of Open MPI"; static */
	unsigned rank, total;  /* as it says */
};

/*
 * Read before MPI_Init, which sets some of these variables itself. One process is none, whoever
 * started it. 0, or -EINVAL with err: srun started several tasks, but gives no MPI to talk through.
 */
int launcher_look(struct launcher *l, struct mlgen_err *err);

/* Is this process the one that speaks for all that a launcher started? True of one that nobody
 * started so. */
bool launcher_is_first(void);

/* ---- a TCP connection from one process of a job to another ---- */

struct hello;

/*
 * Small messages go at once; who does not take what is sent for 10 s, or whose machine does not
 * answer, is gone (hosts.md's spike: a pulled cable is noticed after TCP_USER_TIMEOUT; the
 * heartbeat finds what TCP does not). All of what one connect_read asks for may take this many
 * seconds to come, and a second more for each MiB of it.
 */
void connect_set_options(int fd, unsigned receive_s);
void connect_set_patience(int fd, unsigned receive_s); /* that alone */

/* All of it, or false with errno; of a connection that was closed that is 0. */
bool connect_read(int fd, void *to, size_t n);
bool connect_write(int fd, const void *from, size_t n);

/* Each of the addresses that a process has told, in turn; one of the loopback only on the same
 * host. A connected socket; -1 with what became of each in `why`, and the way out behind it. */
struct connect_to {
	const struct hello *hello;
	unsigned rank;
	bool is_same_host;
	const char *way_out; /* behind "let the hosts reach each other" */
};
int connect_any(const struct connect_to *to, char *why, size_t size);

/* ---- connections between any two processes of a job, beside the star, for what is too much for it
 * ---- */

/*
 * Each process listens at a port of its own, its door, tells all where that is, and connects to all
 * others, as often as it wants to ask. Who comes in says first who he is, and the word that the
 * processes have told each other through MPI; who does not know that is none of ours. When all have
 * come the doors are shut: nobody comes in later.
 *
 * All is opened before threads are started that may have descriptors of their own
 * (MLGEN_CAP_PRIVATE_FDS): those have copies of these, so that one which is of no use any more is
 * shut down, and closed at the end.
 */
struct doors;

struct doors_config {
	const char *what;     /* an option, for messages: "cache_scope=all" */
	const char *way_out;  /* where hosts do not reach each other */
	unsigned connections; /* to each of the others; not the same in all */
	/* Of several of a run: peers_port is the port of rank 0, and from the next one on each
	 * process of a host has one for each of them. */
	unsigned number;
	uint64_t same; /* what they are about has this number in all of them */
};

/* Can they reach each other? Not with barrier_over=mpi. */
bool doors_can_open(const struct hosts *h);

/* Together, with more than one process: 0, or -errno with err, which names the host. */
int doors_open(struct doors **out, struct hosts *h, const struct doors_config *cfg,
	       struct mlgen_err *err);
/* All connections are closed; NULL is fine. */
void doors_free(struct doors *d);

/* Connections to others, cfg->connections of each; and those of others, by number: -1 = there are
 * no more. */
int doors_to(const struct doors *d, unsigned rank, unsigned i);
int doors_from(const struct doors *d, unsigned i);
