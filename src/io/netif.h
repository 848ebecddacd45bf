/* SPDX-License-Identifier: Apache-2.0 */
/* netif.h - the network interface that a remote mount's bytes come through. */
#pragma once

#include <net/if.h>
#include <stddef.h>
#include <stdint.h>

#include "io/mount.h"

struct netif {
	char name[IFNAMSIZ];
	uint64_t line_rate_bits_per_sec; /* 0 = unknown */
};

/* `root` is "" everywhere but in tests, which put a tree there. */

/*
 * The interface that routes to the server of a mount. 0, or -ENODATA: nothing remote, a server
 * without a numeric address in the mount table (no name is looked up), one on this host, or a mount
 * over RDMA, whose bytes pass by the counters of the interface.
 */
int netif_find(struct netif *n, const char *root, const struct mount *mount);

/* Its parts, for tests. The server's address: 0 or -ENODATA. */
int netif_server(char *out, size_t size, const struct mount *mount);
/* Which interface the kernel would send to that address; sends nothing. */
int netif_route(char name[IFNAMSIZ], const char *address);
/* What its hardware (of a bond or VLAN: the one below) says; 0 = unknown, also of a virtual
 * interface, which names a rate that is nobody's. */
uint64_t netif_line_rate(const char *root, const char *name);

/* Bytes received since boot. 0 or -errno. */
int netif_received(uint64_t *bytes, const char *root, const char *name);
