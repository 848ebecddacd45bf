/* SPDX-License-Identifier: Apache-2.0 */
/* tier_peers.c - see tier_peers.h. */
#include "run/tier_peers.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include "base/mem.h"
#include "base/util.h"
#include "hosts/ballot.h"
#include "hosts/channels.h"
#include "hosts/connect.h"
#include "run/tier_inside.h"

/* Connections to one of the others. */
struct pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fds[TIER_CONNECTIONS];
	bool is_taken[TIER_CONNECTIONS];
};

struct tier_peers {
	struct hosts *hosts;
	struct doors *doors;
	struct ballot *ballot;
	struct pool *pools; /* by rank */
	unsigned count, connections;
	_Atomic bool is_cut;
};

static const char what[] = "cache_scope=all";

/* ---- connections ---- */

static void pool_init(struct pool *p)
{
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	for (unsigned i = 0; i < TIER_CONNECTIONS; i++)
		p->fds[i] = -1;
}

static void pool_fini(struct pool *p)
{
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
}

/* With the lock held; TIER_CONNECTIONS: all are taken. */
static unsigned pool_free(const struct pool *p, unsigned most)
{
	for (unsigned i = 0; i < most; i++)
		if (!p->is_taken[i])
			return i;
	return TIER_CONNECTIONS;
}

/* Waits for one. TIER_CONNECTIONS: it was cut. */
static unsigned pool_take(struct tier_peers *all, struct pool *p)
{
	unsigned i;

	pthread_mutex_lock(&p->lock);
	while ((i = pool_free(p, all->connections)) == TIER_CONNECTIONS &&
	       !atomic_load(&all->is_cut))
		pthread_cond_wait(&p->changed, &p->lock);
	if (atomic_load(&all->is_cut))
		i = TIER_CONNECTIONS;
	else
		p->is_taken[i] = true;
	pthread_mutex_unlock(&p->lock);
	return i;
}

