/* SPDX-License-Identifier: Apache-2.0 */
/* process.h - which process has written something, and whether it still runs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/*
 * A process as others can recognise it later, from wherever they find what it has left: a number
 * alone is given again, to another process, by another boot and in another container.
 */
struct process {
	char host[65];
	char machine_id[33]; /* of /etc/machine-id; "" = it has none */
	char boot_id[37];
	uint64_t pid_namespace; /* inode; 0 = not known */
	uint64_t pid;           /* 0 = nobody knows which */
	uint64_t start_ticks;   /* since the boot; 0 = not known */
};

/* This one. What cannot be found out stays empty. */
void process_self(struct process *p);

bool process_is_same(const struct process *a, const struct process *b);

/*
 * Only what runs on this host can be looked at: it is gone when the machine has booted since, when
 * its number is free, or when that belongs to a process with another start. Of all else (other
 * hosts, other containers) nothing is proven. `self` is this one.
 */
enum process_state { PROCESS_UNKNOWN, PROCESS_RUNS, PROCESS_GONE };
enum process_state process_look(const struct process *p, const struct process *self);
