/* SPDX-License-Identifier: Apache-2.0 */
/* connect.c - addresses, TCP connections, and the greeting of new connections. */
#include "hosts/hosts_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <inttypes.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"

/* Families of the addresses of a host; LISTED: the interfaces could be listed. */
enum hello_reach { REACH_IPV4 = 1, REACH_IPV6 = 2, REACH_LISTED = 4 };

#define BACKLOG 1024 /* connections that have not been accepted yet */

static socklen_t addresses_fill(struct sockaddr_storage *to, const struct hello_address *a,
				uint16_t port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };

	*to = (struct sockaddr_storage){ 0 };
	if (a->family == AF_INET) {
		memcpy(&in.sin_addr, a->bytes, sizeof(in.sin_addr));
		memcpy(to, &in, sizeof(in));
		return sizeof(in);
	}
	memcpy(&in6.sin6_addr, a->bytes, sizeof(in6.sin6_addr));
	memcpy(to, &in6, sizeof(in6));
	return sizeof(in6);
}

static int listen_at(int family, uint16_t port)
{
	const struct hello_address any = { .family = family };
	const int on = 1, off = 0;
	struct sockaddr_storage at;
	socklen_t n = addresses_fill(&at, &any, port);
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof(off));
	if (bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

/* Read the address of an interface; false if it is of no use. */
static bool read_address(struct hello_address *to, const struct ifaddrs *i)
{
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (!i->ifa_addr || !(i->ifa_flags & IFF_UP))
		return false;
	*to = (struct hello_address){ .family = i->ifa_addr->sa_family };
	if (to->family == AF_INET) {
		memcpy(&in, i->ifa_addr, sizeof(in));
		memcpy(to->bytes, &in.sin_addr, sizeof(in.sin_addr));
		return true;
	}
	if (to->family != AF_INET6)
		return false;
	memcpy(&in6, i->ifa_addr, sizeof(in6));
	memcpy(to->bytes, &in6.sin6_addr, sizeof(in6.sin6_addr));
	return !IN6_IS_ADDR_LINKLOCAL(&in6.sin6_addr);
}

static bool addresses_is_loopback(const struct hello_address *a)
{
	static const unsigned char one[16] = { [15] = 1 };

	return a->family == AF_INET ? a->bytes[0] == 127 : memcmp(a->bytes, one, sizeof(one)) == 0;
}

static void add_addresses(struct hello *mine, const struct ifaddrs *all, bool loopback)
{
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		struct hello_address a;
		unsigned of_family = 0;

		if (!read_address(&a, i) || addresses_is_loopback(&a) != loopback)
			continue;
		if (!loopback)
			mine->reach |= a.family == AF_INET ? REACH_IPV4 : REACH_IPV6;
		for (unsigned k = 0; k < mine->addresses; k++)
			of_family += mine->address[k].family == a.family;
		/* Half of the places are reserved for each family. */
		if (of_family < HELLO_ADDRESSES / 2)
			mine->address[mine->addresses++] = a;
	}
}

void addresses_list(struct hello *mine)
{
	struct ifaddrs *all = NULL;

	mine->addresses = 0;
	mine->reach = 0;
	if (getifaddrs(&all) < 0)
		return;
	mine->reach = REACH_LISTED;
	add_addresses(mine, all, false);
	add_addresses(mine, all, true);
	freeifaddrs(all);
}

int addresses_listen(struct hello *mine, uint16_t port)
{
	struct sockaddr_storage at = { 0 };
	socklen_t n = sizeof(at);
	struct sockaddr_in in;
	struct sockaddr_in6 in6;
	int fd = listen_at(AF_INET6, port);

	if (fd < 0 && errno != EADDRINUSE)
		fd = listen_at(AF_INET, port);
	if (fd < 0) {
		snprintf(mine->why, sizeof(mine->why),
			 "peers_port=%u: %s; another job may use this port: choose another, or let "
			 "the system choose",
			 port, strerror(errno));
		return -1;
	}
	mine->port = 0;
	if (getsockname(fd, (struct sockaddr *)&at, &n) == 0) {
		memcpy(&in, &at, sizeof(in));
		memcpy(&in6, &at, sizeof(in6));
		mine->port = ntohs(at.ss_family == AF_INET ? in.sin_port : in6.sin6_port);
	}
	addresses_list(mine);
	return fd;
}

