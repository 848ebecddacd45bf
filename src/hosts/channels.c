/* SPDX-License-Identifier: Apache-2.0 */
/* channels.c - votes, exchanges and relays over channels, and the bridge to MPI. */
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

/* Return the channel with a number; create it if necessary, because other processes may arrive
 * at a channel before it is opened here. */
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
		pthread_cond_init(&c->parts_changed, NULL);
		c->hosts = h;
		c->number = number;
		c->members = h->total;
	}
	pthread_mutex_unlock(&h->lock);
	return c;
}

static void report_passed(struct hosts_channel *c, uint64_t votes)
{
	if (c->waiter && !c->has_left && !c->is_closed)
		c->waiter->passed(c->arg, votes);
}

/* Rank 0, with `calls` held: complete the barrier if all members have arrived. */
static void check_arrived(struct hosts_channel *c)
{
	uint64_t votes = c->votes;

	if (c->is_closed || !c->members || c->arrived != c->members)
		return;
	c->arrived = 0;
	c->votes = 0;
	star_send_all(c->hosts, NULL, MESSAGE_PASS, c->number, votes, NULL);
	report_passed(c, votes);
}

/* Close the channel in this process and, from rank 0, in all others. The caller holds `calls`. */
static void channel_close_here(struct hosts_channel *c)
{
	if (c->is_closed)
		return;
	if (c->hosts->rank == 0)
		star_send_all(c->hosts, NULL, MESSAGE_CLOSE, c->number, 0, NULL);
	if (c->waiter && !c->has_left)
		c->waiter->closed(c->arg);
	c->is_closed = true;
	pthread_cond_broadcast(&c->parts_changed);
}

/* Rank 0, with `calls` held: end an exchange that waits for a process that has left. */
static void exchange_check_left(struct hosts_channel *c)
{
	if (c->said_count && c->members < c->hosts->total)
		channel_close_here(c);
}

/* The caller holds `calls`. */
static void channel_handle(struct hosts_channel *c, enum message_kind kind, uint64_t votes)
{
	switch (kind) {
	case MESSAGE_ARRIVE:
		c->votes |= votes;
		c->arrived++;
		check_arrived(c);
		break;
	case MESSAGE_LEAVE:
		c->members--;
		check_arrived(c);
		exchange_check_left(c);
		break;
	case MESSAGE_PASS:
		report_passed(c, votes);
		break;
	default:
		channel_close_here(c);
	}
}

void channels_receive(struct hosts *h, struct peer *p, const struct message *m)
{
	struct hosts_channel *c = channel_of(h, m->channel);

	p->rounds += m->kind == MESSAGE_ARRIVE;
	pthread_mutex_lock(&c->calls);
	channel_handle(c, (enum message_kind)m->kind, m->value);
	pthread_mutex_unlock(&c->calls);
}

/* Send a message of this process to rank 0. Rank 0 itself handles it without sending. */
static void channel_send(struct hosts_channel *c, enum message_kind kind, uint64_t votes)
{
	pthread_mutex_lock(&c->calls);
	c->has_left |= kind == MESSAGE_LEAVE;
	if (c->hosts->rank == 0)
		channel_handle(c, kind, votes);
	else
		star_send_all(c->hosts, NULL, kind, c->number, votes, NULL);
	pthread_mutex_unlock(&c->calls);
}

/* The next existing channel from a number on; NULL = no more. */
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
			channel_send(c, MESSAGE_CLOSE, 0);
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

void channels_fini(struct hosts *h)
{
	for (size_t i = 0; i < h->channels.count; i++) {
		struct hosts_channel *c = h->channels.at[i];

		if (!c)
			continue;
		for (unsigned k = 0; c->parts && k < h->total; k++)
			buf_fini(&c->parts[k]);
		mem_free(c->parts);
		buf_fini(&c->all_parts);
		pthread_cond_destroy(&c->parts_changed);
		pthread_mutex_destroy(&c->calls);
		mem_free(c);
	}
	vec_fini(&h->channels);
}

uint32_t hosts_reserve_channels(struct hosts *h, uint32_t count)
{
	if (!h)
		return 0;
	pthread_mutex_lock(&h->lock);
	uint32_t first = h->reserved;
	h->reserved += count;
	pthread_mutex_unlock(&h->lock);
	return first;
}

struct hosts_channel *hosts_channel_open(struct hosts *h, uint32_t number,
					 const struct hosts_waiter *waiter, void *arg)
{
	struct hosts_channel *c = channel_of(h, number);

	pthread_mutex_lock(&c->calls);
	c->waiter = waiter;
	c->arg = arg;
	if (c->is_closed)
		waiter->closed(arg);
	pthread_mutex_unlock(&c->calls);
	/* A process may have died before the channel was opened here, when there was nothing to
	 * close. */
	if (hosts_is_lost(h)) {
		pthread_mutex_lock(&c->calls);
		channel_close_here(c);
		pthread_mutex_unlock(&c->calls);
	}
	return c;
}

