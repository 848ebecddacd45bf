/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c - what is said over a channel: votes, exchanges, relayed data. */
#include "hosts/hosts_internal.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"

/* The one with a number, which is made where there is none yet. */
/* Others may come to one before it is opened here. */
static struct hosts_channel *channel_of(struct hosts *h, uint32_t number)
{
	struct hosts_channel *c;

	pthread_mutex_lock(&h->lock);
	while (h->channels.count <= number)
		vec_push(&h->channels, NULL);
	c = h->channels.at[number];
	if (!c) {
		c = h->channels.at[number] = mem_zalloc(sizeof(*c));
		pthread_mutex_init(&c->calls, NULL);
		pthread_cond_init(&c->has_said, NULL);
		c->hosts = h;
		c->number = number;
		c->members = h->total;
	}
	pthread_mutex_unlock(&h->lock);
	return c;
}

static void tell_passed(struct hosts_channel *c, uint64_t votes)
{
	if (c->waiter && !c->has_left && !c->is_closed)
		c->waiter->passed(c->arg, votes);
}

/* With `calls` held, of rank 0: has the last one arrived? */
static void look_at_members(struct hosts_channel *c)
{
	uint64_t votes = c->votes;

	if (c->is_closed || !c->members || c->arrived != c->members)
		return;
	c->arrived = 0;
	c->votes = 0;
	star_send_all(c->hosts, NULL, MESSAGE_PASS, c->number, votes, NULL);
	tell_passed(c, votes);
}

/* Nobody is to wait there any more; with `calls` held. */
/* With `calls` held. */
static void channel_close_here(struct hosts_channel *c)
{
	if (c->is_closed)
		return;
	if (c->hosts->rank == 0)
		star_send_all(c->hosts, NULL, MESSAGE_CLOSE, c->number, 0, NULL);
	if (c->waiter && !c->has_left)
		c->waiter->closed(c->arg);
	c->is_closed = true;
	pthread_cond_broadcast(&c->has_said);
}

/* With `calls` held, of rank 0: does anyone wait for who has left? */
static void exchange_look(struct hosts_channel *c)
{
	if (c->said_count && c->members < c->hosts->total)
		channel_close_here(c);
}

/* With `calls` held. */
static void channel_take(struct hosts_channel *c, enum message_kind kind, uint64_t votes)
{
	switch (kind) {
	case MESSAGE_ARRIVE:
		c->votes |= votes;
		c->arrived++;
		look_at_members(c);
		break;
	case MESSAGE_LEAVE:
		c->members--;
		look_at_members(c);
		exchange_look(c);
		break;
	case MESSAGE_PASS:
		tell_passed(c, votes);
		break;
	default:
		channel_close_here(c);
	}
}

void channels_take(struct hosts *h, struct peer *p, const struct message *m)
{
	struct hosts_channel *c = channel_of(h, m->channel);

	p->rounds += m->kind == MESSAGE_ARRIVE;
	pthread_mutex_lock(&c->calls);
	channel_take(c, (enum message_kind)m->kind, m->value);
	pthread_mutex_unlock(&c->calls);
}

/* The same of this process, which in rank 0 needs no message. */
static void tell(struct hosts_channel *c, enum message_kind kind, uint64_t votes)
{
	pthread_mutex_lock(&c->calls);
	c->has_left |= kind == MESSAGE_LEAVE;
	if (c->hosts->rank == 0)
		channel_take(c, kind, votes);
	else
		star_send_all(c->hosts, NULL, kind, c->number, votes, NULL);
	pthread_mutex_unlock(&c->calls);
}

/* The next that there is, from a number on; NULL = no more. */
static struct hosts_channel *next_channel(struct hosts *h, size_t *number)
{
	struct hosts_channel *c = NULL;

	pthread_mutex_lock(&h->lock);
	while (!c && *number < h->channels.count)
		c = h->channels.at[(*number)++];
	pthread_mutex_unlock(&h->lock);
	return c;
}

