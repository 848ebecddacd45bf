/* SPDX-License-Identifier: Apache-2.0 */
/* meet.h - processes that a launcher started find each other, and part again. */
#pragma once

#include "hosts/hosts.h"
#include "hosts/mpi_plugin.h"

struct hosts_config {
	const char *binary_dir; /* the plugins are looked for beside it */
	const char *version;    /* of the program, with its commit */
	uint16_t port;          /* that rank 0 listens at; 0 = any */
	bool over_mpi;          /* messages go through MPI, not TCP */
	const char *why;        /* this process cannot take part; NULL = it can */
	/* Says what all are refused for, in rank 0, before they part: launchers end those that come
	 * to their end later. NULL = it has been said. */
	void (*say)(const struct mlgen_err *err);
};

/*
 * Together, before any thread is started: NULL in *out where no launcher started several. 0, or
 * -errno with err, of what keeps this one from the others (no plugin); or -ECANCELED, alike in all,
 * of what has been said: another version, no connection, or one that cannot take part, which meets
 * the others all the same, for they would wait for it.
 */
int hosts_meet(struct hosts **out, const struct hosts_config *cfg, struct mlgen_err *err);
/* The same of processes that have met through `mpi` (tests: a table of theirs). */
int hosts_meet_through(struct hosts **out, const struct hosts_mpi *mpi, unsigned rank,
		       unsigned total, const struct hosts_config *cfg, struct mlgen_err *err);

/* Together: all have done what they had to. Waits for the others, and frees h; after a death it
 * waits for nobody. NULL is fine. */
void hosts_finish(struct hosts *h);
