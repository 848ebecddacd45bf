/* SPDX-License-Identifier: Apache-2.0 */
/* hosts.h - the processes of one job on several hosts: how they meet and communicate. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "hosts/mpi_plugin.h"

/* ---- processes and hosts ---- */

/*
 * A launcher (mpirun, srun) starts the same program several times. Each process has a rank;
 * processes with the same boot id and host name are on one host. NULL stands for a process without
 * a launcher: rank 0 of 1, the first on its host. Every function below accepts NULL and then
 * returns at once without a system call, so callers need no special case.
 *
 * All processes must call the functions marked "Together" in the same order, from one thread at a
 * time in each process (the main thread, or the conductor that the main thread waits for). Such a
 * function sleeps until the other processes have called it, unless its comment says otherwise.
 *
 * Death: once a process ends, hangs or cannot be reached, every function marked "Together" returns
 * -EPIPE in all other processes, and err names the host of that process and its last activity. The
 * exception is hosts_gather, which continues with the remaining processes as long as rank 0 is
 * alive.
 */
struct hosts;

unsigned hosts_rank(const struct hosts *h);
unsigned hosts_total(const struct hosts *h); /* number of processes */

/* Hosts are numbered from 0, in the order of the lowest rank on each. */
unsigned hosts_count(const struct hosts *h);
unsigned hosts_host_of(const struct hosts *h, unsigned rank);
/* The node name as uname(2) reports it; "" for a process without a launcher. */
const char *hosts_name(const struct hosts *h, unsigned rank);
/* Is this process the first on its host? The first process handles everything that exists once
 * per host: dropping the page cache, reading the host's counters. */
bool hosts_is_first_here(const struct hosts *h);
bool hosts_is_first_on_host(const struct hosts *h, unsigned rank);

/* Offset of a process's wall clock from rank 0's, positive = ahead, measured when the processes
 * met; the error is at most unsure_ns. */
int64_t hosts_clock_offset_ns(const struct hosts *h, unsigned rank, uint64_t *unsure_ns);

/* Together: the OR of the votes of all processes. 0, or -EPIPE with err. */
int hosts_vote(struct hosts *h, uint64_t mine, uint64_t *all, struct mlgen_err *err);
/* Together: return once every process has called this. 0, or -EPIPE with err. */
int hosts_barrier(struct hosts *h, struct mlgen_err *err);

/*
 * Together: rank 0 waits for all processes and gets the n bytes of each in `all`; use hosts_part to
 * read them. The other processes only send their bytes and return without waiting (`all` may be
 * NULL there). 0, or -EPIPE with err.
 */
int hosts_gather(struct hosts *h, const void *mine, size_t n, struct buf *all,
		 struct mlgen_err *err);
/* The bytes that a rank sent; NULL if that process is gone. */
const char *hosts_part(const struct buf *all, unsigned rank, size_t *n);

/* Together: copy rank 0's buffer to all processes. 0, or -EPIPE with err. */
int hosts_broadcast(struct hosts *h, struct buf *b, struct mlgen_err *err);
/* Together, on each host: copy the buffer of its first process to the other processes there,
 * through rank 0. */
int hosts_broadcast_on_host(struct hosts *h, struct buf *b, struct mlgen_err *err);

/*
 * Together: each process passes its own result, 0 or -errno with err. A process that failed gets
 * its own result back; the others get the error of the lowest rank that failed, prefixed with its
 * host. 0: every process succeeded.
 */
int hosts_agree(struct hosts *h, int rc, struct mlgen_err *err);

/* ---- while a job runs ---- */

/* Publish the current activity of this process, e.g. "preparing its files". If the process dies,
 * the others print it. */
void hosts_set_activity(struct hosts *h, const char *what);

/* News that all processes have to end, because one was interrupted, has failed or is gone. */
struct hosts_news {
	bool is_interrupted, is_death;
	struct mlgen_err err; /* unless is_interrupted: what happened, and where */
};

/*
 * hosts_watch registers a callback, which runs on the receiving thread. A death that was seen
 * earlier is reported at once. After hosts_watch(h, NULL, NULL) has returned, no call is running
 * and none follows.
 */
