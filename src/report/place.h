/* SPDX-License-Identifier: Apache-2.0 */
/* place.h - the place that an option names for an output, looked at before it is written. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <mlgen/err.h>

/*
 * What stands there decides how it may be written, and is decided on the descriptor that is written
 * later, whatever the name leads to by then:
 *
 * - Nothing yet, or a regular file: the file behind all links, which need not
 *   be there.
 * - A pipe, a terminal, /dev/null, /dev/full: written as they are.
 * - A descriptor that was handed over (/dev/fd/N, /dev/stdout, /dev/stderr):
 *   written where it stands, whatever it is; it was opened for that.
 *
 * A block device and any other character device are refused: mlgen's reports are no contents for
 * them.
 */
enum place_kind {
	PLACE_NEW,
	PLACE_FILE,
	PLACE_STREAM,
};

struct place {
	const char *option; /* "json", for messages; the caller's */
	const char *given;  /* as the user wrote it; the caller's */
	enum place_kind kind;
	bool is_handed_over; /* a descriptor of the program that started this */
	int fd;              /* open for writing, nothing truncated; NEW: -1 */
	char *path;          /* NEW, FILE: behind all links; owned */
	dev_t dev;           /* of the file; NEW: of its folder */
	ino_t ino;
};

/*
 * Look there and open what there is. Nothing is made, emptied or written.
 * 0, or -errno with err: what cannot be written, a device, a directory, a file into which a run
 * writes its log or trace (-EBUSY).
 */
int place_open(struct place *p, const char *option, const char *given, struct mlgen_err *err);
void place_close(struct place *p); /* takes a zeroed one */

/*
 * FILE: keep other runs off until the descriptor is closed, however this program ends; 0, or -EBUSY
 * with err. Filesystems that have no locks let everybody pass.
 */
int place_lock(const struct place *p, struct mlgen_err *err);

/* NEW: make the file; then it is FILE, and locked. 0 or -errno with err. */
int place_make(struct place *p, struct mlgen_err *err);

/* Would the two be one file? Streams never are. */
bool place_is_same(const struct place *a, const struct place *b);

/* Is, or would be, the file of that path the one of the place? */
bool place_is_path(const struct place *p, const char *path);
/* Is the descriptor a regular file, and that one? */
bool place_is_fd(const struct place *p, int fd);
