/* SPDX-License-Identifier: Apache-2.0 */
/* peer_links.c - direct connections between any two processes of a job, see hosts.h. */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "hosts/hosts_internal.h"

/* Receive timeout of a connection: an answer that takes longer means that the process hangs. */
#define RECEIVE_S 10
/* Time limit for the connections of all other processes. */
#define ACCEPT_NS (30 * NS_PER_S)
#define POLL_MS 100

/* The struct that each process publishes to all others. */
struct door {
	struct hello hello;
	uint64_t same;
	uint64_t connections;
};

struct peer_links {
	struct hosts *hosts;
	struct peer_links_config cfg;
	struct door *of; /* indexed by rank */
	int listener;
	int *to, *from;
	unsigned accepted, expected;
	uint64_t *accepted_of;  /* connections from each rank, while they are accepted */
	char strangers[128];    /* description of strangers that connected, for a message */
	_Atomic bool is_failed; /* this process cannot reach another process */
};

bool peer_links_can_open(const struct hosts *h)
{
	return !h || !h->bridge;
}

/* Gather the struct door of all processes in d->of. */
static int share_all(struct peer_links *d, const struct door *mine, struct mlgen_err *err)
{
	struct buf all = { 0 };
	int rc = hosts_gather(d->hosts, mine, sizeof(*mine), &all, err);

	if (rc == 0)
		rc = hosts_broadcast(d->hosts, &all, err);
	for (unsigned i = 0; i < d->hosts->total && rc == 0; i++) {
		size_t n;
		const char *part = hosts_part(&all, i, &n);

		if (!part || n != sizeof(*mine))
			rc = mlgen_fail(err, -EPIPE, "%s: host %s (rank %u) was lost", d->cfg.what,
					hosts_name(d->hosts, i), i);
		else
			memcpy(&d->of[i], part, n);
	}
	buf_fini(&all);
	return rc;
}

/* Do any two processes on different hosts have addresses of a common family? */
static int check_networks(const struct peer_links *d, struct mlgen_err *err)
{
	const struct hosts *h = d->hosts;
	char why[MLGEN_ERR_MAX - 64];

	for (unsigned i = 0; i < h->total; i++)
		for (unsigned k = 0; k < i; k++)
			if (h->host_of[i] != h->host_of[k] &&
			    !addresses_can_meet(&d->of[i].hello, i, &d->of[k].hello, k, why,
						sizeof(why)))
				return mlgen_fail(err, -EHOSTUNREACH, "%s: %s", d->cfg.what, why);
	return 0;
}

/* A fault of any process fails all processes. */
static int check_faults(const struct peer_links *d, struct mlgen_err *err)
{
	for (unsigned i = 0; i < d->hosts->total; i++) {
		const struct door *of = &d->of[i];

		if (of->hello.why[0])
			return mlgen_fail(err, -EADDRINUSE, "%s: host %s (rank %u): %s",
					  d->cfg.what, of->hello.name, i, of->hello.why);
		if (of->same != d->of[0].same)
			return mlgen_fail(err, -EINVAL,
					  "%s: host %s (rank %u) sees a different dataset from "
					  "host %s (rank 0); let all hosts read the same dataset",
					  d->cfg.what, of->hello.name, i, d->of[0].hello.name);
	}
	return 0;
}

/* ---- connections from other processes ---- */

static bool add_connection(void *who, int fd, uint64_t rank)
{
	struct peer_links *d = who;
	const struct hosts *h = d->hosts;

	if (rank >= h->total || rank == h->rank || d->accepted_of[rank] == d->of[rank].connections)
		return false;
	d->accepted_of[rank]++;
	connect_set_options(fd, RECEIVE_S);
	d->from[d->accepted++] = fd;
	return true;
}

/* Accept on a separate thread while this one connects to the others: more connections may be on
 * their way than fit in the kernel's accept queue. */
static void *accept_main(void *arg)
{
	struct peer_links *d = arg;
	uint64_t until_ns = star_now_ns() + ACCEPT_NS;
	struct greeter greeter;

	d->accepted_of = mem_array(d->hosts->total, sizeof(*d->accepted_of));
	greeter_init(&greeter, d->listener, d->of[d->hosts->rank].hello.token, add_connection, d);
	while (d->accepted < d->expected && star_now_ns() < until_ns && !atomic_load(&d->is_failed))
		greeter_poll(&greeter, POLL_MS);
	greeter_fini(&greeter);
	greeter_print_strangers(&greeter, d->strangers, sizeof(d->strangers));
	mem_free(d->accepted_of);
	return NULL;
}

/* ---- connections to other processes ---- */

