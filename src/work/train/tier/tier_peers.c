/* SPDX-License-Identifier: Apache-2.0 */
/* tier_peers.c - parts of a cache that lie with other processes, asked and served. */
#include "work/train/tier/tier_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
#include "hosts/hosts.h"

/* Connections of one pair, in one direction. */
#define TIER_CONNECTIONS 4u

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

static bool send_question(int fd, const struct tier_ask *ask, const unsigned char *memory)
{
	if (!connect_write(fd, ask, sizeof(*ask)))
		return false;
	return ask->kind != TIER_FILL ||
	       connect_write(fd, memory + ask->pieces[0].at, (size_t)ask->pieces[0].bytes);
}

/* Of who answers, too: bytes of the pieces, UINT64_MAX where one of them lies beyond a slot. */
static uint64_t tier_ask_bytes(const struct tier_ask *ask, uint64_t slot_bytes)
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

/* For who answers. */
static const struct doors *tier_peers_doors(const struct tier_peers *p)
{
	return p->doors;
}

/* What epoll says of what is no connection. */
#define IS_END UINT32_MAX

struct tier_server {
	struct tier_cache *cache;
	const struct doors *doors;
	struct tier_thread threads[TIER_SERVERS];
	unsigned started;
	int epoll, end;
};

/* It is one thread's, until it is watched again. */
static bool watch(struct tier_server *s, uint32_t number, int how)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT, .data.u32 = number };

	return epoll_ctl(s->epoll, how, doors_from(s->doors, number), &e) == 0;
}

/* ---- what they ask ---- */

static bool is_question(const struct tier_cache *c, const struct tier_ask *ask)
{
	uint64_t bytes = tier_ask_bytes(ask, c->tier->slot_bytes);

	return (ask->kind == TIER_GET || ask->kind == TIER_FILL) && bytes != UINT64_MAX &&
	       ask->slot < c->all_slots && tier_is_here(c, ask->slot) &&
	       ask->generation <= TIER_GENERATION_MOST &&
	       (ask->kind == TIER_GET || (ask->count == 1 && ask->pieces[0].at == 0));
}

static bool answer_with(int fd, uint32_t said, uint32_t sum)
{
	const struct tier_answer a = { .said = said, .sum = sum };

	return connect_write(fd, &a, sizeof(a));
}

/* Its bytes, or -errno. */
static int tier_server_look_at(struct tier_thread *th, const struct tier_ask *ask)
{
	struct tier_loader *l = th->loader;
	struct tier_way *w = &l->ways[0];
	const struct read_task *task;

	if (!l->tier->place->fetch)
		return 0;
	l->tier->place->fetch(w, ask);
	if (tier_thread_finish(th, "cache_scope=all", &task) < 0)
		return th->err.code;
	return task->error;
}

static bool send_pieces(struct tier_way *w, int fd, const struct tier_ask *ask)
{
	const struct tier_loader *l = w->loader;
	const struct tier_cache *c = l->cache;
	const unsigned char *memory = l->tier->place->look(w);
	const struct tier_answer a = { .said = TIER_THERE,
				       .sum = c->sums ? c->sums[tier_slot_here(c, ask->slot)] : 0,
				       .bytes = tier_ask_bytes(ask, l->tier->slot_bytes) };
	bool is_sent = connect_write(fd, &a, sizeof(a));

	for (unsigned i = 0; i < ask->count && is_sent; i++)
		is_sent =
			connect_write(fd, memory + ask->pieces[i].at, (size_t)ask->pieces[i].bytes);
	return is_sent;
}

static void aim(struct tier_way *w, const struct tier_ask *ask)
{
	w->d = (struct tier_decision){ .slot = ask->slot, .generation = ask->generation };
	w->extent = (struct extent){ .id = ask->extent };
	w->is_held = w->is_passed_on = w->is_remote = false;
}

/* It stays in its slot until it is sent. */
static bool answer_get(struct tier_thread *th, int fd, const struct tier_ask *ask)
{
	struct tier_loader *l = th->loader;
	struct tier_way *w = &l->ways[0];
	_Atomic uint64_t *word = tier_word(l->cache, ask->slot);
	bool is_sent;

	aim(w, ask);
	if (!tier_slot_enter(word, ask->generation))
		return answer_with(fd, TIER_NOT_THERE, 0);
	int rc = tier_server_look_at(th, ask);

	is_sent = rc < 0 ? answer_with(fd, TIER_FAILED, (uint32_t)-rc) : send_pieces(w, fd, ask);
	tier_slot_leave(word);
	if (is_sent && rc == 0) {
		l->tally.served_samples += ask->samples;
		l->tally.served_bytes += tier_ask_bytes(ask, l->tier->slot_bytes);
	}
	return is_sent;
}

/* What is not kept has come all the same. */
static bool drain(struct tier_thread *th, int fd, uint64_t bytes)
{
	size_t part;
	unsigned char *buffer = io_buffer(th->worker.io, &part);

	while (bytes) {
		size_t n = (size_t)u64_min(part, bytes);

		if (!connect_read(fd, buffer, n))
			return false;
		bytes -= n;
	}
	return true;
}

/* Where it is received: in memory its slot, if it is to be filled. NULL: it is not kept. */
static unsigned char *place_to_fill(struct tier_way *w)
{
	const struct tier_place *place = w->loader->tier->place;
	struct tier_cache *c = w->loader->cache;

	if (place->keep)
		return w->memory;
	w->is_held = tier_slot_fill(tier_word(c, w->d.slot), w->d.generation, true);
	return w->is_held ? tier_memory_slot(w) : NULL;
}