void hosts_channel_refuse(struct hosts *h, uint32_t number)
{
	hosts_channel_close(channel_of(h, number));
}

void hosts_channel_detach(struct hosts_channel *c)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->calls);
	c->waiter = NULL;
	pthread_mutex_unlock(&c->calls);
}

void hosts_channel_arrive(struct hosts_channel *c, uint64_t votes)
{
	channel_send(c, MESSAGE_ARRIVE, votes);
}

void hosts_channel_leave(struct hosts_channel *c)
{
	channel_send(c, MESSAGE_LEAVE, 0);
}

void hosts_channel_close(struct hosts_channel *c)
{
	atomic_store(&c->wants_close, true);
	star_wake(c->hosts);
}

struct ballot {
	struct hosts_channel *channel;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t votes, passed; /* result of the last barrier, and number of barriers passed */
	bool is_closed;
};

static void ballot_passed(void *arg, uint64_t votes)
{
	struct ballot *b = arg;

	pthread_mutex_lock(&b->lock);
	b->votes = votes;
	b->passed++;
	pthread_mutex_unlock(&b->lock);
	/* Broadcast after unlocking, because a woken thread takes the lock at once. */
	pthread_cond_broadcast(&b->changed);
}

static void ballot_closed(void *arg)
{
	struct ballot *b = arg;

	pthread_mutex_lock(&b->lock);
	b->is_closed = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
}

static const struct hosts_waiter ballot_waiter = { ballot_passed, ballot_closed };

struct ballot *ballot_open(struct hosts *h, uint32_t number)
{
	if (!h)
		return NULL;
	struct ballot *b = mem_zalloc(sizeof(*b));

	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	b->channel = hosts_channel_open(h, number, &ballot_waiter, b);
	return b;
}

void ballot_free(struct ballot *b)
{
	if (!b)
		return;
	hosts_channel_close(b->channel);
	hosts_channel_detach(b->channel);
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
	hosts_channel_arrive(b->channel, mine);
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
		hosts_channel_close(b->channel);
}

/* Rank 0, with `calls` held: store the part of a process. */
static void store_part(struct hosts_channel *c, unsigned rank, const char *bytes, size_t n)
{
	if (!c->parts)
		c->parts = mem_array(c->hosts->total, sizeof(*c->parts));
	buf_reset(&c->parts[rank]);
	buf_addn(&c->parts[rank], bytes, n);
	c->said_count++;
	exchange_check_left(c);
	pthread_cond_broadcast(&c->parts_changed);
}

/* Rank 0. The parts are sent with no lock held, because sending waits for slow readers. */
static int exchange_rank_0(struct hosts_channel *c, const void *mine, size_t n, struct buf *all)
{
	pthread_mutex_lock(&c->calls);
	store_part(c, 0, mine, n);
	while (c->said_count < c->hosts->total && !c->is_closed)
		pthread_cond_wait(&c->parts_changed, &c->calls);
	bool has_all = c->said_count == c->hosts->total;
	if (has_all) {
		buf_reset(all);
		for (unsigned i = 0; i < c->hosts->total; i++) {
			hosts_add_part(all, buf_str(&c->parts[i]), c->parts[i].len);
			buf_reset(&c->parts[i]);
		}
		c->said_count = 0;
	}
	pthread_mutex_unlock(&c->calls);
	if (!has_all)
		return -EPIPE;
	star_send_all(c->hosts, NULL, MESSAGE_ALL_PARTS, c->number, all->len, buf_str(all));
	return 0;
}

static int exchange_other_rank(struct hosts_channel *c, const void *mine, size_t n, struct buf *all)
{
	star_send(star_peer(c->hosts, 0), MESSAGE_PART, c->number, n, mine);
	pthread_mutex_lock(&c->calls);
	while (!c->has_all_parts && !c->is_closed)
		pthread_cond_wait(&c->parts_changed, &c->calls);
	bool has_all_parts = c->has_all_parts;
	c->has_all_parts = false;
	buf_reset(all);
	if (has_all_parts)
		buf_addn(all, buf_str(&c->all_parts), c->all_parts.len);
	pthread_mutex_unlock(&c->calls);
	return has_all_parts ? 0 : -EPIPE;
}

