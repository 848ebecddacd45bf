/* SPDX-License-Identifier: Apache-2.0 */
/* connect.h - a TCP connection from one process of a job to another. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct hello;

/*
 * Small messages go at once; who does not take what is sent for 10 s, or whose machine does not
 * answer, is gone (hosts.md's spike: a pulled cable is noticed after TCP_USER_TIMEOUT; the
 * heartbeat finds what TCP does not). All of what one connect_read asks for may take this many
 * seconds to come, and a second more for each MiB of it.
 */
void connect_set_options(int fd, unsigned receive_s);
void connect_set_patience(int fd, unsigned receive_s); /* that alone */

/* All of it, or false with errno; of a connection that was closed that is 0. */
bool connect_read(int fd, void *to, size_t n);
bool connect_write(int fd, const void *from, size_t n);

/* Each of the addresses that a process has told, in turn; one of the loopback only on the same
 * host. A connected socket; -1 with what became of each in `why`, and the way out behind it. */
struct connect_to {
	const struct hello *hello;
	unsigned rank;
	bool is_same_host;
	const char *way_out; /* behind "let the hosts reach each other" */
};
int connect_any(const struct connect_to *to, char *why, size_t size);
