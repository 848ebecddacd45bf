/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - files that the program writes: which it may replace, and how. */
#pragma once

/*
 * A place is what an option names, looked at and opened before anything is written. ours_check()
 * says whether it may be replaced. An output is a document or a report, which appears whole or not
 * at all; the file of a trace is written while the run goes on, and kept from other runs meanwhile.
 * All calls are the main thread's, but for the two that discard.
 */

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/files.h"

/* ---- the place that an option names for an output, looked at before it is written ---- */

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

/* ---- which file an output may replace: an empty one, an earlier output of its kind, with --force
 * any ---- */

enum ours_kind {
	OURS_JSON,
	OURS_HTML,
	OURS_LOG, /* of a run, or of mltrace describe */
	OURS_TRACE,
	OURS_IOLOG,
};

/*
 * 0, or -EEXIST or another -errno with err. What is no regular file holds nothing that could be
 * lost (output.h refuses devices); nor does a descriptor that was handed over, which is written
 * where it stands, but a trace replaces.
 */
int ours_check(const struct place *p, enum ours_kind kind, bool force, struct mlgen_err *err);

/* Open once more, to be read, what the place's descriptor has open, which may only be written
 * through it, or what `path` names (NULL = nothing): a descriptor, or -errno. */
int ours_open(int fd, const char *path);

/* ---- a file that appears whole or not at all ---- */

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

/* ---- --trace: the file, looked at before a run, and kept from others while it is written ---- */

/* A zeroed one is none. */
struct tracefile {
	char *path; /* for messages; NULL = there is none */
	int fd;
	char *made; /* it was not there before: to be removed if it is empty */
};

/* May a trace be written there? In a regular file alone, and as output.h has it. Nothing is
 * changed. 0 or -errno with err. */
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
