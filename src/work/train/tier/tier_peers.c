/* SPDX-License-Identifier: Apache-2.0 */
/* tier_peers.c - request slots of a cache from other processes, and serve their requests. */
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

/* Maximum number of connections from one process to another. */
#define TIER_CONNECTIONS 4u

/* Connections to another process. */
struct pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int fds[TIER_CONNECTIONS];
	bool is_in_use[TIER_CONNECTIONS];
};

struct tier_peers {
	struct hosts *hosts;
	struct peer_links *peer_links;
	struct ballot *ballot;
	struct pool *pools; /* indexed by rank */
	unsigned count, connections;
	_Atomic bool is_aborted;
};

static const char what[] = "cache_scope=all";

/* ---- connections ---- */

/* Wait for a free connection and claim it. TIER_CONNECTIONS: the tier was aborted. */
static unsigned pool_claim(struct tier_peers *all, struct pool *p)
{
	unsigned i = 0;

	pthread_mutex_lock(&p->lock);
	while (!atomic_load(&all->is_aborted)) {
		for (i = 0; i < all->connections && p->is_in_use[i]; i++)
			;
		if (i < all->connections)
			break;
		pthread_cond_wait(&p->changed, &p->lock);
	}
	if (atomic_load(&all->is_aborted))
		i = TIER_CONNECTIONS;
	else
		p->is_in_use[i] = true;
	pthread_mutex_unlock(&p->lock);
	return i;
}

/* ---- requests ---- */

static bool send_request(int fd, const struct tier_request *ask, const unsigned char *memory)
{
	if (!connect_write(fd, ask, sizeof(*ask)))
		return false;
	return ask->kind != TIER_FILL ||
	       connect_write(fd, memory + ask->pieces[0].at, (size_t)ask->pieces[0].bytes);
}

/* Total bytes of a request's pieces; UINT64_MAX if a piece lies beyond the slot. */
static uint64_t tier_ask_bytes(const struct tier_request *ask, uint64_t slot_bytes)
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

/* errno is EPROTO if the bytes are not a valid reply. */
static bool receive_reply(int fd, const struct tier_request *ask, unsigned char *memory,
			  struct tier_reply *a)
{
	if (!connect_read(fd, a, sizeof(*a)))
		return false;
	errno = EPROTO;
	if (ask->kind == TIER_FILL)
		return a->said >= TIER_STORED && a->said <= TIER_FAILED;
	if (a->said != TIER_PRESENT)
		return a->said == TIER_ABSENT || a->said == TIER_FAILED;
	if (a->bytes != tier_ask_bytes(ask, UINT64_MAX))
		return false;
	for (unsigned i = 0; i < ask->count; i++)
		if (!connect_read(fd, memory + ask->pieces[i].at, (size_t)ask->pieces[i].bytes))
			return false;
	return true;
}

int tier_peers_request(struct tier_peers *p, unsigned rank, const struct tier_request *ask,
		       unsigned char *memory, struct tier_reply *answer, struct mlgen_err *err)
{
	struct pool *pool = &p->pools[rank];
	unsigned i = pool_claim(p, pool);
	int code = 0, fd;

	if (i == TIER_CONNECTIONS)
		return mlgen_fail(err, -ECANCELED, "%s: the run is ending", what);
	fd = pool->fds[i];
	bool is_lost = !send_request(fd, ask, memory) || !receive_reply(fd, ask, memory, answer);

	if (is_lost) {
		code = errno;
		/* A late reply must not be taken for the reply to another request. */
		shutdown(fd, SHUT_RDWR);
	} else if (answer->said == TIER_FAILED) {
		code = (int)answer->sum;
	}
	pthread_mutex_lock(&pool->lock);
	pool->is_in_use[i] = false;
	pthread_cond_signal(&pool->changed);
	pthread_mutex_unlock(&pool->lock);
	if (!is_lost && answer->said != TIER_FAILED)
		return 0;

	const char *why = strerror(code);
	if (code == 0)
		why = "it has closed a connection";
	else if (code == EWOULDBLOCK)
		why = "it has not answered for 10 s";
	return mlgen_fail(err, -EPIPE,
			  "%s: host %s (rank %u): its part of the cache cannot be reached: %s",
			  what, hosts_name(p->hosts, rank), rank, why);
}