/* Print that a host has no address that other hosts can reach; false if it has one. */
static bool print_unreachable(const struct hello *h, unsigned rank, char *why, size_t size)
{
	if (h->reach & (REACH_IPV4 | REACH_IPV6))
		return false;
	snprintf(why, size,
		 "host %s (rank %u) has no address that other hosts can reach: loopback addresses "
		 "and link-local IPv6 addresses (fe80::) do not count; give it an IPv4 address, or "
		 "a global or unique local IPv6 address",
		 h->name, rank);
	return true;
}

bool addresses_can_meet(const struct hello *from, unsigned from_rank, const struct hello *to,
			unsigned to_rank, char *why, size_t size)
{
	static const char *const families[] = { [REACH_IPV4] = "IPv4", [REACH_IPV6] = "IPv6" };
	const unsigned any = REACH_IPV4 | REACH_IPV6;

	if (!from->reach || !to->reach || (from->reach & to->reach & any))
		return true;
	if (print_unreachable(to, to_rank, why, size) ||
	    print_unreachable(from, from_rank, why, size))
		return false;
	snprintf(why, size,
		 "host %s (rank %u) has only %s addresses, host %s (rank %u) only %s: give both "
		 "addresses of one family",
		 from->name, from_rank, families[from->reach & any], to->name, to_rank,
		 families[to->reach & any]);
	return false;
}

/* Space that connect_any reserves for the advice at the end of a message. */
#define WAY_OUT_BYTES 160

/* Time limits of one address and of all of them. */
#define TRY_MS 2000
#define CONNECT_NS (8 * NS_PER_S)

void connect_set_options(int fd, unsigned receive_s)
{
	const int on = 1, idle_s = 2, every_s = 2, probes = 3, most_ms = 10000;
	const struct timeval most = { .tv_sec = 10 }, receive = { .tv_sec = receive_s };

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof(probes));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &most_ms, sizeof(most_ms));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &most, sizeof(most));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof(receive));
}

/*
 * A socket timeout applies to one call, which returns the bytes that came in time. A peer that
 * sends slowly would restart it with each call, so the total time is limited, too. Returns false,
 * with the errno of a call that timed out, when the time for all bytes is over.
 */
static bool has_time(int fd, int option, uint64_t from_ns, size_t bytes)
{
	struct timeval t = { 0 };
	socklen_t size = sizeof(t);
	uint64_t most_ns;

	getsockopt(fd, SOL_SOCKET, option, &t, &size);
	most_ns = (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_usec * 1000;
	if (!most_ns || star_now_ns() - from_ns <
				most_ns + (uint64_t)((double)bytes / BYTES_PER_MIB) * NS_PER_S)
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
		if (!inet_ntop(h->address[i].family, h->address[i].bytes, text, sizeof(text)))
			snprintf(text, sizeof(text), "(no address)");
		if ((size_t)n + WAY_OUT_BYTES < size)
			n += snprintf(why + n, size - (size_t)n, " %s: %s;", text, strerror(-fd));
	}
	if ((size_t)n < size)
		snprintf(why + n, size - (size_t)n, " let the hosts reach each other%s",
			 to->way_out);
	return -1;
}

/* Time limit of a greeting; a process of the job sends it as soon as it has connected. */
#define GREET_NS (1 * NS_PER_S)

