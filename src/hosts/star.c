/* SPDX-License-Identifier: Apache-2.0 */
/* star.c - the star of connections between rank 0 and all other processes. */
#include "hosts/hosts_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"

/* Do `value` bytes follow the header of a message of this kind? */
static inline bool message_has_bytes(uint32_t kind)
{
	return kind == MESSAGE_DOES || kind == MESSAGE_DATA || kind == MESSAGE_END ||
	       kind == MESSAGE_GONE || kind == MESSAGE_ANSWER || kind == MESSAGE_PART ||
	       kind == MESSAGE_ALL_PARTS;
}

/* Largest message, in bytes; a document is far smaller. */
#define MESSAGE_MOST (UINT64_C(1) << 32)

/* Wake all threads that wait on h->changed, and pass `news` (NULL = none) to the callback. */
static void wake_all(struct hosts *h, const struct hosts_news *news)
{
	pthread_mutex_lock(&h->lock);
	pthread_cond_broadcast(&h->changed);
	pthread_mutex_unlock(&h->lock);
	if (!news)
		return;
	pthread_mutex_lock(&h->telling);
	if (h->hear)
		h->hear(h->hear_arg, news);
	pthread_mutex_unlock(&h->telling);
}

/* Only the first death is kept and passed to the callback. */
static void note_lost(struct hosts *h, const char *text)
{
	struct hosts_news news = { .is_death = true };

	pthread_mutex_lock(&h->lock);
	bool is_first = !h->lost.code;
	if (is_first)
		mlgen_fail(&h->lost, -EPIPE, "%s", text);
	news.err = h->lost;
	pthread_mutex_unlock(&h->lock);
	channels_close_all(h);
	wake_all(h, is_first ? &news : NULL);
}

/* Handle the death of a peer; `why` is e.g. "its connection was closed". */
static void star_lose(struct hosts *h, struct peer *p, const char *why)
{
	char text[512];

	pthread_mutex_lock(&h->lock);
	p->is_gone = true;
	pthread_mutex_unlock(&h->lock);
	pthread_mutex_lock(&p->sending);
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	pthread_mutex_unlock(&p->sending);
	if (atomic_load(&h->is_ending)) {
		/* The peer has ended normally, as this process is about to. A thread that still
		 * waits for the peer must not wait for ever. */
		pthread_mutex_lock(&h->lock);
		mlgen_fail(&h->lost, -EPIPE, "rank %u has ended", p->rank);
		pthread_mutex_unlock(&h->lock);
		channels_close_all(h);
		wake_all(h, NULL);
		return;
	}
	snprintf(text, sizeof(text),
		 "host %s (rank %u) was lost: %s; when last heard from, it was %s%s",
		 hosts_name(h, p->rank), p->rank, why, p->does[0] ? p->does : "starting",
		 h->rank == 0 ? "" : "; all ranks are connected to rank 0");
	if (h->rank == 0 && p->rounds)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 ", after %" PRIu64 " barrier%s", p->rounds, plural(p->rounds));
	if (h->rank == 0)
		star_send_all(h, p, MESSAGE_GONE, p->rank, strlen(text), text);
	note_lost(h, text);
}

static void star_dispatch(struct hosts *h, struct peer *p, const struct message *m,
			  const char *bytes)
{
	struct hosts_news news = { .is_interrupted = m->channel == 0 };
	uint64_t n = m->value;
	char text[512];

	switch (m->kind) {
	case MESSAGE_BEAT:
		break;
	case MESSAGE_DOES:
		snprintf(p->does, sizeof(p->does), "%.*s", (int)u64_min(n, sizeof(p->does) - 1),
			 bytes);
		break;
	case MESSAGE_DATA:
		pthread_mutex_lock(&h->lock);
		buf_addn(&p->data, (const char *)&n, sizeof(n));
		buf_addn(&p->data, bytes, (size_t)n);
		pthread_cond_broadcast(&h->changed);
		pthread_mutex_unlock(&h->lock);
		break;
	case MESSAGE_END:
		if (h->rank == 0)
			star_send_all(h, p, MESSAGE_END, m->channel, n, bytes);
		if (!news.is_interrupted)
			mlgen_fail(&news.err, -ECANCELED, "%.*s", (int)n, bytes);
		wake_all(h, &news);
		break;
	case MESSAGE_GONE:
		snprintf(text, sizeof(text), "%.*s", (int)u64_min(n, sizeof(text) - 1), bytes);
		if (!atomic_load(&h->is_ending))
			note_lost(h, text);
		break;
	case MESSAGE_ASK:
		survey_receive_question(h, m);
		break;
	case MESSAGE_ANSWER:
		survey_receive_answer(h, p->rank, m, bytes);
		break;
	case MESSAGE_PART:
	case MESSAGE_ALL_PARTS:
		exchange_receive(h, p, m, bytes);
		break;
	default:
		channels_receive(h, p, m);
	}
}

