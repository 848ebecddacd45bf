/* SPDX-License-Identifier: Apache-2.0 */
/* hosts_internal.h - addresses, greetings, messages and structs of the hosts module. */
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

/* ---- addresses of a process, and the port that it listens on ---- */

struct hello;
struct hello_address;

/*
 * Store the addresses of all interfaces that are up in `mine`, network addresses first, then
 * loopback. IPv6 link-local addresses are left out: connecting to one needs the interface number of
 * the connecting host.
 */
void addresses_list(struct hello *mine);

/* Open a listening socket on a port, 0 = any, for both families if IPv6 is available. The port
 * and the addresses are stored in `mine`. -1 with the reason in mine->why: the port is in use. */
int addresses_listen(struct hello *mine, uint16_t port);

/* Do two processes on different hosts have addresses of a common family? False: `why` gets the
 * reason and the advice. True if the addresses are not known. */
bool addresses_can_meet(const struct hello *from, unsigned from_rank, const struct hello *to,
			unsigned to_rank, char *why, size_t size);

/* ---- greeter: accept the processes of the job, which know a token, and reject strangers ---- */

/* The first bytes that a connecting process sends. */
struct greeting {
	uint64_t token; /* token of the listening process */
	uint64_t rank;  /* rank of the connecting process */
};

/*
 * Anyone on the network may connect to a port: a port scanner, a monitor, a job with the same port
 * number. Greetings are therefore read concurrently, as their bytes arrive, and each has one
 * deadline for all of its bytes. A stranger that sends slowly or not at all delays no other
 * connection. If there are more connections than places, the oldest one is closed.
 */
enum { GREETER_PLACES = 64 };

struct greeter {
	int listener;
	uint64_t token;
	uint64_t patience_ns; /* time limit of a greeting, from accept on */
	/* Called when a process of the job has greeted. True: the callback owns fd now. False: the
	 * process is not expected, and the connection is closed. */
	bool (*take)(void *who, int fd, uint64_t rank);
	void *who;
	struct greeter_guest {
		int fd;
		uint64_t until_ns;
		size_t bytes;
		struct greeting greeting;
		struct sockaddr_storage from;
	} guests[GREETER_PLACES]; /* oldest first */
	unsigned count;
	uint64_t strangers;              /* connections that were not from this job */
	char stranger[INET6_ADDRSTRLEN]; /* address of the last stranger */
};

void greeter_init(struct greeter *g, int listener, uint64_t token,
		  bool (*take)(void *who, int fd, uint64_t rank), void *who);
/* Wait up to wait_ms for connections and greetings, and handle all that have come. */
void greeter_poll(struct greeter *g, int wait_ms);
/* Print "; 2 connections, the last from 10.0.0.9, were not from this job" to `text`, or "". */
const char *greeter_print_strangers(const struct greeter *g, char *text, size_t size);
/* Close the connections without a complete greeting; the listener stays open. */
void greeter_fini(struct greeter *g);

/* ---- the star: messages and structs ---- */

/*
 * The network is a star of TCP connections with rank 0 in the middle. In each process one thread
 * receives from all connections, sends a heartbeat each second, and detects dead peers; any thread
 * may send. A message is this header, followed by `value` bytes for the kinds that carry data.
 */
enum message_kind {
	MESSAGE_BEAT,      /* the heartbeat */
	MESSAGE_DOES,      /* + text: the current activity */
	MESSAGE_ARRIVE,    /* sent to rank 0: this process has arrived at a channel; its votes */
	MESSAGE_PASS,      /* sent by rank 0: all have arrived; the OR of their votes */
	MESSAGE_LEAVE,     /* sent to rank 0: this process will not arrive again */
	MESSAGE_CLOSE,     /* both ways: the channel is closed */
	MESSAGE_DATA,      /* + bytes: hosts_gather to rank 0, hosts_broadcast from rank 0 */
	MESSAGE_END,       /* + text, both ways: all processes have to end (struct hosts_news) */
	MESSAGE_GONE,      /* + text, from rank 0: rank `channel` is gone */
	MESSAGE_ASK,       /* sent by rank 0: question number `value` of a survey */
	MESSAGE_ANSWER,    /* + bytes, to rank 0: an answer to a survey */
	MESSAGE_PART,      /* + bytes, to rank 0: one part of an exchange */
	MESSAGE_ALL_PARTS, /* + bytes, from rank 0: all parts of an exchange */
	MESSAGE_KINDS
};

struct message {
	uint32_t kind, channel;
	uint64_t value; /* votes, a question number, or the number of bytes that follow */
};

/* The struct that processes exchange through MPI before the star exists. */
#define HELLO_ADDRESSES 16 /* half IPv4, half IPv6 */

struct hello {
	char version[32];
	char name[65], boot_id[40];
	uint64_t token; /* rank 0's; a connecting process has to know it */
	uint16_t port;  /* rank 0's */
	uint16_t addresses;
	uint32_t reach; /* bits of enum hello_reach; 0 = not known */
	struct hello_address {
		int family;
		unsigned char bytes[16];
	} address[HELLO_ADDRESSES];
	int64_t clock_offset_ns; /* CLOCK_REALTIME minus rank 0's */
	uint64_t clock_unsure_ns;
	char why[768]; /* why this process cannot join the star; "" = it can */
};

