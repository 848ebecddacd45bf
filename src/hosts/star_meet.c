/* SPDX-License-Identifier: Apache-2.0 */
/* star_meet.c - processes that know each other through MPI connect, and compare their clocks; see
 * hosts_inside.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/util.h"
#include "hosts/addresses.h"
#include "hosts/connect.h"
#include "hosts/greeter.h"
#include "hosts/hosts_inside.h"
#include "hosts/meet.h"

/* How long rank 0 waits for all of them. */
#define ACCEPT_NS (10 * NS_PER_S)
/* What it says may take longer: nothing before all have come. */
#define RECEIVE_S 20
#define PINGS 16
/* All pings of one process, which answers as soon as it has connected. */
#define PINGS_NS (10 * NS_PER_S)

/* What rank 0 found out about a clock. */
struct offset {
	int64_t ns;
	uint64_t unsure_ns;
};

/* ---- rank 0 ---- */

static bool take_connection(void *who, int fd, uint64_t rank)
{
	struct hosts *h = who;

	if (rank == 0 || rank >= h->total || star_peer(h, (unsigned)rank)->fd >= 0)
		return false;
	connect_set_options(fd, (unsigned)(PINGS_NS / NS_PER_S));
	star_peer(h, (unsigned)rank)->fd = fd;
	return true;
}

static unsigned count_connected(const struct hosts *h)
{
	unsigned met = 0;

	for (unsigned i = 0; i < h->peer_count; i++)
		met += h->peers[i].fd >= 0;
	return met;
}

/* False: why not, in `mine`. */
static bool accept_all(struct hosts *h, int listener, struct hello *mine)
{
	uint64_t until_ns = star_now_ns() + ACCEPT_NS, now_ns;
	struct greeter door;
	char strangers[128];
	unsigned met;

	greeter_init(&door, listener, h->hellos[0].token, take_connection, h);
	while ((met = count_connected(h)) < h->peer_count && (now_ns = star_now_ns()) < until_ns)
		greeter_look(&door, (int)divide_up(until_ns - now_ns, 1000000));
	greeter_fini(&door);
	if (met == h->peer_count)
		return true;
	snprintf(mine->why, sizeof(mine->why),
		 "%u of %u other processes connected to it within %u s%s", met, h->peer_count,
		 (unsigned)(ACCEPT_NS / NS_PER_S),
		 greeter_tell(&door, strangers, sizeof(strangers)));
	return false;
}

/* The quickest answer says most: it is half of its way old, give or take that. */
static bool measure_clock(struct peer *p)
{
	struct offset best = { .unsure_ns = UINT64_MAX };
	uint64_t until_ns = star_now_ns() + PINGS_NS;

	for (unsigned i = 0; i < PINGS; i++) {
		uint64_t from_ns = star_now_ns();
		int64_t mine_ns = (int64_t)clock_wall_ns(), theirs_ns = 0;

		if (!connect_write(p->fd, &mine_ns, sizeof(mine_ns)) ||
		    !connect_read(p->fd, &theirs_ns, sizeof(theirs_ns)))
			return false;
		if (star_now_ns() > until_ns)
			return false;
		uint64_t half_ns = (star_now_ns() - from_ns) / 2;

		if (half_ns < best.unsure_ns)
			best = (struct offset){ theirs_ns - mine_ns - (int64_t)half_ns, half_ns };
	}
	return connect_write(p->fd, &best, sizeof(best));
}

static void receive_all(struct hosts *h, int listener, struct hello *mine)
{
	if (!accept_all(h, listener, mine))
		return;
	for (unsigned i = 0; i < h->peer_count && !mine->why[0]; i++)
		if (!measure_clock(&h->peers[i]))
			snprintf(mine->why, sizeof(mine->why),
				 "the connection of rank %u (host %s) broke", i + 1,
				 h->hellos[i + 1].name);
}

/* ---- the others ---- */

static void answer_clock(int fd, struct hello *mine)
{
	struct offset best = { 0 };
	uint64_t until_ns = 0;
	int64_t ns;

	/* Their time begins with the first one, which comes when all are there. */
	for (unsigned i = 0; i < PINGS; i++) {
		if (!connect_read(fd, &ns, sizeof(ns)) || (i && star_now_ns() > until_ns))
			break;
		until_ns = i ? until_ns : star_now_ns() + PINGS_NS;
		ns = (int64_t)clock_wall_ns();
		if (!connect_write(fd, &ns, sizeof(ns)))
			break;
	}
	if (!connect_read(fd, &best, sizeof(best)))
		snprintf(mine->why, sizeof(mine->why), "rank 0 closed the connection");
	mine->clock_offset_ns = best.ns;
	mine->clock_unsure_ns = best.unsure_ns;
}

