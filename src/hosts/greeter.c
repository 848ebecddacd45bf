/* SPDX-License-Identifier: Apache-2.0 */
/* greeter.c - see greeter.h. */
#include "hosts/greeter.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "hosts/hosts_inside.h"

/* A process of the job greets as soon as it has connected. */
#define GREET_NS (1 * NS_PER_S)

void greeter_init(struct greeter *g, int listener, uint64_t token,
		  bool (*take)(void *who, int fd, uint64_t rank), void *who)
{
	*g = (struct greeter){ .listener = listener,
			       .token = token,
			       .patience_ns = GREET_NS,
			       .take = take,
			       .who = who };
	/* Who has gone again before accept would be waited for. */
	fcntl(listener, F_SETFL, O_NONBLOCK);
}

static void put_address(const struct sockaddr_storage *from, char *text, socklen_t size)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)from;
	const void *bytes = &in->sin_addr;
	int family = from->ss_family;

	if (family == AF_INET6) {
		bytes = &in6->sin6_addr;
		/* Of IPv4, at a socket of both families. */
		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			bytes = in6->sin6_addr.s6_addr + 12;
			family = AF_INET;
		}
	}
	if (!inet_ntop(family, bytes, text, size))
		snprintf(text, size, "(no address)");
}

/* The guests behind it move up. */
static void remove_guest(struct greeter *g, unsigned i)
{
	g->count--;
	memmove(&g->guests[i], &g->guests[i + 1], (g->count - i) * sizeof(g->guests[0]));
}

static void send_away(struct greeter *g, unsigned i)
{
	put_address(&g->guests[i].from, g->stranger, sizeof(g->stranger));
	g->strangers++;
	close(g->guests[i].fd);
	remove_guest(g, i);
}

static void let_in(struct greeter *g)
{
	struct sockaddr_storage from = { 0 };
	socklen_t size = sizeof(from);
	int fd = accept4(g->listener, (struct sockaddr *)&from, &size, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (g->count == GREETER_PLACES)
		send_away(g, 0);
	g->guests[g->count++] = (struct greeter_guest){
		.fd = fd,
		.until_ns = star_now_ns() + g->patience_ns,
		.from = from,
	};
}

/* The bytes that are there; this guest may be gone then. */
static void hear(struct greeter *g, unsigned i)
{
	struct greeter_guest *who = &g->guests[i];
	ssize_t n = recv(who->fd, (char *)&who->said + who->bytes, sizeof(who->said) - who->bytes,
			 MSG_DONTWAIT);

	if (n > 0)
		who->bytes += (size_t)n;
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
		send_away(g, i);
		return;
	}
	if (who->bytes < sizeof(who->said))
		return;
	if (who->said.token == g->token && g->take(g->who, who->fd, who->said.rank))
		remove_guest(g, i);
	else
		send_away(g, i);
}

static void end_late_ones(struct greeter *g)
{
	uint64_t now_ns = star_now_ns();

	while (g->count && g->guests[0].until_ns <= now_ns)
		send_away(g, 0);
}

void greeter_look(struct greeter *g, int wait_ms)
{
	struct pollfd p[1 + GREETER_PLACES] = {
		{ .fd = g->listener, .events = POLLIN },
	};
	unsigned count = g->count;

	if (count) {
		uint64_t now_ns = star_now_ns();
		uint64_t until_ns = u64_max(g->guests[0].until_ns, now_ns);

		wait_ms = (int)u64_min((uint64_t)wait_ms, divide_up(until_ns - now_ns, 1000000));
	}
	for (unsigned i = 0; i < count; i++)
		p[i + 1] = (struct pollfd){ .fd = g->guests[i].fd, .events = POLLIN };
	if (poll(p, 1 + count, wait_ms) > 0) {
		/* From the last one on, since guests move up. */
		for (unsigned i = count; i-- > 0;)
			if (p[i + 1].revents)
				hear(g, i);
		if (p[0].revents)
			let_in(g);
	}
	end_late_ones(g);
}

const char *greeter_tell(const struct greeter *g, char *text, size_t size)
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
