/* SPDX-License-Identifier: Apache-2.0 */
/* hosts_internal.h - what the files of hosts share. */
#pragma once

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include <mlgen/err.h>

#include "base/vec.h"
#include "hosts/hosts.h"
#include "hosts/mpi_plugin.h"

/* ---- where rank 0 can be reached: its addresses and a port that it listens at ---- */

struct hello;
struct hello_address;

/*
 * The addresses of all interfaces that are up go into `mine`: those of the network first, then
 * those of the loopback. Link-local ones of IPv6 are none: they would need the number of an
 * interface of who connects.
 */
void addresses_list(struct hello *mine);

/*
 * A listening socket at a port, 0 = any; of both families where there is IPv6. The port goes into
 * `mine`, with the addresses. -1, and why in `mine`: the port is taken.
 */
int addresses_listen(struct hello *mine, uint16_t port);

/* Has `from`, on another host, an address of a family that `to` has one of, too? False: why not,
 * and what would be right. Where nothing is known it has. */
bool addresses_can_meet(const struct hello *from, unsigned from_rank, const struct hello *to,
			unsigned to_rank, char *why, size_t size);

/* ---- who comes to a port of a job: its own processes, which know a word, apart from strangers
 * ---- */

/* The first thing that is said on a connection. */
struct greeting {
	uint64_t token; /* of the process that listens */
	uint64_t rank;  /* who comes */
};

/*
 * Anyone on the network may connect to a port: a scanner of ports, a monitor, a job that was given
 * the same one. Greetings are therefore read as their bytes come, from many connections side by
 * side, and each has one deadline for all of its bytes. A stranger who says little by little, or
 * nothing, holds up nobody; where more come than there are places the oldest has to go.
 */
enum { GREETER_PLACES = 64 };

struct greeter {
	int listener;
	uint64_t token;
	uint64_t patience_ns; /* for a greeting, from its connection on */
	/* A process of the job greets: true, and fd is the taker's; false: it is not expected, and
	 * its connection is closed. */
	bool (*take)(void *who, int fd, uint64_t rank);
	void *who;
	struct greeter_guest {
		int fd;
		uint64_t until_ns;
		size_t bytes;
		struct greeting said;
		struct sockaddr_storage from;
	} guests[GREETER_PLACES]; /* the oldest first */
	unsigned count;
	uint64_t strangers;              /* connections that were not from this job */
	char stranger[INET6_ADDRSTRLEN]; /* the last of them */
};

void greeter_init(struct greeter *g, int listener, uint64_t token,
		  bool (*take)(void *who, int fd, uint64_t rank), void *who);
/* Wait for somebody to come or to speak, wait_ms at most, and hear them all. */
void greeter_look(struct greeter *g, int wait_ms);
/* "; 2 connections, the last from 10.0.0.9, were not from this job", or "". */
const char *greeter_tell(const struct greeter *g, char *text, size_t size);
/* Those who have not greeted are closed; the listener stays. */
void greeter_fini(struct greeter *g);

/* ---- what the processes of a job are made of, for src/hosts alone ---- */

/*
 * The network is a star of TCP connections with rank 0 in the middle. In each process one thread
 * receives, from all whom it is connected to, sends a heartbeat each second, and sees who is gone;
 * anyone sends. A message is this header, and `length` bytes behind those that have some.
 */
enum message_kind {
	MESSAGE_BEAT,   /* "I am there" */
	MESSAGE_DOES,   /* + text: what it does now */
	MESSAGE_ARRIVE, /* to rank 0: this process waits at a channel; its votes */
	MESSAGE_PASS,   /* from rank 0: all have; the OR of their votes */
	MESSAGE_LEAVE,  /* to rank 0: it comes to this channel no more */
	MESSAGE_CLOSE,  /* to rank 0, and from it: nobody is to wait there */
	MESSAGE_DATA,   /* + bytes: of a gather to rank 0, of a share from it */
	MESSAGE_END,    /* + text, both ways: all are to end (struct hosts_news) */
	MESSAGE_GONE,   /* + text, from rank 0: process number `channel` is gone */
	MESSAGE_ASK,    /* from rank 0: the question number `value` of a survey */
	MESSAGE_ANSWER, /* + bytes, to rank 0: of a survey */
	MESSAGE_SAY,    /* + bytes, to rank 0: a part of an exchange */
	MESSAGE_TOLD,   /* + bytes, from rank 0: all parts of it */
	MESSAGE_KINDS
};

struct message {
	uint32_t kind, channel;
	uint64_t value; /* votes, or the length of what follows */
};

/* What they tell each other through MPI before there is a star. */
#define HELLO_ADDRESSES 16 /* half of them IPv4, half IPv6 */

struct hello {
	char version[32];
	char name[65], boot_id[40];
	uint64_t token; /* rank 0's: who connects has to know it */
	uint16_t port;  /* rank 0's */
	uint16_t addresses;
	uint32_t reach; /* of enum hello_reach; 0 = nothing is known */
	struct hello_address {
		int family;
		unsigned char bytes[16];
	} address[HELLO_ADDRESSES];
	int64_t clock_offset_ns; /* of CLOCK_REALTIME to rank 0's */
	uint64_t clock_unsure_ns;
	char why[768]; /* it cannot be in the star; "" = it can */
};