typedef void hosts_news_fn(void *arg, const struct hosts_news *news);
void hosts_watch(struct hosts *h, hosts_news_fn *hear, void *arg);

/* Tell all other processes that this process is ending because of `err`; NULL = because of an
 * interruption. Any thread. */
void hosts_announce_end(struct hosts *h, const struct mlgen_err *err);

/* Is any process gone? Any thread. */
bool hosts_is_lost(struct hosts *h);

/* ---- channels: concurrent barriers with votes ---- */

/*
 * The jobs of a run proceed concurrently and each has its own barriers, so each uses its own
 * channel. Every process arrives once per barrier, with votes. When all have arrived, the `passed`
 * callback of each process gets the OR of the votes. A barrier costs two messages per process: one
 * to rank 0 and one from rank 0.
 */
struct hosts_channel;

/*
 * Callbacks of a channel. They run on the receiving thread; in rank 0 they can also run on the
 * thread that arrives last. Calls for one channel never overlap and come in the same order in every
 * process.
 */
struct hosts_waiter {
	void (*passed)(void *arg, uint64_t votes);
	void (*closed)(void *arg); /* called once; no `passed` follows */
};

/* Reserve `count` unused channel numbers and return the first. All processes must make the same
 * calls in the same order. */
uint32_t hosts_reserve_channels(struct hosts *h, uint32_t count);

/* Open a channel in this process; other processes may have arrived at it already. Never NULL. */
struct hosts_channel *hosts_channel_open(struct hosts *h, uint32_t number,
					 const struct hosts_waiter *waiter, void *arg);
/* This process will not open the channel: close it, so that no process waits for this one. */
void hosts_channel_refuse(struct hosts *h, uint32_t number);
/* Detach the waiter: no callback runs after this has returned. NULL is fine. */
void hosts_channel_detach(struct hosts_channel *c);

/* Arrive at the current barrier with these votes. The caller must not hold a lock that a waiter
 * callback takes. */
void hosts_channel_arrive(struct hosts_channel *c, uint64_t votes);
/* This process will not arrive again; later barriers do not wait for it. */
void hosts_channel_leave(struct hosts_channel *c);
/* Close the channel for all processes. A barrier is passed by all or by none; the order in which
 * the messages reach rank 0 decides. Any thread may call this, even from a waiter callback. */
void hosts_channel_close(struct hosts_channel *c);

/* ---- ballots: blocking votes over a channel of their own ---- */

/*
 * Like hosts_vote, but may run concurrently with votes of other ballots and with functions marked
 * "Together". A separate thread can therefore vote while a job runs. One vote at a time per ballot
 * and process.
 */
struct ballot;

/* Open a ballot over the reserved channel `number`. Returns NULL only if h is NULL. */
struct ballot *ballot_open(struct hosts *h, uint32_t number);
/* No thread of this process may be voting. NULL is fine. */
void ballot_free(struct ballot *b);

/* The OR of the votes of all processes; all 64 bits are usable. 0, or -EPIPE once any process
 * has closed the ballot or is gone. With b NULL: this process's own vote. */
int ballot_vote(struct ballot *b, uint64_t mine, uint64_t *all);

/* Close the ballot and wake every waiter. Any thread. NULL is fine. */
void ballot_close(struct ballot *b);

/* ---- exchanges: each process of a channel gets the data of all ---- */

/*
 * Exchange data that is too large for votes, but too small to be worth direct connections
 * (peer_links). Each process sends its part to rank 0, which sends the parts of all to every
 * process; rank 0 thus sends as many copies of the whole data as there are processes. Callers that
 * have a lot of data exchange it in rounds of a few hundred KiB, to limit memory use.
 *
 * All processes must call this in the same order, from one thread at a time in each. The thread
 * must not hold a lock that a waiter callback of the channel takes. The call sleeps until all parts
 * have come. The channel can no longer be used for exchanges once any process has closed or left
 * it.
 *
 * Use hosts_part to read `all`. 0, or -EPIPE if the channel is closed.
 */
int hosts_exchange(struct hosts_channel *c, const void *mine, size_t n, struct buf *all);

/* ---- relays: stream data from one process to the others, piece by piece ---- */

