/* SPDX-License-Identifier: Apache-2.0 */
/* prom_address.c - see prom_address.h. */
#include "report/prom_address.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOPBACK "127.0.0.1"

/* Connections that wait until one of those that are served is over. */
#define BACKLOG 16

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static int address_fail(const char *given, const char *what, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "metrics=%s: %s; it is ADDRESS:PORT, such as 127.0.0.1:9100, [::1]:9100, "
			  "or 9100 alone",
			  given, what);
}

/* What is before the port, "" = nothing. False: it is too long. */
static bool split(const char *given, char host[PROM_ADDRESS_BYTES], const char **port)
{
	const char *colon = strrchr(given, ':');
	size_t length = colon ? (size_t)(colon - given) : 0;
	bool is_bracketed = length > 2 && *given == '[' && given[length - 1] == ']';
	int shown = (int)(is_bracketed ? length - 2 : length);

	*port = colon ? colon + 1 : given;
	return snprintf(host, PROM_ADDRESS_BYTES, "%.*s", shown, given + is_bracketed) <
	       PROM_ADDRESS_BYTES;
}

static int parse_port(const char *given, const char *text, in_port_t *port, struct mlgen_err *err)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || n > 65535)
		return address_fail(given, "a port is a number up to 65535", err);
	*port = htons((in_port_t)n);
	return 0;
}

static int parse(const char *given, union address *a, socklen_t *bytes, struct mlgen_err *err)
{
	char host[PROM_ADDRESS_BYTES];
	const char *text;
	in_port_t port = 0;

	if (!split(given, host, &text))
		return address_fail(given, "is no address", err);
	int rc = parse_port(given, text, &port, err);
	if (rc < 0)
		return rc;
	*a = (union address){ 0 };
	if (*host == '\0' || strcmp(host, "localhost") == 0)
		snprintf(host, sizeof(host), "%s", LOOPBACK);
	if (*given != '[' && inet_pton(AF_INET, host, &a->v4.sin_addr) == 1) {
		a->v4.sin_family = AF_INET;
		a->v4.sin_port = port;
		*bytes = sizeof(a->v4);
		return 0;
	}
	if (*given != '[' && strchr(host, ':'))
		return address_fail(given, "an address of IPv6 stands in brackets", err);
	if (inet_pton(AF_INET6, host, &a->v6.sin6_addr) != 1)
		return address_fail(given, "is no address, and names are not looked up", err);
	a->v6.sin6_family = AF_INET6;
	a->v6.sin6_port = port;
	*bytes = sizeof(a->v6);
	return 0;
}

static int cannot_listen(const char *given, int code, struct mlgen_err *err)
{
	const char *way =
		code == EADDRINUSE
			? "; another program, or mlgen, serves there: port 0 is one that is free"
		: code == EADDRNOTAVAIL
			? "; it is none of this host's: 0.0.0.0 and [::] are all of them"
		: code == EACCES ? "; ports below 1024 are for root"
				 : "";

	return mlgen_fail(err, -code, "metrics=%s: %s%s", given, strerror(code), way);
}

static void put_place(int fd, char at[PROM_ADDRESS_BYTES])
{
	char text[INET6_ADDRSTRLEN] = "";
	union address a = { .any = { .sa_family = AF_UNSPEC } };
	socklen_t bytes = sizeof(a);

	getsockname(fd, &a.any, &bytes);
	bool is_v6 = a.any.sa_family == AF_INET6;
	inet_ntop(a.any.sa_family, is_v6 ? (const void *)&a.v6.sin6_addr : &a.v4.sin_addr, text,
		  sizeof(text));
	snprintf(at, PROM_ADDRESS_BYTES, is_v6 ? "[%s]:%u" : "%s:%u", text,
		 ntohs(is_v6 ? a.v6.sin6_port : a.v4.sin_port));
}

int prom_address_check(const char *given, struct mlgen_err *err)
{
	union address a;
	socklen_t bytes;

	return parse(given, &a, &bytes, err);
}

int prom_address_listen(const char *given, char at[PROM_ADDRESS_BYTES], struct mlgen_err *err)
{
	union address a;
	socklen_t bytes;
	const int yes = 1;
	int rc = parse(given, &a, &bytes, err);

	if (rc < 0)
		return rc;
	int fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return cannot_listen(given, errno, err);
	/* Behind a run that served there a moment ago. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, &a.any, bytes) != 0 || listen(fd, BACKLOG) != 0) {
		rc = cannot_listen(given, errno, err);
		close(fd);
		return rc;
	}
	put_place(fd, at);
	return fd;
}
