/* SPDX-License-Identifier: Apache-2.0 */
/* bridge.c - messages go through MPI where there is no IP between hosts; see hosts_inside.h. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/thread.h"
#include "hosts/hosts_inside.h"

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