void channels_close_wanted(struct hosts *h)
{
	struct hosts_channel *c;
	size_t at = 0;

	while ((c = next_channel(h, &at)))
		if (atomic_exchange(&c->wants_close, false))
			tell(c, MESSAGE_CLOSE, 0);
}

void channels_close_all(struct hosts *h)
{
	struct hosts_channel *c;
	size_t at = 0;

	while ((c = next_channel(h, &at))) {
		pthread_mutex_lock(&c->calls);
		channel_close_here(c);
		pthread_mutex_unlock(&c->calls);
	}
}

static void exchange_fini(struct hosts_channel *c)
{
	for (unsigned i = 0; c->said && i < c->hosts->total; i++)
		buf_fini(&c->said[i]);
	mem_free(c->said);
	buf_fini(&c->told);
}

void channels_fini(struct hosts *h)
{
	for (size_t i = 0; i < h->channels.count; i++) {
		if (!h->channels.at[i])
			continue;
		exchange_fini(h->channels.at[i]);
		pthread_cond_destroy(&h->channels.at[i]->has_said);
		pthread_mutex_destroy(&h->channels.at[i]->calls);
		mem_free(h->channels.at[i]);
	}
	vec_fini(&h->channels);
}

uint32_t hosts_reserve(struct hosts *h, uint32_t count)
{
	if (!h)
		return 0;
	pthread_mutex_lock(&h->lock);
	uint32_t first = h->reserved;
	h->reserved += count;
	pthread_mutex_unlock(&h->lock);
	return first;
}

struct hosts_channel *hosts_open(struct hosts *h, uint32_t number,
				 const struct hosts_waiter *waiter, void *arg)
{
	struct hosts_channel *c = channel_of(h, number);

	pthread_mutex_lock(&c->calls);
	c->waiter = waiter;
	c->arg = arg;
	if (c->is_closed)
		waiter->closed(arg);
	pthread_mutex_unlock(&c->calls);
	/* Whoever is gone may have gone between: no close came of it then. */
	pthread_mutex_lock(&h->lock);
	bool is_lost = h->lost.code != 0;
	pthread_mutex_unlock(&h->lock);
	if (is_lost) {
		pthread_mutex_lock(&c->calls);
		channel_close_here(c);
		pthread_mutex_unlock(&c->calls);
	}
	return c;
}

void hosts_refuse(struct hosts *h, uint32_t number)
{
	hosts_close(channel_of(h, number));
}

void hosts_shut(struct hosts_channel *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->calls);
	c->waiter = NULL;
	pthread_mutex_unlock(&c->calls);
}

void hosts_arrive(struct hosts_channel *c, uint64_t votes)
{
	tell(c, MESSAGE_ARRIVE, votes);
}

void hosts_leave(struct hosts_channel *c)
{
	tell(c, MESSAGE_LEAVE, 0);
}

void hosts_close(struct hosts_channel *c)
{
	atomic_store(&c->wants_close, true);
	star_wake(c->hosts);
}

struct ballot {
	struct hosts_channel *channel;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t votes, passed; /* the last that was passed, and how many */
	bool is_closed;
};

static void passed(void *arg, uint64_t votes)
{
	struct ballot *b = arg;

	pthread_mutex_lock(&b->lock);
	b->votes = votes;
	b->passed++;
	pthread_mutex_unlock(&b->lock);
	/* Behind the lock, which whoever wakes takes first. */
	pthread_cond_broadcast(&b->changed);
}

