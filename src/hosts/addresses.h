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
 * A listening socket at a port, 0 = any; of both families where there is IPv6.
 * The port and the addresses of all interfaces that are up go into `mine`:
 * those of the network first, then those of the loopback. -1, and why in
 * `mine`: the port is taken.
 */
int addresses_listen(struct hello *mine, uint16_t port);

socklen_t addresses_fill(struct sockaddr_storage *to,
			 const struct hello_address *a, uint16_t port);
void addresses_text(const struct hello_address *a, char *text, size_t size);
bool addresses_is_loopback(const struct hello_address *a);
