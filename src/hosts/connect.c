/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c - see connect.h. */
#include "hosts/connect.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "hosts/addresses.h"
#include "hosts/hosts_inside.h"

/* What is always told behind all that went wrong. */
#define WAY_OUT_BYTES 160

/* How long one address is tried; all of them. */
#define TRY_MS 2000
#define CONNECT_NS (8 * NS_PER_S)

void connect_set_patience(int fd, unsigned receive_s)
{
	const struct timeval most = { .tv_sec = receive_s };

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof(most));
}

void connect_set_options(int fd, unsigned receive_s)
{
	const int on = 1, idle_s = 2, every_s = 2, probes = 3, most_ms = 10000;
	const struct timeval most = { .tv_sec = 10 };

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof(most_ms));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	connect_set_patience(fd, receive_s);
}

/*
 * A timeout of a socket is that of one call, which gives what has come until then: who sends little
 * by little would have it anew with each. False, with the errno of a call that timed out: the time
 * for all of it is over.
 */
static bool has_time(int fd, int option, uint64_t from_ns, size_t bytes)
{
	struct timeval t = { 0 };
	socklen_t size = sizeof(t);
	uint64_t most_ns;

	getsockopt(fd, SOL_SOCKET, option, &t, &size);
	most_ns = (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * 1000;
	if (!most_ns ||
	    star_now_ns() - from_ns < most_ns + (uint64_t)((double)bytes / MIB) * NS_PER_S)
		return true;
	errno = EWOULDBLOCK;
	return false;
}

bool connect_read(int fd, void *to, size_t n)
{
	const uint64_t from_ns = star_now_ns();
	const size_t all = n;
	char *at = to;

	while (n) {
		ssize_t got = recv(fd, at, n, MSG_WAITALL);

		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			errno = 0;
		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
		if (n && !has_time(fd, SO_RCVTIMEO, from_ns, all))
			return false;
	}
	return true;
}

bool connect_write(int fd, const void *from, size_t n)
{
	const uint64_t from_ns = star_now_ns();
	const size_t all = n;
	const char *at = from;

	while (n) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0)
			return false;
		at += sent;
		n -= (size_t)sent;
		if (n && !has_time(fd, SO_SNDTIMEO, from_ns, all))
			return false;
	}
	return true;
}

/* A connected socket, or -errno. */
static int try_address(const struct hello_address *a, uint16_t port)
{
	struct sockaddr_storage to;
	socklen_t bytes = addresses_fill(&to, a, port);
	int fd = socket(a->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int error = 0;
	socklen_t n = sizeof(error);

	if (fd < 0)
		return -errno;
	if (connect(fd, (struct sockaddr *)&to, bytes) < 0)
		error = errno;
	if (error == EINPROGRESS) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };

		error = ETIMEDOUT;
		if (poll(&p, 1, TRY_MS) == 1)
			getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
	}
	if (error) {
		close(fd);
		return -error;
	}
	fcntl(fd, F_SETFL, 0);
	return fd;
}

int connect_any(const struct connect_to *to, char *why, size_t size)
{
	const struct hello *h = to->hello;
	uint64_t until_ns = star_now_ns() + CONNECT_NS;
	char text[64];
	int n = snprintf(why, size, "cannot reach rank %u (host %s), port %u:", to->rank, h->name,
			 h->port);

	for (unsigned i = 0; i < h->addresses && star_now_ns() < until_ns; i++) {
		if (addresses_is_loopback(&h->address[i]) && !to->is_same_host)
			continue;
		int fd = try_address(&h->address[i], h->port);
		if (fd >= 0) {
			why[0] = '\0';
			return fd;
		}
		addresses_text(&h->address[i], text, sizeof(text));
		if ((size_t)n + WAY_OUT_BYTES < size)
			n += snprintf(why + n, size - (size_t)n, " %s: %s;", text, strerror(-fd));
	}
	if ((size_t)n < size)
		snprintf(why + n, size - (size_t)n, " let the hosts reach each other%s",
			 to->way_out);
	return -1;
}