static void closed(void *arg)
{
	struct ballot *b = arg;

	pthread_mutex_lock(&b->lock);
	b->is_closed = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

static const struct hosts_waiter waiter = { passed, closed };

struct ballot *ballot_open(struct hosts *h, uint32_t number)
{
	if (!h)
		return NULL;
	struct ballot *b = mem_zalloc(sizeof(*b));

	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	b->channel = hosts_open(h, number, &waiter, b);
	return b;
}

void ballot_free(struct ballot *b)
{
	if (!b)
		return;
	hosts_close(b->channel);
	hosts_shut(b->channel);
	pthread_mutex_destroy(&b->lock);
	pthread_cond_destroy(&b->changed);
	mem_free(b);
}

int ballot_vote(struct ballot *b, uint64_t mine, uint64_t *all)
{
	*all = mine;
	if (!b)
		return 0;
	pthread_mutex_lock(&b->lock);
	uint64_t before = b->passed;
	pthread_mutex_unlock(&b->lock);
	hosts_arrive(b->channel, mine);
	pthread_mutex_lock(&b->lock);
	while (b->passed == before && !b->is_closed)
		pthread_cond_wait(&b->changed, &b->lock);
	bool has_passed = b->passed != before;
	if (has_passed)
		*all = b->votes;
	pthread_mutex_unlock(&b->lock);
	return has_passed ? 0 : -EPIPE;
}

void ballot_close(struct ballot *b)
{
	if (b)
		hosts_close(b->channel);
}

/* With `calls` held, of rank 0: this is what a process says. */
static void note_said(struct hosts_channel *c, unsigned rank, const char *bytes, size_t n)
{
	if (!c->said)
		c->said = mem_array(c->hosts->total, sizeof(*c->said));
	buf_reset(&c->said[rank]);
	buf_addn(&c->said[rank], bytes, n);
	c->said_count++;
	exchange_look(c);
	pthread_cond_broadcast(&c->has_said);
}

/* With `calls` held: all parts are one text, and the next ones may come. */
static void put_together(struct hosts_channel *c, struct buf *all)
{
	buf_reset(all);
	for (unsigned i = 0; i < c->hosts->total; i++) {
		hosts_add_part(all, buf_str(&c->said[i]), c->said[i].len);
		buf_reset(&c->said[i]);
	}
	c->said_count = 0;
}

/* Of rank 0. What goes to the others is sent with no lock held: they read it when they do. */
static int exchange_here(struct hosts_channel *c, const void *mine, size_t n, struct buf *all)
{
	pthread_mutex_lock(&c->calls);
	note_said(c, 0, mine, n);
	while (c->said_count < c->hosts->total && !c->is_closed)
		pthread_cond_wait(&c->has_said, &c->calls);
	bool has_all = c->said_count == c->hosts->total;
	if (has_all)
		put_together(c, all);
	pthread_mutex_unlock(&c->calls);
	if (!has_all)
		return -EPIPE;
	star_send_all(c->hosts, NULL, MESSAGE_TOLD, c->number, all->len, buf_str(all));
	return 0;
}

static int exchange_there(struct hosts_channel *c, const void *mine, size_t n, struct buf *all)
{
	star_send(c->hosts, star_peer(c->hosts, 0), MESSAGE_SAY, c->number, n, mine);
	pthread_mutex_lock(&c->calls);
	while (!c->is_told && !c->is_closed)
		pthread_cond_wait(&c->has_said, &c->calls);
	bool is_told = c->is_told;
	c->is_told = false;
	buf_reset(all);
	if (is_told)
		buf_addn(all, buf_str(&c->told), c->told.len);
	pthread_mutex_unlock(&c->calls);
	return is_told ? 0 : -EPIPE;
}

void exchange_take(struct hosts *h, const struct peer *p, const struct message *m,
		   const char *bytes)
{
	struct hosts_channel *c = channel_of(h, m->channel);

	pthread_mutex_lock(&c->calls);
	if (m->kind == MESSAGE_SAY) {
		note_said(c, p->rank, bytes, (size_t)m->value);
	} else {
		buf_reset(&c->told);
		buf_addn(&c->told, bytes, (size_t)m->value);
		c->is_told = true;
		pthread_cond_broadcast(&c->has_said);
	}
	pthread_mutex_unlock(&c->calls);
}

int hosts_exchange(struct hosts_channel *c, const void *mine, size_t n, struct buf *all)
{
	return c->hosts->rank == 0 ? exchange_here(c, mine, n, all)
				   : exchange_there(c, mine, n, all);
}

#define PIECE_BYTES (1u << 20)

/* Votes behind a piece. */
enum { GOES_ON = 1, HAS_FAILED = 2 };

/* Does anybody take what the first process of a host gives? */
static bool has_takers(const struct hosts *h, unsigned host)
{
	unsigned there = 0;

	for (unsigned i = 0; i < hosts_total(h); i++)
		there += hosts_host_of(h, i) == host;
	return there > 1;
}

static bool is_needed(const struct hosts *h, bool is_everywhere)
{
	for (unsigned i = 0; i < hosts_count(h) && !is_everywhere; i++)
		if (has_takers(h, i))
			return true;
	return is_everywhere && hosts_total(h) > 1;
}

void relay_begin(struct relay *r, struct hosts *h, bool is_everywhere)
{
	unsigned here = hosts_host_of(h, hosts_rank(h));

	*r = (struct relay){ .hosts = h,
			     .is_everywhere = is_everywhere,
			     .gives = is_everywhere ? hosts_rank(h) == 0 : hosts_is_first_here(h),
			     .has_takers = is_everywhere || has_takers(h, here),
			     .goes_on = is_needed(h, is_everywhere) };
}

bool relay_gives(const struct relay *r)
{
	return r->gives;
}

/* A piece goes round. */
static int relay_step(struct relay *r, uint64_t vote, struct mlgen_err *err)
{
	uint64_t all = 0;
	int rc = r->is_everywhere ? hosts_share(r->hosts, &r->piece, err)
				  : hosts_share_here(r->hosts, &r->piece, err);

	if (rc == 0)
		rc = hosts_vote(r->hosts, vote, &all, err);
	if (r->gives)
		buf_reset(&r->piece);
	r->at = 0;
	r->is_broken = rc < 0;
	r->is_stopped = all & HAS_FAILED;
	r->goes_on = rc == 0 && all == GOES_ON;
	if (rc == 0 && r->is_stopped && !(vote & HAS_FAILED))
		rc = mlgen_fail(err, -ECANCELED, "another process of the job has failed");
	return rc;
}

int relay_put(struct relay *r, const void *bytes, size_t n, struct mlgen_err *err)
{
	const char *from = bytes;

	while (n && r->goes_on && r->has_takers) {
		size_t some = (size_t)u64_min(n, PIECE_BYTES - r->piece.len);
		int rc;

		buf_addn(&r->piece, from, some);
		from += some;
		n -= some;
		rc = r->piece.len == PIECE_BYTES ? relay_step(r, GOES_ON, err) : 0;
		if (rc < 0)
			return rc;
	}
	return 0;
}

int relay_get(struct relay *r, void *to, size_t n, struct mlgen_err *err)
{
	char *at = to;

	while (n) {
		size_t some = (size_t)u64_min(n, r->piece.len - r->at);
		int rc = 0;

		memcpy(at, buf_str(&r->piece) + r->at, some);
		r->at += some;
		at += some;
		n -= some;
		if (n && !r->goes_on)
			rc = mlgen_fail(
				err, -EPROTO,
				"what another process of the job has found has come in part");
		else if (n)
			rc = relay_step(r, 0, err);
		if (rc < 0)
			return rc;
	}
	return 0;
}

int relay_end(struct relay *r, int rc, struct mlgen_err *err)
{
	struct mlgen_err ignored = { 0 };
	uint64_t vote = rc < 0 ? HAS_FAILED : 0;

	while (r->goes_on)
		relay_step(r, vote, &ignored);
	buf_fini(&r->piece);
	/* Whose words are those of another one. */
	if (r->is_stopped && rc == -ECANCELED) {
		*err = (struct mlgen_err){ 0 };
		rc = 0;
	}
	return hosts_agree(r->hosts, rc, err);
}

#define CHUNK_BYTES 65536
/* MPI cannot be waited for without spinning (hosts.md's spike): it is asked every 20 us while
 * something has just come, and more and more seldom then. */
#define NAP_LEAST_NS 20000
#define NAP_MOST_NS 500000

struct bridge {
	struct hosts *hosts;
	pthread_t thread;
	struct pollfd *ends; /* one for each peer, in their order; fd -1: closed */
	char *chunk;
};

static bool has_open_end(const struct bridge *b)
{
	for (unsigned i = 0; i < b->hosts->peer_count; i++)
		if (b->ends[i].fd >= 0)
			return true;
	return false;
}

static void close_end(struct pollfd *end)
{
	close(end->fd);
	end->fd = -1;
}

/* What this process sends to a peer. */
static void carry_out(struct bridge *b, unsigned i)
{
	struct pollfd *end = &b->ends[i];
	ssize_t n = recv(end->fd, b->chunk, CHUNK_BYTES, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || b->hosts->mpi->send(b->hosts->peers[i].rank, b->chunk, (size_t)n) < 0)
		close_end(end);
}

/* Whole: the receiving thread takes it at once. */
static bool hand_in(int fd, const char *bytes, size_t n)
{
	while (n) {
		ssize_t sent = send(fd, bytes, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return false;
		bytes += sent;
		n -= (size_t)sent;
	}
	return true;
}

/* What has come from any of them: true, something has. */
static bool carry_in(struct bridge *b)
{
	unsigned from = 0;
	long n = b->hosts->mpi->receive(&from, b->chunk, CHUNK_BYTES);

	if (n <= 0 || from >= b->hosts->total || from == b->hosts->rank)
		return false;
	struct pollfd *end = &b->ends[star_peer(b->hosts, from) - b->hosts->peers];
	if (end->fd >= 0 && !hand_in(end->fd, b->chunk, (size_t)n))
		close_end(end);
	return true;
}

static void *bridge_main(void *arg)
{
	struct bridge *b = arg;
	long nap_ns = NAP_LEAST_NS;

	while (has_open_end(b)) {
		bool is_busy = false;

		while (carry_in(b))
			is_busy = true;
		const struct timespec t = { .tv_nsec = is_busy ? 0 : nap_ns };
		if (ppoll(b->ends, b->hosts->peer_count, &t, NULL) > 0)
			is_busy = true;
		for (unsigned i = 0; i < b->hosts->peer_count; i++)
			if (b->ends[i].fd >= 0 && b->ends[i].revents)
				carry_out(b, i);
		nap_ns = is_busy ? NAP_LEAST_NS : nap_ns + nap_ns / 8;
		if (nap_ns > NAP_MOST_NS)
			nap_ns = NAP_MOST_NS;
	}
	return NULL;
}

static int open_ends(struct bridge *b, struct mlgen_err *err)
{
	for (unsigned i = 0; i < b->hosts->peer_count; i++) {
		int pair[2];

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			return mlgen_fail(err, -errno, "socketpair: %s", strerror(errno));
		b->hosts->peers[i].fd = pair[0];
		b->ends[i] = (struct pollfd){ .fd = pair[1], .events = POLLIN };
	}
	return 0;
}

int bridge_start(struct bridge **out, struct hosts *h, struct mlgen_err *err)
{
	struct bridge *b = *out = mem_zalloc(sizeof(*b));

	b->hosts = h;
	b->ends = mem_array(h->peer_count, sizeof(*b->ends));
	b->chunk = mem_zalloc(CHUNK_BYTES);
	for (unsigned i = 0; i < h->peer_count; i++)
		b->ends[i].fd = -1;
	int rc = open_ends(b, err);
	if (rc == 0 && thread_start(&b->thread, bridge_main, b) != 0) {
		b->thread = 0;
		rc = mlgen_fail(err, -EAGAIN, "the thread that talks to MPI cannot be started");
	}
	return rc;
}

void bridge_stop(struct bridge *b)
{
	if (!b)
		return;
	if (b->thread)
		pthread_join(b->thread, NULL);
	for (unsigned i = 0; i < b->hosts->peer_count; i++)
		if (b->ends[i].fd >= 0)
			close(b->ends[i].fd);
	mem_free(b->ends);
	mem_free(b->chunk);
	mem_free(b);
}