/*
 * Together, from relay_begin to relay_end: rank 0 sends to all, or the first process of each host
 * sends to the other processes there. The sender writes bytes and the receivers read the same
 * number in the same order. All processes vote after each piece, so a slow process delays the
 * others and a failed one stops them. Without other processes nothing is sent.
 */
struct relay {
	struct hosts *hosts;
	bool is_everywhere; /* rank 0 sends to all hosts */
	bool gives, has_takers;
	struct buf piece;
	size_t at; /* receiver: bytes of `piece` that were read */
	bool goes_on, is_broken, is_stopped;
};

void relay_begin(struct relay *r, struct hosts *h, bool is_everywhere);
bool relay_is_sender(const struct relay *r);

/* 0, or -errno with err. -ECANCELED: another process has failed; relay_end fetches its message. */
int relay_write(struct relay *r, const void *bytes, size_t n, struct mlgen_err *err);
int relay_read(struct relay *r, void *to, size_t n, struct mlgen_err *err);

/* Pass this process's result, 0 or -errno with err. The return value is that of hosts_agree. */
int relay_end(struct relay *r, int rc, struct mlgen_err *err);

/* ---- surveys: rank 0 polls the other processes while a job runs ---- */

/*
 * A separate thread in every other process composes an answer when rank 0 asks, so no worker waits.
 * At the end, each process sends its final answer unasked; until then it sends nothing without a
 * question. If a process is gone or does not answer, rank 0 keeps the latest answer of that
 * process.
 */
struct survey;

/* Append an answer to `to`; runs on the survey's thread. */
typedef void survey_answer_fn(void *arg, struct buf *to);

/* `number` is a reserved channel number, the same in all processes. Returns NULL if h is NULL. If
 * no thread can be started, only the final answer is sent. */
struct survey *survey_open(struct hosts *h, uint32_t number, survey_answer_fn *put, void *arg);
/* Compose and send the final answer, once. Does nothing in rank 0. */
void survey_end(struct survey *s);
void survey_free(struct survey *s); /* NULL is fine here and in survey_end */

/* ---- surveys in rank 0; any thread ---- */

/* Ask all processes and wait for their answers, up to most_ns. A process that died or has sent its
 * final answer is not waited for. */
void survey_ask(struct survey *s, uint64_t most_ns);

/* Replace the contents of `to` with the latest answer of a rank. False: the rank has not answered
 * yet. */
bool survey_answer(struct survey *s, unsigned rank, struct buf *to);

/* Has every other process sent its final answer or died? True for NULL. */
bool survey_is_over(struct survey *s);

/* ---- do all processes have the same job? ---- */

/*
 * Together: each process passes its job as lines "option=value"; comment lines are ignored. 0, or
 * -EINVAL with err, which names a host and an option that differs. The number of accelerators may
 * differ.
 */
int hosts_check_same_job(struct hosts *h, const char *job, struct mlgen_err *err);

/* ---- start and end: processes of a launcher meet and part ---- */

struct hosts_config {
	const char *binary_dir; /* folder of the program; plugins are searched for in its build/
				   first */
	const char *version;    /* version of the program, including its commit */
	uint16_t port;          /* port that rank 0 listens on; 0 = any */
	bool over_mpi;          /* messages go through MPI, not TCP */
	const char *why;        /* why this process cannot take part; NULL = it can */
	/* Prints in rank 0 why the job is refused. Called before the processes disconnect, because
	 * a launcher may kill rank 0 once others have exited. NULL = do not print, because the
	 * reason has been printed already. */
	void (*say)(const struct mlgen_err *err);
};

/*
 * Together, before any thread is started. *out is NULL if no launcher started several processes. 0,
 * or -errno with err if this process cannot reach the others at all (no plugin). -ECANCELED in all
 * processes after `say` was called: versions differ, a connection failed, or a process cannot take
 * part. Such a process must still call this, because the others would wait for it.
 */
int hosts_meet(struct hosts **out, const struct hosts_config *cfg, struct mlgen_err *err);
/* Like hosts_meet for processes that already share `mpi` (tests pass their own table). */
int hosts_meet_through(struct hosts **out, const struct hosts_mpi *mpi, unsigned rank,
		       unsigned total, const struct hosts_config *cfg, struct mlgen_err *err);

