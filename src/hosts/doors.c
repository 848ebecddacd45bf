/* SPDX-License-Identifier: Apache-2.0 */
/* doors.c - see hosts.h. */

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

/* Who has to answer does so within this time, or hangs. */
#define RECEIVE_S 10
/* How long a process waits for the others to come. */
#define COME_NS (30 * NS_PER_S)
#define LOOK_MS 100

/* What each tells all. */
struct door {
	struct hello hello;
	uint64_t same;
	uint64_t connections;
};

struct doors {
	struct hosts *hosts;
	struct doors_config cfg;
	struct door *of; /* by rank */
	int listener;
	int *to, *from;
	unsigned came, expected;
	uint64_t *came_of;      /* by rank, while they come */
	char strangers[128];    /* who came and is none of ours, for a message */
	_Atomic bool is_failed; /* this process cannot reach another one */
};

bool doors_can_open(const struct hosts *h)
{
	return !h || !h->bridge;
}

/* Which of the processes of its host it is. */
static unsigned number_here(const struct hosts *h, unsigned *processes)
{
	unsigned number = 0;

	*processes = 0;
	for (unsigned i = 0; i < h->total; i++) {
		if (h->host_of[i] != h->host_of[h->rank])
			continue;
		number += i < h->rank;
		(*processes)++;
	}
	return number;
}

/* 0 = any. */
static unsigned port_of(const struct doors *d)
{
	const struct hosts *h = d->hosts;
	unsigned processes, number = number_here(h, &processes);

	return h->port ? h->port + 1u + d->cfg.number * processes + number : 0;
}

static void open_own(struct doors *d, struct door *mine)
{
	unsigned port = port_of(d);

	*mine = (struct door){ .hello = d->hosts->hellos[d->hosts->rank],
			       .same = d->cfg.same,
			       .connections = d->cfg.connections };
	d->listener = -1;
	if (port > UINT16_MAX)
		snprintf(mine->hello.why, sizeof(mine->hello.why),
			 "peers_port=%u: port %u, which this process would listen at, is none; "
			 "choose a lower one",
			 d->hosts->port, port);
	else
		d->listener = addresses_listen(&mine->hello, (uint16_t)port);
}

/* Of all of them, by rank. */
static int tell_all(struct doors *d, const struct door *mine, struct mlgen_err *err)
{
	struct buf all = { 0 };
	int rc = hosts_gather(d->hosts, mine, sizeof(*mine), &all, err);

	if (rc == 0)
		rc = hosts_share(d->hosts, &all, err);
	for (unsigned i = 0; i < d->hosts->total && rc == 0; i++) {
		size_t n;
		const char *part = hosts_part(&all, i, &n);

		if (!part || n != sizeof(*mine))
			rc = mlgen_fail(err, -EPIPE, "%s: host %s (rank %u) is gone", d->cfg.what,
					hosts_name(d->hosts, i), i);
		else
			memcpy(&d->of[i], part, n);
	}
	buf_fini(&all);
	return rc;
}

/* Of all who have another host: is there a way between them? */
static int look_for_networks(const struct doors *d, struct mlgen_err *err)
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

/* What is wrong is so for all. */
static int look_for_faults(const struct doors *d, struct mlgen_err *err)
{
	for (unsigned i = 0; i < d->hosts->total; i++) {
		const struct door *of = &d->of[i];

		if (of->hello.why[0])
			return mlgen_fail(err, -EADDRINUSE, "%s: host %s (rank %u): %s",
					  d->cfg.what, of->hello.name, i, of->hello.why);
		if (of->same != d->of[0].same)
			return mlgen_fail(err, -EINVAL,
					  "%s: host %s (rank %u) sees another data set than host "
					  "%s (rank 0); let all read the same one",
					  d->cfg.what, of->hello.name, i, d->of[0].hello.name);
	}
	return 0;
}

/* ---- who comes in ---- */

static bool take_connection(void *who, int fd, uint64_t rank)
{
	struct doors *d = who;
	const struct hosts *h = d->hosts;

	if (rank >= h->total || rank == h->rank || d->came_of[rank] == d->of[rank].connections)
		return false;
	d->came_of[rank]++;
	connect_set_options(fd, RECEIVE_S);
	d->from[d->came++] = fd;
	return true;
}