static inline bool hello_is_same_host(const struct hello *a, const struct hello *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->boot_id, b->boot_id) == 0;
}

/* One process at the other end of a connection. */
struct peer {
	unsigned rank;
	int fd; /* -1 once it is gone */
	uint64_t heard_ns;
	pthread_mutex_t sending;
	struct buf in;   /* received, and not a whole message yet */
	struct buf data; /* MESSAGE_DATA in turn: length, bytes; under lock */
	bool is_gone;    /* likewise */
	char does[64];   /* the last it said */
	uint64_t rounds; /* barriers that it has come to */
};

struct hosts_channel {
	struct hosts *hosts;
	uint32_t number;
	/* Held over a decision, what is sent of it, and the call of it, so that these come in one
	 * order; before hosts->lock and peer->sending. */
	pthread_mutex_t calls;
	const struct hosts_waiter *waiter; /* NULL = not open here */
	void *arg;
	bool is_closed, has_left;
	_Atomic bool wants_close; /* by this process; the thread does it */
	/* Of an exchange: what all say, as rank 0 tells it. */
	pthread_cond_t has_said; /* or is closed */
	struct buf told;
	bool is_told;
	/* Rank 0's. */
	unsigned members, arrived;
	uint64_t votes;
	struct buf *said; /* of each process; NULL = none has said anything */
	unsigned said_count;
};

struct hosts {
	const struct hosts_mpi *mpi; /* NULL: met without, as tests do */
	unsigned rank, total, count;
	uint16_t port;        /* peers_port; 0 = any */
	struct hello *hellos; /* of all, by rank */
	unsigned *host_of;
	struct peer *peers; /* rank 0: of rank 1, 2, ...; others: of rank 0 */
	unsigned peer_count;
	pthread_t thread;
	int wake_fd; /* an eventfd: the thread is to look at what follows */
	_Atomic bool is_stopping;
	struct bridge *bridge; /* barrier_over=mpi, else NULL */
	_Atomic bool is_ending;
	struct ballot *votes; /* of hosts_vote */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* Below: under lock. */
	VEC(struct hosts_channel *) channels; /* NULL = nobody has asked for it */
	uint32_t reserved;                    /* channels that are taken; 0 is of `votes` */
	struct survey *surveys;
	struct mlgen_err lost; /* who is gone; empty = nobody */
	hosts_hear *hear;
	void *hear_arg;
	pthread_mutex_t telling; /* held over a call of hear */
};

/* ---- hosts.c ---- */

/* Behind those that are there, as hosts_part reads them. */
void hosts_add_part(struct buf *all, const void *bytes, size_t n);

/* ---- star.c ---- */

/* Together, through exchange(): connect, and measure the clocks. hellos has been filled with
 * version, names and tokens, and is again when it returns. 0, or -errno with err, alike in all of
 * them. */
struct hosts_config;
int star_meet(struct hosts *h, const struct hosts_config *cfg, struct mlgen_err *err);

/* ---- star.c ---- */

uint64_t star_now_ns(void);
struct peer *star_peer(struct hosts *h, unsigned rank);
/* The receiving thread looks at what is wanted of it. */
void star_wake(struct hosts *h);
/* Any thread. What cannot be sent is dropped: the receiving thread finds out why. */
void star_send(struct hosts *h, struct peer *p, enum message_kind kind, uint32_t channel,
	       uint64_t value, const void *bytes);
/* To all that it is connected to, but `except` (NULL = none). */
void star_send_all(struct hosts *h, const struct peer *except, enum message_kind kind,
		   uint32_t channel, uint64_t value, const void *bytes);
int star_start(struct hosts *h, struct mlgen_err *err);
/* Connections are closed; then, their memory goes. */
void star_stop(struct hosts *h);
void star_fini(struct hosts *h);

/* ---- channels.c ---- */

/* A message of one has come. */
void channels_take(struct hosts *h, struct peer *p, const struct message *m);
/* Those that hosts_close was called of. */
void channels_close_wanted(struct hosts *h);
/* Nobody is to wait any more. */
void channels_close_all(struct hosts *h);
void channels_fini(struct hosts *h);

/* ---- channels.c ---- */

/* A message of one has come; on the receiving thread. */
void exchange_take(struct hosts *h, const struct peer *p, const struct message *m,
		   const char *bytes);

/* ---- survey.c: on the receiving thread ---- */

void survey_take_question(struct hosts *h, const struct message *m);
void survey_take_answer(struct hosts *h, unsigned rank, const struct message *m, const char *bytes);

/* ---- channels.c: barrier_over=mpi ---- */

/* Gives each peer a socket whose other end a thread carries to it through MPI, which it asks again
 * and again with naps in between. 0 or -errno with err. */
int bridge_start(struct bridge **out, struct hosts *h, struct mlgen_err *err);
/* Once the sockets have been closed; NULL is fine. */
void bridge_stop(struct bridge *b);
