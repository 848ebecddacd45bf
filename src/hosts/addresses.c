/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.c - see addresses.h. */
#include "hosts/addresses.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "hosts/hosts_inside.h"

#define MOST_WAITING 1024 /* connections that nobody has taken yet */

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
	if (bind(fd, (struct sockaddr *)&at, n) == 0 && listen(fd, MOST_WAITING) == 0)
		return fd;
	int error = errno;
	close(fd);
	errno = error;
	return -1;
}

static uint16_t port_of(int fd)
{
	struct sockaddr_storage at = { 0 };
	socklen_t n = sizeof(at);
	struct sockaddr_in in;
	struct sockaddr_in6 in6;

	if (getsockname(fd, (struct sockaddr *)&at, &n) < 0)
		return 0;
	memcpy(&in, &at, sizeof(in));
	memcpy(&in6, &at, sizeof(in6));
	return ntohs(at.ss_family == AF_INET ? in.sin_port : in6.sin6_port);
}

/* Of an interface. */
static bool take_address(struct hello_address *to, const struct ifaddrs *i)
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

/* Many of one family leave room for the other. */
static bool has_room(const struct hello *mine, int family)
{
	unsigned of_family = 0;

	for (unsigned i = 0; i < mine->addresses; i++)
		of_family += mine->address[i].family == family;
	return of_family < HELLO_ADDRESSES / 2;
}

static void take_addresses(struct hello *mine, const struct ifaddrs *all, bool of_loopback)
{
	for (const struct ifaddrs *i = all; i; i = i->ifa_next) {
		struct hello_address a;

		if (!take_address(&a, i) || addresses_is_loopback(&a) != of_loopback)
			continue;
		if (!of_loopback)
			mine->reach |= a.family == AF_INET ? REACH_IPV4 : REACH_IPV6;
		if (has_room(mine, a.family))
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
	take_addresses(mine, all, false);
	take_addresses(mine, all, true);
	freeifaddrs(all);
}

int addresses_listen(struct hello *mine, uint16_t port)
{
	int fd = listen_at(AF_INET6, port);

	if (fd < 0 && errno != EADDRINUSE)
		fd = listen_at(AF_INET, port);
	if (fd < 0) {
		snprintf(mine->why, sizeof(mine->why),
			 "peers_port=%u: %s; another job may use it: choose another, or leave it "
			 "to the system",
			 port, strerror(errno));
		return -1;
	}
	mine->port = port_of(fd);
	addresses_list(mine);
	return fd;
}

/* Of both, the one that others cannot reach at all. */
static bool put_lonely(const struct hello *h, unsigned rank, char *why, size_t size)
{
	if (h->reach & (REACH_IPV4 | REACH_IPV6))
		return false;
	snprintf(why, size,
		 "host %s (rank %u) has no address for others: those of its loopback are none, and "
		 "link-local ones of IPv6 (fe80::) lead nowhere without an interface; give it an "
		 "address of IPv4, or a global or unique local one of IPv6",
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
	if (put_lonely(to, to_rank, why, size) || put_lonely(from, from_rank, why, size))
		return false;
	snprintf(why, size,
		 "host %s (rank %u) has addresses of %s alone, host %s (rank %u) of %s alone: give "
		 "both some of one kind",
		 from->name, from_rank, families[from->reach & any], to->name, to_rank,
		 families[to->reach & any]);
	return false;
}

socklen_t addresses_fill(struct sockaddr_storage *to, const struct hello_address *a, uint16_t port)
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

void addresses_text(const struct hello_address *a, char *text, size_t size)
{
	if (!inet_ntop(a->family, a->bytes, text, (socklen_t)size))
		snprintf(text, size, "(no address)");
}

bool addresses_is_loopback(const struct hello_address *a)
{
	static const unsigned char one[16] = { [15] = 1 };

	return a->family == AF_INET ? a->bytes[0] == 127 : memcmp(a->bytes, one, sizeof(one)) == 0;
}