static inline bool hello_is_same_host(const struct hello *a, const struct hello *b)
{
	return strcmp(a->name, b->name) == 0 && strcmp(a->boot_id, b->boot_id) == 0;
}

/* The process at the other end of a connection. */
struct peer {
	unsigned rank;
	int fd; /* -1 once the peer is gone */
	uint64_t heard_ns;
	pthread_mutex_t sending;
	struct buf in;   /* received bytes of an incomplete message */
	struct buf data; /* queued MESSAGE_DATA, each as length and bytes; under hosts->lock */
	bool is_gone;    /* under hosts->lock */
	char does[64];   /* last reported activity */
	uint64_t rounds; /* barriers that the peer has arrived at */
};

struct hosts_channel {
	struct hosts *hosts;
	uint32_t number;
	/*
	 * Held while a message is handled, including the messages that are sent and the waiter that
	 * is called because of it, so that messages are handled one after the other. Taken before
	 * hosts->lock and peer->sending.
	 */
	pthread_mutex_t calls;
	const struct hosts_waiter *waiter; /* NULL = not open in this process */
	void *arg;
	bool is_closed, has_left;
	_Atomic bool wants_close; /* requested by this process, done by the receiving thread */
	/* Exchange: all parts, as sent by rank 0. */
	pthread_cond_t parts_changed; /* a part has come, or the channel is closed */
	struct buf all_parts;
	bool has_all_parts;
	/* Rank 0 only. */
	unsigned members, arrived;
	uint64_t votes;
	struct buf *parts; /* parts of an exchange by rank; NULL = none has come */
	unsigned said_count;
};

struct hosts {
	const struct hosts_mpi *mpi; /* NULL: connected without MPI, in tests */
	unsigned rank, total, count;
	uint16_t port;        /* peers_port; 0 = any */
	struct hello *hellos; /* indexed by rank */
	unsigned *host_of;
	struct peer *peers; /* rank 0: ranks 1, 2, ...; other ranks: only rank 0 */
	unsigned peer_count;
	pthread_t thread;
	int wake_fd; /* eventfd that makes the receiving thread check is_stopping and wants_close */
	_Atomic bool is_stopping;
	struct bridge *bridge; /* barrier_over=mpi, else NULL */
	_Atomic bool is_ending;
	struct ballot *votes; /* used by hosts_vote */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* The members below are protected by `lock`. */
	VEC(struct hosts_channel *) channels; /* indexed by number; NULL = not used yet */
	uint32_t reserved; /* next free channel number; number 0 belongs to `votes` */
	struct survey *surveys;
	struct mlgen_err lost; /* the process that is gone; empty = none */
	hosts_news_fn *hear;
	void *hear_arg;
	pthread_mutex_t telling; /* held while `hear` is called */
};

/* ---- hosts.c ---- */

/* Append a part in the format that hosts_part reads. */
void hosts_add_part(struct buf *all, const void *bytes, size_t n);

/* ---- star.c ---- */

/*
 * Together, through MPI: connect all processes to rank 0 and measure the clocks. On entry,
 * h->hellos[rank] must hold version and name; on return, h->hellos is complete for all ranks. 0, or
 * -errno with err, the same in all processes.
 */
struct hosts_config;
int star_meet(struct hosts *h, const struct hosts_config *cfg, struct mlgen_err *err);

uint64_t star_now_ns(void);
struct peer *star_peer(struct hosts *h, unsigned rank);
/* Make the receiving thread check is_stopping and wants_close. */
void star_wake(struct hosts *h);
/* Send a message. Any thread. Data that cannot be sent is dropped; the receiving thread finds out
 * why. */
void star_send(struct peer *p, enum message_kind kind, uint32_t channel, uint64_t value,
	       const void *bytes);
/* Send to all peers but `except` (NULL = none). */
void star_send_all(struct hosts *h, const struct peer *except, enum message_kind kind,
		   uint32_t channel, uint64_t value, const void *bytes);
int star_start(struct hosts *h, struct mlgen_err *err);
/* star_stop ends the thread and closes the connections; star_fini frees their memory. */
void star_stop(struct hosts *h);
void star_fini(struct hosts *h);

/* ---- channels.c ---- */

/* Handle a message for a channel. */
void channels_receive(struct hosts *h, struct peer *p, const struct message *m);
/* Close the channels that hosts_channel_close was called for. */
void channels_close_wanted(struct hosts *h);
/* Close all channels of this process. */
void channels_close_all(struct hosts *h);
void channels_fini(struct hosts *h);

/* Handle a message of an exchange, with one part or all parts. Receiving thread only. */
void exchange_receive(struct hosts *h, const struct peer *p, const struct message *m,
		      const char *bytes);

/* ---- survey.c: on the receiving thread ---- */

void survey_receive_question(struct hosts *h, const struct message *m);
void survey_receive_answer(struct hosts *h, unsigned rank, const struct message *m,
			   const char *bytes);

/* ---- channels.c: barrier_over=mpi ---- */

/* Give each peer a socket whose other end is served by a thread, which carries the bytes through
 * MPI and polls MPI with naps in between. 0 or -errno with err. */
int bridge_start(struct bridge **out, struct hosts *h, struct mlgen_err *err);
/* Call after the sockets have been closed. NULL is fine. */
void bridge_stop(struct bridge *b);