/* What has come is kept, if it is what was sent: what is said of it. */
static uint32_t server_keep(struct tier_thread *th, const struct tier_ask *ask,
			    const unsigned char *memory)
{
	struct tier_loader *l = th->loader;
	struct tier_way *w = &l->ways[0];
	const struct tier_place *place = l->tier->place;
	bool is_wrong = l->cache->sums && tier_sum(memory, w->kept_bytes) != ask->sum;

	if (!place->keep)
		tier_memory_filled(w, !is_wrong);
	else if (!is_wrong)
		return place->keep(th, w);
	return is_wrong ? TIER_DROPPED : TIER_KEPT;
}

static bool answer_fill(struct tier_thread *th, int fd, const struct tier_ask *ask)
{
	struct tier_loader *l = th->loader;
	struct tier_way *w = &l->ways[0];
	uint64_t bytes = ask->pieces[0].bytes;
	uint32_t said = TIER_DROPPED;

	tier_turn_to_epoch(l, ask->epoch);
	aim(w, ask);
	w->bytes = w->kept_bytes = bytes;
	unsigned char *to = place_to_fill(w);
	bool is_there = to ? connect_read(fd, to, (size_t)bytes) : drain(th, fd, bytes);

	if (!is_there && w->is_held)
		tier_slot_filled(tier_word(l->cache, ask->slot), ask->generation, false);
	if (!is_there)
		return false;
	if (to)
		said = server_keep(th, ask, to);
	l->tally.received_bytes += bytes;
	if (said == TIER_FAILED)
		return answer_with(fd, said, (uint32_t)-th->err.code);
	return answer_with(fd, said, 0);
}

static bool answer(struct tier_thread *th, int fd)
{
	struct tier_ask ask;

	tier_thread_begin(th);
	if (!connect_read(fd, &ask, sizeof(ask)) || !is_question(th->cache, &ask))
		return false;
	return ask.kind == TIER_GET ? answer_get(th, fd, &ask) : answer_fill(th, fd, &ask);
}

/* Who says no question is shut out. */
static void serve(struct tier_thread *th, uint32_t number)
{
	struct tier_server *s = th->arg;
	int fd = doors_from(s->doors, number);

	if (!answer(th, fd) || !watch(s, number, EPOLL_CTL_MOD))
		shutdown(fd, SHUT_RDWR);
}

static void serve_all(struct tier_thread *th)
{
	struct tier_server *s = th->arg;
	struct epoll_event e;

	for (;;) {
		if (epoll_wait(s->epoll, &e, 1, -1) != 1)
			continue; /* a signal */
		if (e.data.u32 == IS_END)
			break;
		serve(th, e.data.u32);
		io_wake(th->worker.io);
	}
}

/* ---- its life ---- */

/* A part of a question wakes a thread, too: with SO_RCVLOWAT the last bytes of a fill, where these
 * are fewer, would not wake who waits for them. */
static int open_polls(struct tier_server *s, struct mlgen_err *err)
{
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = IS_END };
	bool is_good;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->end = eventfd(0, EFD_CLOEXEC);
	is_good =
		s->epoll >= 0 && s->end >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->end, &e) == 0;
	for (uint32_t i = 0; is_good && doors_from(s->doors, i) >= 0; i++)
		is_good = watch(s, i, EPOLL_CTL_ADD);
	return is_good ? 0 : mlgen_fail(err, -errno, "cache_scope=all: epoll: %s", strerror(errno));
}

static int start_threads(struct tier_server *s, struct mlgen_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < TIER_SERVERS && rc == 0; i++) {
		s->threads[i] = (struct tier_thread){
			.cache = s->cache,
			.role = "cache server",
			.number = i,
			.files = 2 + tier_open_files(s->cache->tier->job),
			.buf_bytes = TIER_SERVER_BYTES,
			.fills_itself = true,
			.work = serve_all,
			.arg = s,
		};
		tier_thread_init(&s->threads[i]);
		rc = tier_thread_start(&s->threads[i], err);
		s->started += rc == 0;
	}
	return rc;
}

int tier_server_start(struct tier_server **out, struct tier_cache *c,
		      const struct tier_peers *peers, struct mlgen_err *err)
{
	struct tier_server *s = *out = mem_zalloc(sizeof(*s));

	s->cache = c;
	s->doors = tier_peers_doors(peers);
	int rc = open_polls(s, err);
	return rc ? rc : start_threads(s, err);
}

int tier_server_end(struct tier_server *s, struct mlgen_err *err)
{
	const uint64_t one = 1;
	int rc = 0;

	if (s->end >= 0 && write(s->end, &one, sizeof(one)) < 0)
		rc = -errno; /* only 2^64 of them would not fit */
	for (unsigned i = 0; i < s->started; i++) {
		int met = tier_thread_join(&s->threads[i], err);

		rc = rc ? rc : met;
	}
	s->started = 0;
	return rc;
}

void tier_server_free(struct tier_server *s)
{
	if (!s)
		return;
	tier_server_end(s, NULL);
	for (unsigned i = 0; i < TIER_SERVERS; i++)
		tier_thread_fini(&s->threads[i]);
	if (s->epoll >= 0)
		close(s->epoll);
	if (s->end >= 0)
		close(s->end);
	mem_free(s);
}
