/* SPDX-License-Identifier: Apache-2.0 */
/* tracefile.h - --trace: the file, looked at before a run, and kept from others while it is
 * written. */
#pragma once

#include <stdbool.h>

#include <mlgen/err.h>

#include "report/place.h"

/* A zeroed one is none. */
struct tracefile {
	char *path; /* for messages; NULL = there is none */
	int fd;
	char *made; /* it was not there before: to be removed if it is empty */
};

/* May a trace be written there? In a regular file alone, and as ours.h has it. Nothing is changed.
 * 0 or -errno with err. */
int tracefile_check(const struct place *p, bool force, struct mlgen_err *err);

/* Behind that of a trace: make the file if need be, and lock it. What is in it stays. The place is
 * closed, or taken over. 0 or -errno with err. */
int tracefile_open(struct tracefile *f, struct place *p, struct mlgen_err *err);

/* Open it once more, to be read: a descriptor, or -errno. */
int tracefile_read(const struct tracefile *f);

/* One that was made and is empty goes. 0, or -errno: some filesystems tell only here that there was
 * no room. */
int tracefile_close(struct tracefile *f);

/* From another thread, before the program ends at once. */
void tracefile_discard(const struct tracefile *f);