void exchange_receive(struct hosts *h, const struct peer *p, const struct message *m,
		      const char *bytes)
{
	struct hosts_channel *c = channel_of(h, m->channel);

	pthread_mutex_lock(&c->calls);
	if (m->kind == MESSAGE_PART) {
		store_part(c, p->rank, bytes, (size_t)m->value);
	} else {
		buf_reset(&c->all_parts);
		buf_addn(&c->all_parts, bytes, (size_t)m->value);
		c->has_all_parts = true;
		pthread_cond_broadcast(&c->parts_changed);
	}
	pthread_mutex_unlock(&c->calls);
}

int hosts_exchange(struct hosts_channel *c, const void *mine, size_t n, struct buf *all)
{
	return c->hosts->rank == 0 ? exchange_rank_0(c, mine, n, all)
				   : exchange_other_rank(c, mine, n, all);
}

#define PIECE_BYTES (1u << 20)

/* Votes after each piece. */
enum { GOES_ON = 1, HAS_FAILED = 2 };

/* Does the host have more than one process, so that its first process has receivers? */
static bool has_takers(const struct hosts *h, unsigned host)
{
	unsigned processes = 0;

	for (unsigned i = 0; i < hosts_total(h); i++)
		processes += hosts_host_of(h, i) == host;
	return processes > 1;
}

static bool relay_is_needed(const struct hosts *h, bool is_everywhere)
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
			     .goes_on = relay_is_needed(h, is_everywhere) };
}

bool relay_is_sender(const struct relay *r)
{
	return r->gives;
}

/* Send or receive one piece, and vote. */
static int relay_step(struct relay *r, uint64_t vote, struct mlgen_err *err)
{
	uint64_t all = 0;
	int rc = r->is_everywhere ? hosts_broadcast(r->hosts, &r->piece, err)
				  : hosts_broadcast_on_host(r->hosts, &r->piece, err);

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

int relay_write(struct relay *r, const void *bytes, size_t n, struct mlgen_err *err)
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

int relay_read(struct relay *r, void *to, size_t n, struct mlgen_err *err)
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
			rc = mlgen_fail(err, -EPROTO,
					"the results of another process of the job are incomplete");
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
	/* The error is only that another process failed; hosts_agree fetches its message. */
	if (r->is_stopped && rc == -ECANCELED) {
		*err = (struct mlgen_err){ 0 };
		rc = 0;
	}
	return hosts_agree(r->hosts, rc, err);
}

#define CHUNK_BYTES 65536
/* MPI has no blocking wait that does not spin (measured). It is polled every 20 us after a message,
 * and less and less often while nothing comes. */
#define NAP_LEAST_NS 20000
#define NAP_MOST_NS 500000

struct bridge {
	struct hosts *hosts;
	pthread_t thread;
	struct pollfd *ends; /* sockets of the peers, in the same order; fd -1: closed */
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

/* Carry bytes that this process sends to a peer. */
static void carry_out(struct bridge *b, unsigned i)
{
	struct pollfd *end = &b->ends[i];
	ssize_t n = recv(end->fd, b->chunk, CHUNK_BYTES, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0 || b->hosts->mpi->send(b->hosts->peers[i].rank, b->chunk, (size_t)n) < 0)
		close_end(end);
}

/* Carry a message that came through MPI to the receiving thread. True: there was a message. */
static bool carry_in(struct bridge *b)
{
	unsigned from = 0;
	long n = b->hosts->mpi->receive(&from, b->chunk, CHUNK_BYTES);

	if (n <= 0 || from >= b->hosts->total || from == b->hosts->rank)
		return false;
	struct pollfd *end = &b->ends[star_peer(b->hosts, from) - b->hosts->peers];
	/* The receiving thread reads at once, so this never blocks for long. */
	if (end->fd >= 0 && !connect_write(end->fd, b->chunk, (size_t)n))
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

int bridge_start(struct bridge **out, struct hosts *h, struct mlgen_err *err)
{
	struct bridge *b = *out = mem_zalloc(sizeof(*b));
	int pair[2];

	b->hosts = h;
	b->ends = mem_array(h->peer_count, sizeof(*b->ends));
	b->chunk = mem_zalloc(CHUNK_BYTES);
	for (unsigned i = 0; i < h->peer_count; i++)
		b->ends[i].fd = -1;
	for (unsigned i = 0; i < h->peer_count; i++) {
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
			return mlgen_fail(err, -errno, "socketpair: %s", strerror(errno));
		h->peers[i].fd = pair[0];
		b->ends[i] = (struct pollfd){ .fd = pair[1], .events = POLLIN };
	}
	if (thread_start(&b->thread, bridge_main, b) == 0)
		return 0;
	b->thread = 0;
	return mlgen_fail(err, -EAGAIN, "cannot start the thread that calls MPI");
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
