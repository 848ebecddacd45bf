/* SPDX-License-Identifier: Apache-2.0 */
/* netif.c - see netif.h. */
#include "io/netif.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <ifaddrs.h>
#include <limits.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/util.h"
#include "io/sysfile.h"

/* A VLAN on a bond on hardware is usual. */
#define MOST_LEVELS 4

/* Above this a speed is no speed ("unknown" as an unsigned number). */
#define MOST_MEGABITS UINT64_C(10000000)

#define MEGABIT UINT64_C(1000000)

/* Any port: nothing is sent. */
#define SOME_PORT "2049"

/* The value of an option "KEY=VALUE" of a list, and its length; or NULL. */
static const char *option(const char *list, const char *key, size_t *len)
{
	size_t n = strlen(key);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (!strncmp(list, key, n) && list[n] == '=') {
			*len = strcspn(list + n + 1, ",");
			return list + n + 1;
		}
	return NULL;
}

static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (!strncmp(list, word, n) && strchr(",", list[n]))
			return true;
	return false;
}

static bool is_rdma(const struct mount *m)
{
	size_t len;
	const char *proto = option(m->options, "proto", &len), *net;

	if (proto && !strncmp(proto, "rdma", 4))
		return true;
	if (has_word(m->options, "rdma"))
		return true;
	/* Lustre names the network: 192.0.2.5@o2ib:/scratch */
	net = strchr(m->source, '@');
	return !strcmp(m->type, "lustre") && (!net || strncmp(net, "@tcp", 4));
}

static bool is_address(const char *text)
{
	unsigned char binary[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, text, binary) == 1 || inet_pton(AF_INET6, text, binary) == 1;
}

/* The address that `text` begins with: "192.0.2.1:/ai", "[2001:db8::1]:/ai",
 * "192.0.2.1:6789,192.0.2.2:6789:/", or an address alone. */
static bool put_address(char *out, size_t size, const char *text, size_t len)
{
	snprintf(out, size, "%.*s", (int)len, text);
	if (is_address(out))
		return true;
	if (out[0] == '[') {
		snprintf(out, size, "%.*s", (int)len - 1, text + 1);
		out[strcspn(out, "]")] = '\0';
	} else {
		out[strcspn(out, ":,/@%")] = '\0';
	}
	return is_address(out);
}

static bool same_address(const struct sockaddr *a, const struct sockaddr *b)
{
	struct sockaddr_in a4, b4;
	struct sockaddr_in6 a6, b6;

	if (a->sa_family != b->sa_family)
		return false;
	if (a->sa_family == AF_INET) {
		memcpy(&a4, a, sizeof(a4));
		memcpy(&b4, b, sizeof(b4));
		return a4.sin_addr.s_addr == b4.sin_addr.s_addr;
	}
	if (a->sa_family != AF_INET6)
		return false;
	memcpy(&a6, a, sizeof(a6));
	memcpy(&b6, b, sizeof(b6));
	return !memcmp(&a6.sin6_addr, &b6.sin6_addr, sizeof(a6.sin6_addr));
}

/* The address this host would send from: a UDP socket sends nothing when it is connected, but the
 * kernel looks for the route. */
static int local_address(struct sockaddr_storage *local, const struct addrinfo *server)
{
	socklen_t len = sizeof(*local);
	int rc = 0, fd;

	fd = socket(server->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, server->ai_addr, server->ai_addrlen) ||
	    getsockname(fd, (struct sockaddr *)local, &len))
		rc = -errno;
	close(fd);
	return rc;
}

static int interface_with(char name[IFNAMSIZ], const struct sockaddr *address)
{
	struct ifaddrs *all;
	int rc = -ENODATA;

	if (getifaddrs(&all))
		return -errno;
	for (const struct ifaddrs *a = all; a && rc; a = a->ifa_next)
		if (a->ifa_addr && same_address(a->ifa_addr, address)) {
			snprintf(name, IFNAMSIZ, "%s", a->ifa_name);
			rc = 0;
		}
	freeifaddrs(all);
	return rc;
}

static bool is_hardware(const char *root, const char *name, unsigned levels)
{
	char path[PATH_MAX];
	struct dirent *e;
	bool found;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/sys/class/net/%s/device", root, name);
	found = access(path, F_OK) == 0;
	snprintf(path, sizeof(path), "%s/sys/class/net/%s", root, name);
	dir = found || levels == 0 ? NULL : opendir(path);
	while (dir && !found && (e = readdir(dir)))
		if (!strncmp(e->d_name, "lower_", 6))
			found = is_hardware(root, e->d_name + 6, levels - 1);
	if (dir)
		closedir(dir);
	return found;
}

int netif_find(struct netif *n, const char *root, const struct mount *mount)
{
	char address[INET6_ADDRSTRLEN];
	int rc = netif_server(address, sizeof(address), mount);

	*n = (struct netif){ 0 };
	if (rc == 0)
		rc = netif_route(n->name, address);
	if (rc == 0)
		n->line_rate_bits_per_sec = netif_line_rate(root, n->name);
	return rc ? -ENODATA : 0;
}

int netif_server(char *out, size_t size, const struct mount *mount)
{
	static const char *const keys[] = { "addr", "mon_addr" };
	size_t len;

	if (is_rdma(mount))
		return -ENODATA;
	for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *value = option(mount->options, keys[i], &len);

		if (value && put_address(out, size, value, len))
			return 0;
	}
	return put_address(out, size, mount->source, strlen(mount->source)) ? 0 : -ENODATA;
}

int netif_route(char name[IFNAMSIZ], const char *address)
{
	const struct addrinfo numeric = { .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
					  .ai_socktype = SOCK_DGRAM };
	struct sockaddr_storage local = { 0 };
	struct addrinfo *server;
	int rc;

	if (getaddrinfo(address, SOME_PORT, &numeric, &server))
		return -EINVAL;
	rc = local_address(&local, server);
	/* A server on this host is reached through memory. */
	if (rc == 0 && same_address((const struct sockaddr *)&local, server->ai_addr))
		rc = -ENODATA;
	freeaddrinfo(server);
	return rc ? rc : interface_with(name, (const struct sockaddr *)&local);
}

uint64_t netif_line_rate(const char *root, const char *name)
{
	char path[96];
	uint64_t megabits;

	snprintf(path, sizeof(path), "/sys/class/net/%s/speed", name);
	if (!is_hardware(root, name, MOST_LEVELS) || sysfile_u64(&megabits, root, path) ||
	    megabits > MOST_MEGABITS)
		return 0;
	return megabits * MEGABIT;
}

int netif_received(uint64_t *bytes, const char *root, const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/rx_bytes", name);
	return sysfile_u64(bytes, root, path);
}