static void reach_rank_0(struct hosts *h, struct hello *mine)
{
	const struct hello *to = &h->hellos[0];
	const struct greeting g = { .token = to->token, .rank = h->rank };
	const struct connect_to at = {
		.hello = to,
		.is_same_host = hello_is_same_host(mine, to),
		.way_out = " (peers_port= says which port is used), or set barrier_over=mpi"
	};
	int fd = connect_any(&at, mine->why, sizeof(mine->why));

	if (fd < 0)
		return;
	connect_set_options(fd, RECEIVE_S);
	h->peers[0].fd = fd;
	if (!connect_write(fd, &g, sizeof(g)))
		snprintf(mine->why, sizeof(mine->why), "rank 0 closed the connection: %s",
			 strerror(errno));
	else
		answer_clock(fd, mine);
}

/* ---- both ---- */

static int exchange(struct hosts *h, const struct hello *mine, struct mlgen_err *err)
{
	if (h->mpi->exchange(mine, sizeof(*mine), h->hellos) == 0)
		return 0;
	return mlgen_fail(err, -EIO, "MPI_Iallgather of %s failed", h->mpi->name);
}

/* What is wrong is wrong for all; of a rank that could not connect more is known than of rank 0,
 * which waited for it. */
static int look_for_faults(struct hosts *h, struct mlgen_err *err)
{
	for (unsigned i = 1; i <= h->total; i++) {
		unsigned rank = i % h->total;
		const struct hello *of = &h->hellos[rank];

		if (strcmp(of->version, h->hellos[0].version) != 0)
			return mlgen_fail(err, -EINVAL,
					  "host %s (rank %u) has mlgen %s, host %s (rank 0) has "
					  "mlgen %s: use one version",
					  of->name, rank, of->version, h->hellos[0].name,
					  h->hellos[0].version);
		if (of->why[0])
			return mlgen_fail(err, -EHOSTUNREACH, "host %s (rank %u): %s", of->name,
					  rank, of->why);
	}
	return 0;
}

/* Do they have addresses of one family? */
static int look_for_networks(struct hosts *h, struct mlgen_err *err)
{
	const struct hello *to = &h->hellos[0];
	char why[MLGEN_ERR_MAX - 64];

	for (unsigned i = 1; i < h->total; i++)
		if (!hello_is_same_host(&h->hellos[i], to) &&
		    !addresses_can_meet(&h->hellos[i], i, to, 0, why, sizeof(why)))
			return mlgen_fail(err, -EHOSTUNREACH, "%s, or set barrier_over=mpi", why);
	return 0;
}

static void make_peers(struct hosts *h)
{
	h->peer_count = h->rank == 0 ? h->total - 1 : 1;
	h->peers = mem_array(h->peer_count, sizeof(*h->peers));
	for (unsigned i = 0; i < h->peer_count; i++) {
		h->peers[i].rank = h->rank == 0 ? i + 1 : 0;
		h->peers[i].fd = -1;
		pthread_mutex_init(&h->peers[i].sending, NULL);
	}
}

int star_meet(struct hosts *h, const struct hosts_config *cfg, struct mlgen_err *err)
{
	struct hello mine = h->hellos[h->rank];
	int listener = -1;

	make_peers(h);
	if (h->rank == 0 && !cfg->over_mpi)
		listener = addresses_listen(&mine, cfg->port);
	else if (!cfg->over_mpi)
		addresses_list(&mine);
	if (getrandom(&mine.token, sizeof(mine.token), 0) < 0)
		mine.token = clock_wall_ns();
	int rc = exchange(h, &mine, err);
	if (rc == 0)
		rc = look_for_faults(h, err);
	if (rc == 0 && !cfg->over_mpi)
		rc = look_for_networks(h, err);
	if (rc == 0 && !cfg->over_mpi) {
		if (h->rank == 0)
			receive_all(h, listener, &mine);
		else
			reach_rank_0(h, &mine);
		rc = exchange(h, &mine, err);
	}
	if (listener >= 0)
		close(listener);
	return rc ? rc : look_for_faults(h, err);
}
