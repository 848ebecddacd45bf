/* SPDX-License-Identifier: Apache-2.0 */
/* doors.h - connections between any two processes of a job, beside the star, for what is too much
 * for it. */
#pragma once

#include <mlgen/err.h>

#include "hosts/hosts.h"

/*
 * Each process listens at a port of its own, its door, tells all where that is, and connects to all
 * others, as often as it wants to ask. Who comes in says first who he is, and the word that the
 * processes have told each other through MPI; who does not know that is none of ours. When all have
 * come the doors are shut: nobody comes in later.
 *
 * All is opened before threads are started that may have descriptors of their own
 * (MLGEN_CAP_PRIVATE_FDS): those have copies of these, so that one which is of no use any more is
 * shut down, and closed at the end.
 */
struct doors;

struct doors_config {
	const char *what;     /* an option, for messages: "cache_scope=all" */
	const char *way_out;  /* where hosts do not reach each other */
	unsigned connections; /* to each of the others; not the same in all */
	/* Of several of a run: peers_port is the port of rank 0, and from the next one on each
	 * process of a host has one for each of them. */
	unsigned number;
	uint64_t same; /* what they are about has this number in all of them */
};

/* Can they reach each other? Not with barrier_over=mpi. */
bool doors_can_open(const struct hosts *h);

/* Together, with more than one process: 0, or -errno with err, which names the host. */
int doors_open(struct doors **out, struct hosts *h, const struct doors_config *cfg,
	       struct mlgen_err *err);
/* All connections are closed; NULL is fine. */
void doors_free(struct doors *d);

/* Connections to others, cfg->connections of each; and those of others, by number: -1 = there are
 * no more. */
int doors_to(const struct doors *d, unsigned rank, unsigned i);
int doors_from(const struct doors *d, unsigned i);
