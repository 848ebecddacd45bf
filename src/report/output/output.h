/* SPDX-License-Identifier: Apache-2.0 */
/* output.h - files that the program writes: which it may replace, and how. */
#pragma once

/*
 * A place is the file that an option names, examined and opened before anything is written.
 * outfile_check() says whether it may be replaced. An output is a document or a report, which
 * appears whole or not at all. A trace file is written during the run, and is locked for that time.
 * All calls come from the main thread, except for output_discard() and tracefile_discard().
 */

#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/files.h"

/* ---- the place that an option names for an output ---- */

/*
 * The kind of file decides how it may be written. The decision is made on the same descriptor that
 * is written later, so a change of the name in between does no harm:
 *
 * - Nothing yet, or a regular file: symbolic links are followed to the file at their end, which
 *   need not exist yet.
 * - A pipe, a terminal, /dev/null, /dev/full: written in place.
 * - A descriptor that was handed over (/dev/fd/N, /dev/stdout, /dev/stderr): written at its
 *   present offset, whatever kind of file it is, because the parent opened it for this purpose.
 *
 * Block devices and all other character devices are refused: a report does not belong there.
 */
enum place_kind {
	PLACE_NEW,
	PLACE_FILE,
	PLACE_STREAM,
};

struct place {
	const char *option; /* "json", for messages; the caller's */
	const char *given;  /* the path as the user wrote it; the caller's */
	enum place_kind kind;
	bool is_handed_over; /* a descriptor that the parent process has opened */
	int fd;              /* open for writing, nothing truncated; NEW: -1 */
	char *path;          /* NEW, FILE: with all links resolved; owned */
	dev_t dev;           /* device of the file; NEW: of its folder */
	ino_t ino;
};

/*
 * Examine and open a place. Nothing is created, emptied or written. 0, or -errno with err: the file
 * cannot be written, it is a device or a directory, or a run writes its log or trace into it
 * (-EBUSY).
 */
int place_open(struct place *p, const char *option, const char *given, struct mlgen_err *err);
void place_close(struct place *p); /* accepts a zeroed struct */

/*
 * FILE: lock the file against other runs until the descriptor is closed, however this program ends.
 * 0, or -EBUSY with err. On a filesystem without locks this always succeeds.
 */
int place_lock(const struct place *p, struct mlgen_err *err);

/* NEW: create the file, which makes it a locked FILE. 0 or -errno with err. */
int place_create(struct place *p, struct mlgen_err *err);

/* True if both places are, or would become, the same file. False for streams. */
bool place_is_same(const struct place *a, const struct place *b);

/* True if that path is, or would be, the file of the place. */
bool place_is_path(const struct place *p, const char *path);
/* True if the descriptor is the regular file of the place. */
bool place_is_fd(const struct place *p, int fd);

/* ---- files that an output may replace: empty ones, earlier outputs of the same kind, and any file
 * with --force ---- */

enum outfile_kind {
	OUTFILE_JSON,
	OUTFILE_HTML,
	OUTFILE_LOG, /* written by a run, or by mltrace describe */
	OUTFILE_TRACE,
	OUTFILE_IOLOG,
};

/*
 * 0 if the file may be replaced, or -EEXIST or another -errno with err. Only a regular file has
 * content to lose, so every other place may be written. A descriptor that was handed over may be
 * written, too, since output goes to its present offset. A trace or an iolog, however, would
 * replace the whole file, so the content of the file is checked.
 */
int outfile_check(const struct place *p, enum outfile_kind kind, bool force, struct mlgen_err *err);

/* ---- a file that appears whole or not at all ---- */

/*
 * Text is collected in memory and written on close, so that a full disk is reported as an error. A
 * regular or absent file is written under a temporary name next to its place and renamed over it: a
 * reader sees the old file or the new one, and a program that is stopped leaves the old one. A
 * symbolic link stays and its target is replaced. Anything else (/dev/null, a pipe, a descriptor
 * that was handed over) is written in place.
 */
struct output {
	FILE *to;  /* print here; NULL = not open */
	int error; /* streamed: errno of the first write that failed */
	char *text;
	size_t bytes;
	bool is_text;        /* for people: made printable (log.h) */
	char *path;          /* for messages; NULL = stdout */
	int fd;              /* written in place; -1 = `file` is used */
	struct replace file; /* fd is -1: the file that replaces the old one */
};

/* Open an output at a place, which is closed in any case; p NULL = stdout. 0, or -errno with err.
 */
int output_open(struct output *o, struct place *p, struct mlgen_err *err);

/* Call after output_open(), before anything is printed: from now on text is written through a small
 * buffer. 0 or -errno with err. */
int output_stream(struct output *o, struct mlgen_err *err);

/* Write, check, rename into place. 0, or -errno with err; the old file then stays. */
int output_close(struct output *o, struct mlgen_err *err);

/* Write nothing and keep the old file. Accepts a zeroed or closed struct. */
void output_abandon(struct output *o);

/* Remove the temporary file. Any thread may call this, right before the program ends. */
void output_discard(struct output *o);

/* ---- --trace: the file, examined before a run, and locked while it is written ---- */

/* A zeroed tracefile is not open. */
struct tracefile {
	char *path; /* for messages; NULL = not open */
	int fd;
	char *made; /* path of the file if this run created it: it is removed if empty */
};

/* Check that a trace may be written to a place, which must be a regular file that may be replaced.
 * Nothing is changed. 0 or -errno with err. */
int tracefile_check(const struct place *p, bool force, struct mlgen_err *err);

/* Call after tracefile_check(): create the file if need be, and lock it. Its content stays. The
 * place is closed on success. 0 or -errno with err. */
int tracefile_open(struct tracefile *f, struct place *p, struct mlgen_err *err);

/* Reopen the file for reading: a descriptor, or -errno. */
int tracefile_read(const struct tracefile *f);

/* Close the file, and remove it if this run created it and it is empty. 0, or -errno: some
 * filesystems report only on close that the disk is full. */
int tracefile_close(struct tracefile *f);

/* Remove the file if this run created it and it is empty. Any thread may call this, right before
 * the program ends. */
void tracefile_discard(const struct tracefile *f);