/* ---- life cycle of the connections ---- */

/* Number of connections to another process: one for each thread that may send requests, up to the
 * maximum. */
static unsigned connections_of(const struct job *j)
{
	return (unsigned)u64_min(j->accelerators * job_readers(j), TIER_CONNECTIONS);
}

static bool is_needed(const struct job *j)
{
	return j->cache != CACHE_NONE && job_cache_parts(j) > 1 && tier_backend_of(j)->stores_bytes;
}

uint64_t tier_peers_files(const struct job *j)
{
	/* The number of connections from other processes is not known here, so assume the
	 * maximum. */
	return is_needed(j) ? (job_cache_parts(j) - 1) * (connections_of(j) + TIER_CONNECTIONS) + 3
			    : 0;
}

int tier_peers_open(struct tier_peers **out, const struct job *job, const struct pass *pass,
		    const struct tier_peers_config *cfg, struct mlgen_err *err)
{
	const struct peer_links_config peer_links = {
		.what = what,
		.way_out = ", or use cache_scope=host",
		.connections = connections_of(job),
		.number = cfg->number,
		.same = is_needed(job) ? tier_identity(job, pass) : 0,
	};
	struct tier_peers *p;

	*out = NULL;
	if (!is_needed(job))
		return 0;
	p = *out = mem_zalloc(sizeof(*p));
	p->hosts = cfg->hosts;
	p->count = hosts_total(cfg->hosts);
	p->connections = connections_of(job);
	p->pools = mem_array(p->count, sizeof(*p->pools));
	for (unsigned i = 0; i < p->count; i++) {
		pthread_mutex_init(&p->pools[i].lock, NULL);
		pthread_cond_init(&p->pools[i].changed, NULL);
		for (unsigned k = 0; k < TIER_CONNECTIONS; k++)
			p->pools[i].fds[k] = -1;
	}
	p->ballot = ballot_open(cfg->hosts, cfg->channel);
	int rc = peer_links_open(&p->peer_links, cfg->hosts, &peer_links, err);
	for (unsigned rank = 0; rank < p->count && rc == 0; rank++)
		for (unsigned i = 0; i < p->connections; i++)
			p->pools[rank].fds[i] = peer_links_to(p->peer_links, rank, i);
	return rc;
}

void tier_peers_free(struct tier_peers *p)
{
	if (!p)
		return;
	ballot_free(p->ballot);
	for (unsigned i = 0; i < p->count; i++) {
		pthread_cond_destroy(&p->pools[i].changed);
		pthread_mutex_destroy(&p->pools[i].lock);
	}
	peer_links_free(p->peer_links);
	mem_free(p->pools);
	mem_free(p);
}

void tier_peers_wait(struct tier_peers *p)
{
	uint64_t none;

	/* A lost process is reported by the code that watches the hosts. */
	if (p && ballot_vote(p->ballot, 0, &none) < 0)
		return;
}

void tier_peers_leave(struct tier_peers *p)
{
	if (p)
		ballot_close(p->ballot);
}

void tier_peers_abort(struct tier_peers *p)
{
	if (!p || atomic_exchange(&p->is_aborted, true))
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

/* epoll data of the eventfd that ends the threads, in place of a connection's number. */
#define END_EVENT UINT32_MAX

struct tier_server {
	struct tier_cache *cache;
	const struct peer_links *peer_links;
	struct tier_thread threads[TIER_SERVERS];
	unsigned started;
	int epoll, end;
};

/* Watch a connection. An event hands the connection to one thread, which owns the connection until
 * that thread calls watch again. */
static bool watch(struct tier_server *s, uint32_t number, int how)
{
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT, .data.u32 = number };

	return epoll_ctl(s->epoll, how, peer_links_from(s->peer_links, number), &e) == 0;
}

/* ---- serving requests ---- */