/* Dispatch the complete messages in p->in. False: the bytes are not a message. */
static bool dispatch_messages(struct hosts *h, struct peer *p)
{
	struct message m;
	size_t at = 0;

	while (p->in.len - at >= sizeof(m)) {
		memcpy(&m, p->in.s + at, sizeof(m));
		uint64_t n = message_has_bytes(m.kind) ? m.value : 0;

		if (m.kind >= MESSAGE_KINDS || n > MESSAGE_MOST || m.channel > UINT16_MAX * 64)
			return false;
		if (p->in.len - at - sizeof(m) < n)
			break;
		star_dispatch(h, p, &m, p->in.s + at + sizeof(m));
		at += sizeof(m) + (size_t)n;
	}
	if (at) {
		memmove(p->in.s, p->in.s + at, p->in.len - at);
		buf_cut(&p->in, p->in.len - at);
	}
	return true;
}

/* Read and dispatch everything that has arrived from a peer. */
static void star_receive(struct hosts *h, struct peer *p)
{
	char bytes[65536];

	for (;;) {
		ssize_t n = recv(p->fd, bytes, sizeof(bytes), MSG_DONTWAIT);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n == 0) {
			star_lose(h, p, "its connection was closed");
			return;
		}
		if (n < 0) {
			char why[96];

			snprintf(why, sizeof(why), "its connection broke (%s)", strerror(errno));
			star_lose(h, p, why);
			return;
		}
		p->heard_ns = star_now_ns();
		buf_addn(&p->in, bytes, (size_t)n);
		if (!dispatch_messages(h, p)) {
			star_lose(h, p, "it sent data that is not a message");
			return;
		}
		if ((size_t)n < sizeof(bytes))
			return;
	}
}

/* Time limit for all processes to connect to rank 0. */
#define ACCEPT_NS (10 * NS_PER_S)
/* Receive timeout of the other ranks; longer, because rank 0 sends nothing before all have
 * connected. */
#define RECEIVE_S 20
#define PINGS 16
/* Time limit for all pings of one process, which answers as soon as it has connected. */
#define PINGS_NS (10 * NS_PER_S)

/* Clock offset of a process, as measured by rank 0. */
struct offset {
	int64_t ns;
	uint64_t unsure_ns;
};

/* ---- rank 0 ---- */

static bool add_connection(void *who, int fd, uint64_t rank)
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
	unsigned connected = 0;

	for (unsigned i = 0; i < h->peer_count; i++)
		connected += h->peers[i].fd >= 0;
	return connected;
}

/* Accept a connection from every other process. False: mine->why has the reason. */
static bool accept_all(struct hosts *h, int listener, struct hello *mine)
{
	uint64_t until_ns = star_now_ns() + ACCEPT_NS, now_ns;
	struct greeter greeter;
	char strangers[128];
	unsigned connected;

	greeter_init(&greeter, listener, h->hellos[0].token, add_connection, h);
	while ((connected = count_connected(h)) < h->peer_count &&
	       (now_ns = star_now_ns()) < until_ns)
		greeter_poll(&greeter, (int)divide_up(until_ns - now_ns, 1000000));
	greeter_fini(&greeter);
	if (connected == h->peer_count)
		return true;
	snprintf(mine->why, sizeof(mine->why),
		 "%u of %u other processes connected to it within %u s%s", connected, h->peer_count,
		 (unsigned)(ACCEPT_NS / NS_PER_S),
		 greeter_print_strangers(&greeter, strangers, sizeof(strangers)));
	return false;
}

/* The fastest answer is the most precise: its time stamp is half a round trip old, give or take
 * half a round trip. */
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

static void meet_other_ranks(struct hosts *h, int listener, struct hello *mine)
{
	if (!accept_all(h, listener, mine))
		return;
	for (unsigned i = 0; i < h->peer_count && !mine->why[0]; i++)
		if (!measure_clock(&h->peers[i]))
			snprintf(mine->why, sizeof(mine->why),
				 "the connection of rank %u (host %s) broke", i + 1,
				 h->hellos[i + 1].name);
}

/* ---- other ranks ---- */