/* Connect to a process and greet it. A descriptor, or -errno with err. */
static int connect_and_greet(const struct peer_links *d, unsigned rank, struct mlgen_err *err)
{
	const struct hosts *h = d->hosts;
	const struct greeting g = { .token = d->of[rank].hello.token, .rank = h->rank };
	const struct connect_to to = { .hello = &d->of[rank].hello,
				       .rank = rank,
				       .is_same_host = h->host_of[rank] == h->host_of[h->rank],
				       .way_out = d->cfg.way_out };
	char why[512];
	int fd = connect_any(&to, why, sizeof(why));

	if (fd < 0)
		return mlgen_fail(err, -EHOSTUNREACH, "%s: %s", d->cfg.what, why);
	connect_set_options(fd, RECEIVE_S);
	if (connect_write(fd, &g, sizeof(g)))
		return fd;
	int code = errno;
	close(fd);
	return mlgen_fail(err, -EPIPE, "%s: host %s (rank %u) has closed a connection: %s",
			  d->cfg.what, hosts_name(h, rank), rank, strerror(code));
}

/* ---- both directions ---- */

static int meet_all(struct peer_links *d, struct mlgen_err *err)
{
	unsigned n = d->cfg.connections, to = d->hosts->total * n;
	pthread_t acceptor;
	int rc;

	for (unsigned i = 0; i < d->hosts->total; i++)
		if (i != d->hosts->rank)
			d->expected += (unsigned)d->of[i].connections;
	d->to = mem_array(to, sizeof(*d->to));
	d->from = mem_array(d->expected, sizeof(*d->from));
	for (unsigned i = 0; i < to; i++)
		d->to[i] = -1;
	rc = thread_start(&acceptor, accept_main, d);
	if (rc < 0)
		return mlgen_fail(err, rc, "%s: no thread: %s", d->cfg.what, strerror(-rc));
	for (unsigned i = 0; i < to && rc == 0; i++) {
		if (i / n == d->hosts->rank)
			continue;
		d->to[i] = connect_and_greet(d, i / n, err);
		if (d->to[i] < 0)
			rc = err->code;
	}
	atomic_store(&d->is_failed, rc < 0);
	pthread_join(acceptor, NULL);
	if (rc == 0 && d->accepted < d->expected)
		rc = mlgen_fail(err, -ETIMEDOUT,
				"%s: %u of %u connections of other processes arrived within %u s%s",
				d->cfg.what, d->accepted, d->expected,
				(unsigned)(ACCEPT_NS / NS_PER_S), d->strangers);
	return rc;
}

static void close_listener(struct peer_links *d)
{
	if (d->listener >= 0)
		close(d->listener);
	d->listener = -1;
}

int peer_links_open(struct peer_links **out, struct hosts *h, const struct peer_links_config *cfg,
		    struct mlgen_err *err)
{
	struct peer_links *d = mem_zalloc(sizeof(*d));
	/* The processes on this host, and the index of this process among them. */
	unsigned processes = 0, local_index = 0;
	unsigned port = 0; /* any */
	struct door mine = { .hello = h->hellos[h->rank],
			     .same = cfg->same,
			     .connections = cfg->connections };

	*out = d;
	d->hosts = h;
	d->cfg = *cfg;
	d->of = mem_array(h->total, sizeof(*d->of));
	for (unsigned i = 0; i < h->total; i++) {
		if (h->host_of[i] != h->host_of[h->rank])
			continue;
		local_index += i < h->rank;
		processes++;
	}
	if (h->port)
		port = h->port + 1u + cfg->number * processes + local_index;
	d->listener = -1;
	/* On failure mine.hello.why has the reason. */
	if (port > UINT16_MAX)
		snprintf(mine.hello.why, sizeof(mine.hello.why),
			 "peers_port=%u: this process would listen on port %u, which does not "
			 "exist; choose a lower port",
			 h->port, port);
	else
		d->listener = addresses_listen(&mine.hello, (uint16_t)port);

	int rc = share_all(d, &mine, err);
	if (rc == 0)
		rc = check_faults(d, err);
	if (rc == 0)
		rc = check_networks(d, err);
	if (rc == 0)
		rc = hosts_agree(h, meet_all(d, err), err);
	close_listener(d);
	return rc;
}

void peer_links_free(struct peer_links *d)
{
	if (!d)
		return;
	close_listener(d);
	for (unsigned i = 0; d->to && i < d->hosts->total * d->cfg.connections; i++)
		if (d->to[i] >= 0)
			close(d->to[i]);
	for (unsigned i = 0; i < d->accepted; i++)
		close(d->from[i]);
	mem_free(d->to);
	mem_free(d->from);
	mem_free(d->of);
	mem_free(d);
}

int peer_links_to(const struct peer_links *d, unsigned rank, unsigned i)
{
	return d->to[rank * d->cfg.connections + i];
}

int peer_links_from(const struct peer_links *d, unsigned i)
{
	return i < d->accepted ? d->from[i] : -1;
}