static bool is_valid_request(const struct tier_cache *c, const struct tier_request *ask)
{
	uint64_t bytes = tier_ask_bytes(ask, c->tier->slot_bytes);

	return (ask->kind == TIER_GET || ask->kind == TIER_FILL) && bytes != UINT64_MAX &&
	       ask->slot < c->all_slots && tier_slot_is_local(c, ask->slot) &&
	       ask->generation <= TIER_GENERATION_MAX &&
	       (ask->kind == TIER_GET || (ask->count == 1 && ask->pieces[0].at == 0));
}

static bool send_status(int fd, uint32_t said, uint32_t sum)
{
	const struct tier_reply a = { .said = said, .sum = sum };

	return connect_write(fd, &a, sizeof(a));
}

static bool send_pieces(struct tier_transfer *tr, int fd, const struct tier_request *ask)
{
	const struct tier_loader *l = tr->loader;
	const struct tier_cache *c = l->cache;
	const unsigned char *memory = l->tier->backend->address(tr);
	const struct tier_reply a = { .said = TIER_PRESENT,
				      .sum = c->sums ? c->sums[tier_local_index(c, ask->slot)] : 0,
				      .bytes = tier_ask_bytes(ask, l->tier->slot_bytes) };
	bool is_sent = connect_write(fd, &a, sizeof(a));

	for (unsigned i = 0; i < ask->count && is_sent; i++)
		is_sent =
			connect_write(fd, memory + ask->pieces[i].at, (size_t)ask->pieces[i].bytes);
	return is_sent;
}

static void set_slot(struct tier_transfer *tr, const struct tier_request *ask)
{
	tr->d = (struct tier_decision){ .slot = ask->slot, .generation = ask->generation };
	tr->extent = (struct extent){ .id = ask->extent };
	tr->has_claimed = tr->is_queued = tr->is_remote = false;
}

/* Serve a get. The thread is a reader of the slot until the bytes are sent. */
static bool serve_get(struct tier_thread *th, int fd, const struct tier_request *ask)
{
	struct tier_loader *l = th->loader;
	struct tier_transfer *tr = &l->transfers[0];
	const struct read_task *task;
	_Atomic uint64_t *word = tier_word(l->cache, ask->slot);
	int rc = 0;

	set_slot(tr, ask);
	if (!tier_slot_enter(word, ask->generation))
		return send_status(fd, TIER_ABSENT, 0);
	if (l->tier->backend->fetch) {
		l->tier->backend->fetch(tr, ask);
		rc = tier_thread_finish(th, "cache_scope=all", &task) < 0 ? th->err.code
									  : task->error;
	}
	bool is_sent =
		rc < 0 ? send_status(fd, TIER_FAILED, (uint32_t)-rc) : send_pieces(tr, fd, ask);
	tier_slot_leave(word);
	if (is_sent && rc == 0) {
		l->tally.served_samples += ask->samples;
		l->tally.served_bytes += tier_ask_bytes(ask, l->tier->slot_bytes);
	}
	return is_sent;
}

/* Receive and discard the bytes of a fill that is not kept. */
static bool discard(struct tier_thread *th, int fd, uint64_t bytes)
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

/* The address to which a fill is received: the slot itself if the cache is in memory. NULL: the
 * fill is not kept. */
static unsigned char *claim_memory(struct tier_transfer *tr)
{
	const struct tier_backend *backend = tr->loader->tier->backend;

	if (backend->store)
		return tr->memory;
	tr->has_claimed =
		tier_slot_fill(tier_word(tr->loader->cache, tr->d.slot), tr->d.generation, true);
	return tr->has_claimed ? tier_memory_slot(tr) : NULL;
}

/* Keep received bytes if their checksum is right. Returns an enum tier_status. */
static uint32_t store_fill(struct tier_thread *th, const struct tier_request *ask,
			   const unsigned char *memory)
{
	struct tier_loader *l = th->loader;
	struct tier_transfer *tr = &l->transfers[0];
	const struct tier_backend *backend = l->tier->backend;
	bool is_wrong = l->cache->sums && tier_sum(memory, tr->cached_bytes) != ask->sum;

	if (!backend->store)
		tier_memory_filled(tr, !is_wrong);
	else if (!is_wrong)
		return backend->store(th, tr);
	return is_wrong ? TIER_DROPPED : TIER_STORED;
}