void greeter_init(struct greeter *g, int listener, uint64_t token,
		  bool (*take)(void *who, int fd, uint64_t rank), void *who)
{
	*g = (struct greeter){ .listener = listener,
			       .token = token,
			       .patience_ns = GREET_NS,
			       .take = take,
			       .who = who };
	/* accept must not block if the peer has already closed the connection. */
	fcntl(listener, F_SETFL, O_NONBLOCK);
}

/* Later guests move up by one place. */
static void remove_guest(struct greeter *g, unsigned i)
{
	g->count--;
	memmove(&g->guests[i], &g->guests[i + 1], (g->count - i) * sizeof(g->guests[0]));
}

static void reject(struct greeter *g, unsigned i)
{
	const struct sockaddr_storage *from = &g->guests[i].from;
	const struct sockaddr_in *in = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
	const void *bytes = &in->sin_addr;
	int family = from->ss_family;

	if (family == AF_INET6) {
		bytes = &in6->sin6_addr;
		/* An IPv4 address on a socket of both families. */
		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			bytes = in6->sin6_addr.s6_addr + 12;
			family = AF_INET;
		}
	}
	if (!inet_ntop(family, bytes, g->stranger, sizeof(g->stranger)))
		snprintf(g->stranger, sizeof(g->stranger), "(no address)");
	g->strangers++;
	close(g->guests[i].fd);
	remove_guest(g, i);
}

static void accept_guest(struct greeter *g)
{
	struct sockaddr_storage from = { 0 };
	socklen_t size = sizeof(from);
	int fd = accept4(g->listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (g->count == GREETER_PLACES)
		reject(g, 0);
	g->guests[g->count++] = (struct greeter_guest){
		.fd = fd,
		.until_ns = star_now_ns() + g->patience_ns,
		.from = from,
	};
}

/* Read the available bytes of a greeting. The guest may be removed. */
static void read_greeting(struct greeter *g, unsigned i)
{
	struct greeter_guest *who = &g->guests[i];
	ssize_t n = recv(who->fd, (char *)&who->greeting + who->bytes,
			 sizeof(who->greeting) - who->bytes, MSG_DONTWAIT);

	if (n > 0)
		who->bytes += (size_t)n;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		reject(g, i);
		return;
	}
	if (who->bytes < sizeof(who->greeting))
		return;
	if (who->greeting.token == g->token && g->take(g->who, who->fd, who->greeting.rank))
		remove_guest(g, i);
	else
		reject(g, i);
}

void greeter_poll(struct greeter *g, int wait_ms)
{
	struct pollfd p[1 + GREETER_PLACES] = {
		{ .fd = g->listener, .events = POLLIN },
	};
	uint64_t now_ns = star_now_ns();
	unsigned count = g->count;

	if (count) {
		uint64_t until_ns = u64_max(g->guests[0].until_ns, now_ns);

		wait_ms = (int)u64_min((uint64_t)wait_ms, divide_up(until_ns - now_ns, 1000000));
	}
	for (unsigned i = 0; i < count; i++)
		p[i + 1] = (struct pollfd){ .fd = g->guests[i].fd, .events = POLLIN };
	if (poll(p, 1 + count, wait_ms) > 0) {
		/* Backwards, because later guests move up. */
		for (unsigned i = count; i-- > 0;)
			if (p[i + 1].revents)
				read_greeting(g, i);
		if (p[0].revents)
			accept_guest(g);
	}
	now_ns = star_now_ns();
	while (g->count && g->guests[0].until_ns <= now_ns)
		reject(g, 0);
}

const char *greeter_print_strangers(const struct greeter *g, char *text, size_t size)
{
	text[0] = '\0';
	if (g->strangers)
		snprintf(text, size,
			 "; %" PRIu64 " connection%s, the last from %s, %s not from this job",
			 g->strangers, plural(g->strangers), g->stranger,
			 g->strangers == 1 ? "was" : "were");
	return text;
}

void greeter_fini(struct greeter *g)
{
	while (g->count)
		close(g->guests[--g->count].fd);
}
