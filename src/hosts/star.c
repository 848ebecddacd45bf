/* SPDX-License-Identifier: Apache-2.0 */
/* star.c - the thread that receives, and what is sent; see hosts_inside.h. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "hosts/hosts_inside.h"

#define BEAT_NS NS_PER_S
#define QUIET_NS (10 * NS_PER_S) /* so long without a beat: it is gone */
/* Our own were so late: this process, or its machine, stood still, and what the others sent
 * meanwhile has not been looked at. */
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

/* All of both, whatever sendmsg takes at a time. */
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

void star_send(struct hosts *h, struct peer *p, enum message_kind kind, uint32_t channel,
	       uint64_t value, const void *bytes)
{
	struct message m = { .kind = kind, .channel = channel, .value = value };
	struct iovec parts[2] = { { .iov_base = &m, .iov_len = sizeof(m) } };

	(void)h;
	if (message_has_bytes(kind)) {
		memcpy(&parts[1].iov_base, &bytes, sizeof(bytes));
		parts[1].iov_len = (size_t)value;
	}
	pthread_mutex_lock(&p->sending);
	/* A message that is half sent is the last one. */
	if (p->fd >= 0 && send_whole(p->fd, parts, message_has_bytes(kind) ? 2 : 1) < 0)
		shutdown(p->fd, SHUT_RDWR);
	pthread_mutex_unlock(&p->sending);
}

void star_send_all(struct hosts *h, const struct peer *except, enum message_kind kind,
		   uint32_t channel, uint64_t value, const void *bytes)
{
	for (unsigned i = 0; i < h->peer_count; i++)
		if (&h->peers[i] != except)
			star_send(h, &h->peers[i], kind, channel, value, bytes);
}

/* To whom something is being sent it is clear that we are there. */
static void beat(struct hosts *h)
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

static void look_for_quiet_ones(struct hosts *h, uint64_t now_ns, bool is_late)
{
	for (unsigned i = 0; i < h->peer_count; i++) {
		struct peer *p = &h->peers[i];

		if (is_late)
			p->heard_ns = now_ns;
		if (p->fd >= 0 && now_ns - p->heard_ns > QUIET_NS)
			star_lose(h, p, "nothing has come from it for 10 s");
	}
}

static int wait_for_any(struct hosts *h, struct pollfd *fds, uint64_t until_ns)
{
	uint64_t now_ns = star_now_ns();
	uint64_t left_ns = until_ns > now_ns ? until_ns - now_ns : 0;

	for (unsigned i = 0; i < h->peer_count; i++)
		fds[i] = (struct pollfd){ .fd = h->peers[i].fd, .events = POLLIN };
	fds[h->peer_count] = (struct pollfd){ .fd = h->wake_fd, .events = POLLIN };
	return poll(fds, h->peer_count + 1, (int)divide_up(left_ns, 1000000));
}

/* True: it is to end. */
static bool take_wishes(struct hosts *h)
{
	uint64_t count;

	if (read(h->wake_fd, &count, sizeof(count)) != sizeof(count))
		return false;
	channels_close_wanted(h);
	return atomic_load(&h->is_stopping);
}

static void *star_main(void *arg)
{
	struct hosts *h = arg;
	struct pollfd *fds = mem_array(h->peer_count + 1, sizeof(*fds));
	uint64_t beat_ns = star_now_ns();

	for (;;) {
		uint64_t now_ns = star_now_ns();

		if (now_ns >= beat_ns) {
			/* First what came while we were late. */
			look_for_quiet_ones(h, now_ns, now_ns > beat_ns + LATE_NS);
			beat(h);
			beat_ns = now_ns + BEAT_NS;
		}
		if (wait_for_any(h, fds, beat_ns) < 0)
			continue;
		if (fds[h->peer_count].revents && take_wishes(h))
			break;
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

	(void)n; /* only 2^64 of them would not fit */
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
	h->wake_fd = -1; /* who wakes it now wakes nobody */
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