static bool serve_fill(struct tier_thread *th, int fd, const struct tier_request *ask)
{
	struct tier_loader *l = th->loader;
	struct tier_transfer *tr = &l->transfers[0];
	uint64_t bytes = ask->pieces[0].bytes;
	uint32_t said = TIER_DROPPED;

	tier_set_epoch(l, ask->epoch);
	set_slot(tr, ask);
	tr->bytes = tr->cached_bytes = bytes;
	unsigned char *to = claim_memory(tr);
	bool is_received = to ? connect_read(fd, to, (size_t)bytes) : discard(th, fd, bytes);

	if (!is_received && tr->has_claimed)
		tier_slot_filled(tier_word(l->cache, ask->slot), ask->generation, false);
	if (!is_received)
		return false;
	if (to)
		said = store_fill(th, ask, to);
	l->tally.received_bytes += bytes;
	return send_status(fd, said, said == TIER_FAILED ? (uint32_t)-th->err.code : 0);
}

/* Serve a request. False: the connection is lost, or it sent something other than a request. */
static bool serve(struct tier_thread *th, int fd)
{
	struct tier_request ask;

	tier_thread_begin(th);
	if (!connect_read(fd, &ask, sizeof(ask)) || !is_valid_request(th->cache, &ask))
		return false;
	return ask.kind == TIER_GET ? serve_get(th, fd, &ask) : serve_fill(th, fd, &ask);
}

static void server_main(struct tier_thread *th)
{
	struct tier_server *s = th->arg;
	struct epoll_event e;

	for (;;) {
		if (epoll_wait(s->epoll, &e, 1, -1) != 1)
			continue; /* a signal */
		if (e.data.u32 == END_EVENT)
			break;
		int fd = peer_links_from(s->peer_links, e.data.u32);

		if (!serve(th, fd) || !watch(s, e.data.u32, EPOLL_CTL_MOD))
			shutdown(fd, SHUT_RDWR);
		io_wake(th->worker.io);
	}
}

/* ---- life cycle of the server ---- */

int tier_server_start(struct tier_server **out, struct tier_cache *c,
		      const struct tier_peers *peers, struct mlgen_err *err)
{
	struct tier_server *s = *out = mem_zalloc(sizeof(*s));

	s->cache = c;
	s->peer_links = peers->peer_links;

	/* A thread is woken when any part of a request arrives. SO_RCVLOWAT would not help: if the
	 * last bytes of a fill were fewer than this limit, they would not wake the thread that
	 * waits for them. */
	struct epoll_event e = { .events = EPOLLIN, .data.u32 = END_EVENT };
	bool is_good;
	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->end = eventfd(0, EFD_CLOEXEC);
	is_good =
		s->epoll >= 0 && s->end >= 0 && epoll_ctl(s->epoll, EPOLL_CTL_ADD, s->end, &e) == 0;
	for (uint32_t i = 0; is_good && peer_links_from(s->peer_links, i) >= 0; i++)
		is_good = watch(s, i, EPOLL_CTL_ADD);
	int rc = is_good ? 0
			 : mlgen_fail(err, -errno, "cache_scope=all: epoll: %s", strerror(errno));

	for (unsigned i = 0; i < TIER_SERVERS && rc == 0; i++) {
		s->threads[i] = (struct tier_thread){
			.cache = c,
			.role = "cache server",
			.number = i,
			.files = 2 + tier_open_files(c->tier->job),
			.buf_bytes = TIER_SERVER_BYTES,
			.fills_directly = true,
			.work = server_main,
			.arg = s,
		};
		tier_thread_init(&s->threads[i]);
		rc = tier_thread_start(&s->threads[i], err);
		s->started += rc == 0;
	}
	return rc;
}

int tier_server_end(struct tier_server *s, struct mlgen_err *err)
{
	const uint64_t one = 1;
	int rc = 0;

	if (s->end >= 0 && write(s->end, &one, sizeof(one)) < 0)
		rc = -errno; /* only after 2^64 writes */
	for (unsigned i = 0; i < s->started; i++) {
		int thread_rc = tier_thread_join(&s->threads[i], err);

		rc = rc ? rc : thread_rc;
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