static void pool_give_back(struct pool *p, unsigned i)
{
	pthread_mutex_lock(&p->lock);
	p->is_taken[i] = false;
	pthread_cond_signal(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

/* ---- questions ---- */

uint64_t tier_ask_bytes(const struct tier_ask *ask, uint64_t slot_bytes)
{
	uint64_t bytes = 0;

	if (ask->count == 0 || ask->count > TIER_ASK_PIECES)
		return UINT64_MAX;
	for (unsigned i = 0; i < ask->count; i++) {
		const struct tier_piece *p = &ask->pieces[i];

		if (p->at > slot_bytes || p->bytes > slot_bytes - p->at)
			return UINT64_MAX;
		bytes += p->bytes;
	}
	return bytes;
}

static bool send_question(int fd, const struct tier_ask *ask, const unsigned char *memory)
{
	if (!connect_write(fd, ask, sizeof(*ask)))
		return false;
	return ask->kind != TIER_FILL ||
	       connect_write(fd, memory + ask->pieces[0].at, (size_t)ask->pieces[0].bytes);
}

/* errno EPROTO: it has said what is no answer. */
static bool receive_answer(int fd, const struct tier_ask *ask, unsigned char *memory,
			   struct tier_answer *a)
{
	if (!connect_read(fd, a, sizeof(*a)))
		return false;
	errno = EPROTO;
	if (ask->kind == TIER_FILL)
		return a->said >= TIER_KEPT && a->said <= TIER_FAILED;
	if (a->said != TIER_THERE)
		return a->said == TIER_NOT_THERE || a->said == TIER_FAILED;
	if (a->bytes != tier_ask_bytes(ask, UINT64_MAX))
		return false;
	for (unsigned i = 0; i < ask->count; i++)
		if (!connect_read(fd, memory + ask->pieces[i].at, (size_t)ask->pieces[i].bytes))
			return false;
	return true;
}

static const char *why_lost(int code)
{
	return code == 0             ? "it has closed a connection"
	       : code == EWOULDBLOCK ? "it has not answered for 10 s"
				     : strerror(code);
}

static int fail_peer(const struct tier_peers *p, unsigned rank, int code, struct mlgen_err *err)
{
	return mlgen_fail(err, -EPIPE,
			  "%s: host %s (rank %u): its part of the cache cannot be asked: %s", what,
			  hosts_name(p->hosts, rank), rank, why_lost(code));
}

static int ask_over(struct tier_peers *p, unsigned rank, unsigned i, const struct tier_ask *ask,
		    unsigned char *memory, struct tier_answer *answer, struct mlgen_err *err)
{
	int fd = p->pools[rank].fds[i];

	if (send_question(fd, ask, memory) && receive_answer(fd, ask, memory, answer)) {
		if (answer->said != TIER_FAILED)
			return 0;
		return fail_peer(p, rank, (int)answer->sum, err);
	}
	int code = errno;
	/* What comes late is no answer to another question. */
	shutdown(fd, SHUT_RDWR);
	return fail_peer(p, rank, code, err);
}

int tier_peers_ask(struct tier_peers *p, unsigned rank, const struct tier_ask *ask,
		   unsigned char *memory, struct tier_answer *answer, struct mlgen_err *err)
{
	struct pool *pool = &p->pools[rank];
	unsigned i = pool_take(p, pool);

	if (i == TIER_CONNECTIONS)
		return mlgen_fail(err, -ECANCELED, "%s: the run is ending", what);
	int rc = ask_over(p, rank, i, ask, memory, answer, err);
	pool_give_back(pool, i);
	return rc;
}

/* ---- its life ---- */

/* As many as there are threads that may ask, and no more than are worth it. */
static unsigned connections_of(const struct job *j)
{
	return (unsigned)u64_min(j->accelerators * job_readers(j), TIER_CONNECTIONS);
}

static bool is_asked_for(const struct job *j)
{
	return j->cache != CACHE_NONE && job_cache_parts(j) > 1 && tier_place_of(j)->keeps;
}

uint64_t tier_peers_files(const struct job *j)
{
	/* The others' may be as many as any job has. */
	return is_asked_for(j)
		       ? (job_cache_parts(j) - 1) * (connections_of(j) + TIER_CONNECTIONS) + 3
		       : 0;
}

static void fill_pools(struct tier_peers *p)
{
	for (unsigned rank = 0; rank < p->count; rank++)
		for (unsigned i = 0; i < p->connections; i++)
			p->pools[rank].fds[i] = doors_to(p->doors, rank, i);
}

int tier_peers_open(struct tier_peers **out, const struct job *job, const struct pass *pass,
		    const struct tier_peers_config *cfg, struct mlgen_err *err)
{
	const struct doors_config doors = {
		.what = what,
		.way_out = ", or use cache_scope=host",
		.connections = connections_of(job),
		.number = cfg->number,
		.same = is_asked_for(job) ? tier_identity(job, pass) : 0,
	};
	struct tier_peers *p;

	*out = NULL;
	if (!is_asked_for(job))
		return 0;
	p = *out = mem_zalloc(sizeof(*p));
	p->hosts = cfg->hosts;
	p->count = hosts_total(cfg->hosts);
	p->connections = connections_of(job);
	p->pools = mem_array(p->count, sizeof(*p->pools));
	for (unsigned i = 0; i < p->count; i++)
		pool_init(&p->pools[i]);
	p->ballot = ballot_open(cfg->hosts, cfg->channel);
	int rc = doors_open(&p->doors, cfg->hosts, &doors, err);
	if (rc == 0)
		fill_pools(p);
	return rc;
}

void tier_peers_free(struct tier_peers *p)
{
	if (!p)
		return;
	ballot_free(p->ballot);
	for (unsigned i = 0; i < p->count; i++)
		pool_fini(&p->pools[i]);
	doors_free(p->doors);
	mem_free(p->pools);
	mem_free(p);
}

void tier_peers_await(struct tier_peers *p)
{
	uint64_t none;

	/* That one is gone is told by who watches. */
	if (p && ballot_vote(p->ballot, 0, &none) < 0)
		return;
}

void tier_peers_leave(struct tier_peers *p)
{
	if (p)
		ballot_close(p->ballot);
}

void tier_peers_cut(struct tier_peers *p)
{
	if (!p || atomic_exchange(&p->is_cut, true))
		return;
	for (unsigned i = 0; i < p->count; i++) {
		struct pool *pool = &p->pools[i];

		pthread_mutex_lock(&pool->lock);
		for (unsigned k = 0; k < TIER_CONNECTIONS; k++)
			if (pool->fds[k] >= 0)
				shutdown(pool->fds[k], SHUT_RDWR);
		pthread_cond_broadcast(&pool->changed);
		pthread_mutex_unlock(&pool->lock);
	}
}

const struct doors *tier_peers_doors(const struct tier_peers *p)
{
	return p->doors;
}
