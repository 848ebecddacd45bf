/* SPDX-License-Identifier: Apache-2.0 */
/* jobreader.h - the lines of a job file that mean something, and where they stand. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "job/diag.h"

/*
 * Follows `include`, drops comments, byte order mark, blanks around a line and the CR of a DOS
 * file, replaces ${VAR}, and refuses what no line may hold. A comment begins with '#' or ';', first
 * in a line or behind a blank. A file that is no text is one fault, and nothing of it is read.
 * What is handed out is a header "[...", as written, or an option.
 */

/* Files within files. */
#define JOBREADER_DEPTH 16
/* Bytes of a line before its variables are replaced. */
#define JOBREADER_LINE_MAX 65536
/* With all includes, however often. No job file comes near. */
#define JOBREADER_BYTES_MAX (4u << 20)

struct jobreader_level {
	char *text;       /* of the whole file */
	size_t len, next; /* where the next line begins */
	const char *path; /* one of `paths` */
	unsigned line;
	dev_t dev; /* which file it is, to find cycles */
	ino_t ino;
};

struct jobreader {
	struct diag *d;
	struct jobreader_level levels[JOBREADER_DEPTH];
	unsigned depth;
	char **paths; /* all opened; owned until the caller takes them */
	size_t path_count;
	size_t bytes;
	struct buf text;
	struct diag_place at; /* of the line last handed out */
};

/* Open the file, "-" for stdin; 0 or -errno with the fault in `d`. A FIFO is one, too; devices are
 * not, and an include is a regular file. */
int jobreader_open(struct jobreader *r, const char *path, struct diag *d);
/* Closes what is open and frees everything; the paths too. */
void jobreader_close(struct jobreader *r);

/* The next line, or NULL at the end. Valid until the next call. */
const char *jobreader_next(struct jobreader *r);

/* Does the line last handed out stand in an included file? */
bool jobreader_is_included(const struct jobreader *r);

/*
 * Why no line of a job file can hold this value of an option so that it is read back alike, as a
 * clause: "a '#'". NULL: one can.
 */
const char *jobreader_cannot_hold(const char *value);