/* Together: wait until all processes have finished, and free h. Does not wait if a process has
 * died. NULL is fine. */
void hosts_finish(struct hosts *h);

/* ---- which launcher started this process, as the environment says ---- */

/* The MPI implementation that a launcher belongs to. */
enum launcher_mpi { LAUNCHER_NONE, LAUNCHER_OPENMPI, LAUNCHER_MPICH };

struct launcher {
	enum launcher_mpi mpi; /* NONE: no launcher, or only one process */
	const char *name;      /* "mpirun of Open MPI"; static */
	unsigned rank, total;  /* rank and number of processes, as the launcher set them */
};

/*
 * Call before MPI_Init, which sets some of these variables itself. A single process counts as not
 * launched. 0, or -EINVAL with err: srun started several tasks without an MPI to communicate
 * through.
 */
int launcher_detect(struct launcher *l, struct mlgen_err *err);

/* Is this rank 0 of its launcher? True without a launcher. */
bool launcher_is_first(void);

/* ---- a TCP connection from one process of a job to another ---- */

struct hello;

/*
 * Set the options of a connection. Small messages are sent at once. A peer that does not accept
 * data for 10 s, or whose machine does not answer, is treated as gone (measured: a pulled cable is
 * noticed after TCP_USER_TIMEOUT; the heartbeat detects what TCP does not). One connect_read may
 * take receive_s seconds in total, plus one second per MiB.
 */
void connect_set_options(int fd, unsigned receive_s);

/* Transfer all n bytes, or return false with errno; errno is 0 if the peer closed the
 * connection. */
bool connect_read(int fd, void *to, size_t n);
bool connect_write(int fd, const void *from, size_t n);

/* Try each address of a process in turn; loopback addresses only on the same host. Returns a
 * connected socket, or -1 with the result of each attempt in `why`, followed by advice. */
struct connect_to {
	const struct hello *hello;
	unsigned rank;
	bool is_same_host;
	const char *way_out; /* further advice, after "let the hosts reach each other" */
};
int connect_any(const struct connect_to *to, char *why, size_t size);

/* ---- peer connections: direct links, for data too large to pass through rank 0 ---- */

/*
 * Each process listens on its own port, publishes its addresses, and opens as many connections to
 * each other process as it needs for concurrent requests. A new connection starts with a greeting:
 * the rank and the token that the processes exchanged through MPI. Connections without that token
 * are closed. The listening sockets are closed once all connections are established.
 *
 * All connections are opened before threads start that may have private descriptor tables
 * (MLGEN_CAP_PRIVATE_FDS). Such threads hold copies of the descriptors, so a connection that is no
 * longer needed is shut down first and closed at the end.
 */
struct peer_links;

struct peer_links_config {
	const char *what;     /* an option, for messages: "cache_scope=all" */
	const char *way_out;  /* advice if hosts cannot reach each other */
	unsigned connections; /* number per other process; may differ between processes */
	/*
	 * Index of this struct peer_links in the run, which selects the ports. Rank 0 of the job
	 * listens on peers_port when the processes meet. For these links, each process on a host
	 * listens on peers_port + 1 + number x P + i, where P is the number of processes on its
	 * host and i is the index of the process among them, from 0.
	 */
	unsigned number;
	uint64_t same; /* fingerprint of the data set; must be equal in all processes */
};

/* Can processes connect to each other? Not with barrier_over=mpi. */
bool peer_links_can_open(const struct hosts *h);

/* Together, only with more than one process. 0, or -errno with err, which names the host. */
int peer_links_open(struct peer_links **out, struct hosts *h, const struct peer_links_config *cfg,
		    struct mlgen_err *err);
/* Close all connections. NULL is fine. */
void peer_links_free(struct peer_links *d);

/*
 * peer_links_to returns the descriptor of connection i to a rank (i < cfg->connections).
 * peer_links_from returns the descriptor of the i-th connection from another process, -1 after the
 * last.
 */
int peer_links_to(const struct peer_links *d, unsigned rank, unsigned i);
int peer_links_from(const struct peer_links *d, unsigned i);
