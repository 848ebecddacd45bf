/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - a file that appears whole or not at all. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include <mlgen/err.h>

#include "base/replace.h"
#include "report/place.h"

/*
 * What is printed is kept in memory and written when closed, so that a full disk is told as what it
 * is. A regular or absent file is written beside its place and renamed over it: a reader sees the
 * old file or the new one, and a program that is stopped leaves the old one. A symbolic link stays
 * and its target is replaced. Anything else (/dev/null, a pipe, a descriptor that was handed over)
 * is written as it is.
 */
struct output {
	FILE *to;  /* print here; NULL = not open */
	int error; /* streamed: of the first write that failed */
	char *text;
	size_t bytes;
	bool is_text;        /* for people: made printable (printable.h) */
	char *path;          /* for messages; NULL = stdout */
	int fd;              /* written in place; -1 = it is not */
	struct replace file; /* else */
};

/* The place is closed, or taken over; NULL = stdout. 0, or -errno with err. */
int output_open(struct output *o, struct place *p, struct mlgen_err *err);

/* Of one that is opened, before anything is printed: from now on text goes out as it comes, and
 * memory is that of a buffer. 0 or -errno with err. */
int output_stream(struct output *o, struct mlgen_err *err);

/* Write, check, rename into place. 0, or -errno with err and the old file. */
int output_close(struct output *o, struct mlgen_err *err);

/* Write nothing, leave the old file; takes a zeroed or closed one. */
void output_abandon(struct output *o);

/* From another thread, before the program ends at once: nothing half-written is left. */
void output_discard(struct output *o);