static void take_all(struct doors *d)
{
	uint64_t until_ns = star_now_ns() + COME_NS;
	struct greeter door;

	greeter_init(&door, d->listener, d->of[d->hosts->rank].hello.token, take_connection, d);
	while (d->came < d->expected && star_now_ns() < until_ns && !atomic_load(&d->is_failed))
		greeter_look(&door, LOOK_MS);
	greeter_fini(&door);
	greeter_tell(&door, d->strangers, sizeof(d->strangers));
}

/* While this one goes to the others: of many more are on their way than wait in a queue of the
 * kernel's. */
static void *take_main(void *doors)
{
	struct doors *d = doors;

	d->came_of = mem_array(d->hosts->total, sizeof(*d->came_of));
	take_all(d);
	mem_free(d->came_of);
	return NULL;
}

/* ---- to whom it goes ---- */

/* A connection on which it has said who it is; -errno with err. */
static int knock(const struct doors *d, unsigned rank, struct mlgen_err *err)
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

static int go_to_all(struct doors *d, struct mlgen_err *err)
{
	unsigned n = d->cfg.connections;

	for (unsigned i = 0; i < d->hosts->total * n; i++) {
		if (i / n == d->hosts->rank)
			continue;
		d->to[i] = knock(d, i / n, err);
		if (d->to[i] < 0)
			return err->code;
	}
	return 0;
}

/* ---- both ---- */

static void make_places(struct doors *d)
{
	unsigned to = d->hosts->total * d->cfg.connections;

	for (unsigned i = 0; i < d->hosts->total; i++)
		if (i != d->hosts->rank)
			d->expected += (unsigned)d->of[i].connections;
	d->to = mem_array(to, sizeof(*d->to));
	d->from = mem_array(d->expected, sizeof(*d->from));
	for (unsigned i = 0; i < to; i++)
		d->to[i] = -1;
}

static int meet_all(struct doors *d, struct mlgen_err *err)
{
	pthread_t taker;
	int rc;

	make_places(d);
	rc = thread_start(&taker, take_main, d);
	if (rc < 0)
		return mlgen_fail(err, rc, "%s: no thread: %s", d->cfg.what, strerror(-rc));
	rc = go_to_all(d, err);
	atomic_store(&d->is_failed, rc < 0);
	pthread_join(taker, NULL);
	if (rc == 0 && d->came < d->expected)
		rc = mlgen_fail(err, -ETIMEDOUT,
				"%s: %u of %u connections of the others have come within %u s%s",
				d->cfg.what, d->came, d->expected, (unsigned)(COME_NS / NS_PER_S),
				d->strangers);
	return rc;
}

static void shut_door(struct doors *d)
{
	if (d->listener >= 0)
		close(d->listener);
	d->listener = -1;
}

int doors_open(struct doors **out, struct hosts *h, const struct doors_config *cfg,
	       struct mlgen_err *err)
{
	struct doors *d = mem_zalloc(sizeof(*d));
	struct door mine;

	*out = d;
	d->hosts = h;
	d->cfg = *cfg;
	d->of = mem_array(h->total, sizeof(*d->of));
	open_own(d, &mine);
	int rc = tell_all(d, &mine, err);
	if (rc == 0)
		rc = look_for_faults(d, err);
	if (rc == 0)
		rc = look_for_networks(d, err);
	if (rc == 0)
		rc = hosts_agree(h, meet_all(d, err), err);
	shut_door(d);
	return rc;
}

void doors_free(struct doors *d)
{
	if (!d)
		return;
	shut_door(d);
	for (unsigned i = 0; d->to && i < d->hosts->total * d->cfg.connections; i++)
		if (d->to[i] >= 0)
			close(d->to[i]);
	for (unsigned i = 0; i < d->came; i++)
		close(d->from[i]);
	mem_free(d->to);
	mem_free(d->from);
	mem_free(d->of);
	mem_free(d);
}

int doors_to(const struct doors *d, unsigned rank, unsigned i)
{
	return d->to[rank * d->cfg.connections + i];
}

int doors_from(const struct doors *d, unsigned i)
{
	return i < d->came ? d->from[i] : -1;
}