static void answer_clock(int fd, struct hello *mine)
{
	struct offset best = { 0 };
	uint64_t until_ns = 0;
	int64_t ns;

	/* The time limit starts at the first ping, which rank 0 sends once all have connected. */
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

static void meet_rank_0(struct hosts *h, struct hello *mine)
{
	const struct hello *to = &h->hellos[0];
	const struct greeting g = { .token = to->token, .rank = h->rank };
	const struct connect_to at = {
		.hello = to,
		.is_same_host = hello_is_same_host(mine, to),
		.way_out = " (peers_port= sets the port), or set barrier_over=mpi"
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

/* ---- all ranks ---- */

static int exchange(struct hosts *h, const struct hello *mine, struct mlgen_err *err)
{
	if (h->mpi->exchange(mine, sizeof(*mine), h->hellos) == 0)
		return 0;
	return mlgen_fail(err, -EIO, "MPI_Iallgather of %s failed", h->mpi->name);
}

/* A fault of any process fails all processes. Rank 0 is checked last: a rank that could not connect
 * knows the cause, while rank 0 only waited for it. */
static int check_faults(struct hosts *h, struct mlgen_err *err)
{
	for (unsigned i = 1; i <= h->total; i++) {
		unsigned rank = i % h->total;
		const struct hello *of = &h->hellos[rank];

		if (strcmp(of->version, h->hellos[0].version) != 0)
			return mlgen_fail(err, -EINVAL,
					  "host %s (rank %u) has mlgen %s, host %s (rank 0) has "
					  "mlgen %s: use the same version",
					  of->name, rank, of->version, h->hellos[0].name,
					  h->hellos[0].version);
		if (of->why[0])
			return mlgen_fail(err, -EHOSTUNREACH, "host %s (rank %u): %s", of->name,
					  rank, of->why);
	}
	return 0;
}

/* Can every process reach rank 0 with an address of a common family? */
static int check_networks(struct hosts *h, struct mlgen_err *err)
{
	const struct hello *to = &h->hellos[0];
	char why[MLGEN_ERR_MAX - 64];

	for (unsigned i = 1; i < h->total; i++)
		if (!hello_is_same_host(&h->hellos[i], to) &&
		    !addresses_can_meet(&h->hellos[i], i, to, 0, why, sizeof(why)))
			return mlgen_fail(err, -EHOSTUNREACH, "%s, or set barrier_over=mpi", why);
	return 0;
}

int star_meet(struct hosts *h, const struct hosts_config *cfg, struct mlgen_err *err)
{
	struct hello mine = h->hellos[h->rank];
	int listener = -1;

	h->peer_count = h->rank == 0 ? h->total - 1 : 1;
	h->peers = mem_array(h->peer_count, sizeof(*h->peers));
	for (unsigned i = 0; i < h->peer_count; i++) {
		h->peers[i].rank = h->rank == 0 ? i + 1 : 0;
		h->peers[i].fd = -1;
		pthread_mutex_init(&h->peers[i].sending, NULL);
	}
	if (h->rank == 0 && !cfg->over_mpi)
		listener = addresses_listen(&mine, cfg->port);
	else if (!cfg->over_mpi)
		addresses_list(&mine);
	if (getrandom(&mine.token, sizeof(mine.token), 0) < 0)
		mine.token = clock_wall_ns();
	int rc = exchange(h, &mine, err);
	if (rc == 0)
		rc = check_faults(h, err);
	if (rc == 0 && !cfg->over_mpi)
		rc = check_networks(h, err);
	if (rc == 0 && !cfg->over_mpi) {
		if (h->rank == 0)
			meet_other_ranks(h, listener, &mine);
		else
			meet_rank_0(h, &mine);
		rc = exchange(h, &mine, err);
	}
	if (listener >= 0)
		close(listener);
	return rc ? rc : check_faults(h, err);
}

#define BEAT_NS NS_PER_S
#define QUIET_NS (10 * NS_PER_S) /* a peer that is silent for this long is gone */
/* If our own heartbeat is this late, this process or its machine stood still, and messages that
 * arrived in the meantime have not been read yet. */
#define LATE_NS (3 * NS_PER_S)

uint64_t star_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

struct peer *star_peer(struct hosts *h, unsigned rank)
{
	return &h->peers[h->rank == 0 ? rank - 1 : 0];
}

/* Send all bytes of all parts, in as many calls as necessary. */
static int send_whole(int fd, struct iovec *parts, size_t count)
{
	while (count) {
		struct msghdr m = { .msg_iov = parts, .msg_iovlen = count };
		ssize_t n = sendmsg(fd, &m, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (; count && (size_t)n >= parts->iov_len; parts++, count--)
			n -= (ssize_t)parts->iov_len;
		if (count) {
			parts->iov_base = (char *)parts->iov_base + n;
			parts->iov_len -= (size_t)n;
		}
	}
	return 0;
}

void star_send(struct peer *p, enum message_kind kind, uint32_t channel, uint64_t value,
	       const void *bytes)
{
	struct message m = { .kind = kind, .channel = channel, .value = value };
	struct iovec parts[2] = { { .iov_base = &m, .iov_len = sizeof(m) } };

	if (message_has_bytes(kind)) {
		memcpy(&parts[1].iov_base, &bytes, sizeof(bytes));
		parts[1].iov_len = (size_t)value;
	}
	pthread_mutex_lock(&p->sending);
	/* After half a message nothing else can be sent. */
	if (p->fd >= 0 && send_whole(p->fd, parts, message_has_bytes(kind) ? 2 : 1) < 0)
		shutdown(p->fd, SHUT_RDWR);
	pthread_mutex_unlock(&p->sending);
}

void star_send_all(struct hosts *h, const struct peer *except, enum message_kind kind,
		   uint32_t channel, uint64_t value, const void *bytes)
{
	for (unsigned i = 0; i < h->peer_count; i++)
		if (&h->peers[i] != except)
			star_send(&h->peers[i], kind, channel, value, bytes);
}

/* A peer needs no heartbeat while another message is being sent to it. */
static void send_beats(struct hosts *h)
{
	const struct message m = { .kind = MESSAGE_BEAT };

	for (unsigned i = 0; i < h->peer_count; i++) {
		struct peer *p = &h->peers[i];

		if (pthread_mutex_trylock(&p->sending) != 0)
			continue;
		if (p->fd >= 0 && send(p->fd, &m, sizeof(m), MSG_NOSIGNAL) != sizeof(m))
			shutdown(p->fd, SHUT_RDWR);
		pthread_mutex_unlock(&p->sending);
	}
}

static void check_silent_peers(struct hosts *h, uint64_t now_ns, bool is_late)
{
	for (unsigned i = 0; i < h->peer_count; i++) {
		struct peer *p = &h->peers[i];

		if (is_late)
			p->heard_ns = now_ns;
		if (p->fd >= 0 && now_ns - p->heard_ns > QUIET_NS)
			star_lose(h, p, "it sent nothing for 10 s");
	}
}

static void *star_main(void *arg)
{
	struct hosts *h = arg;
	struct pollfd *fds = mem_array(h->peer_count + 1, sizeof(*fds));
	uint64_t beat_ns = star_now_ns();

	for (;;) {
		uint64_t now_ns = star_now_ns(), requests;

		if (now_ns >= beat_ns) {
			check_silent_peers(h, now_ns, now_ns > beat_ns + LATE_NS);
			send_beats(h);
			beat_ns = now_ns + BEAT_NS;
		}
		for (unsigned i = 0; i < h->peer_count; i++)
			fds[i] = (struct pollfd){ .fd = h->peers[i].fd, .events = POLLIN };
		fds[h->peer_count] = (struct pollfd){ .fd = h->wake_fd, .events = POLLIN };
		now_ns = u64_min(star_now_ns(), beat_ns);
		if (poll(fds, h->peer_count + 1, (int)divide_up(beat_ns - now_ns, 1000000)) < 0)
			continue;
		if (fds[h->peer_count].revents &&
		    read(h->wake_fd, &requests, sizeof(requests)) == sizeof(requests)) {
			channels_close_wanted(h);
			if (atomic_load(&h->is_stopping))
				break;
		}
		for (unsigned i = 0; i < h->peer_count; i++)
			if (fds[i].revents && h->peers[i].fd >= 0)
				star_receive(h, &h->peers[i]);
	}
	mem_free(fds);
	return NULL;
}

int star_start(struct hosts *h, struct mlgen_err *err)
{
	uint64_t now_ns = star_now_ns();

	h->wake_fd = eventfd(0, EFD_CLOEXEC);
	if (h->wake_fd < 0)
		return mlgen_fail(err, -errno, "eventfd: %s", strerror(errno));
	for (unsigned i = 0; i < h->peer_count; i++)
		h->peers[i].heard_ns = now_ns;
	int rc = thread_start(&h->thread, star_main, h);
	if (rc == 0)
		return 0;
	h->thread = 0;
	return mlgen_fail(err, rc < 0 ? rc : -rc, "the thread that receives from other hosts: %s",
			  strerror(rc < 0 ? -rc : rc));
}

void star_wake(struct hosts *h)
{
	const uint64_t one = 1;
	ssize_t n = write(h->wake_fd, &one, sizeof(one));

	(void)n; /* fails only at 2^64 unread wake-ups */
}

void star_stop(struct hosts *h)
{
	atomic_store(&h->is_stopping, true);
	if (h->thread) {
		star_wake(h);
		pthread_join(h->thread, NULL);
	}
	if (h->wake_fd >= 0)
		close(h->wake_fd);
	h->wake_fd = -1; /* a later star_wake has no effect */
	for (unsigned i = 0; i < h->peer_count; i++)
		if (h->peers[i].fd >= 0)
			close(h->peers[i].fd);
}

void star_fini(struct hosts *h)
{
	for (unsigned i = 0; i < h->peer_count; i++) {
		struct peer *p = &h->peers[i];

		buf_fini(&p->in);
		buf_fini(&p->data);
		pthread_mutex_destroy(&p->sending);
	}
	mem_free(h->peers);
}
