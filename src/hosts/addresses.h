/* SPDX-License-Identifier: Apache-2.0 */
/* addresses.h - where rank 0 can be reached: its addresses and a port that it listens at. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct hello;
struct hello_address;

/*
 * The addresses of all interfaces that are up go into `mine`: those of the network first, then
 * those of the loopback. Link-local ones of IPv6 are none: they would need the number of an
 * interface of who connects.
 */
void addresses_list(struct hello *mine);

/*
 * A listening socket at a port, 0 = any; of both families where there is IPv6. The port goes into
 * `mine`, with the addresses. -1, and why in `mine`: the port is taken.
 */
int addresses_listen(struct hello *mine, uint16_t port);

/* Has `from`, on another host, an address of a family that `to` has one of, too? False: why not,
 * and what would be right. Where nothing is known it has. */
bool addresses_can_meet(const struct hello *from, unsigned from_rank, const struct hello *to,
			unsigned to_rank, char *why, size_t size);

socklen_t addresses_fill(struct sockaddr_storage *to, const struct hello_address *a, uint16_t port);
void addresses_text(const struct hello_address *a, char *text, size_t size);
bool addresses_is_loopback(const struct hello_address *a);
