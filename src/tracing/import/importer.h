/* SPDX-License-Identifier: Apache-2.0 */
/* importer.h - what turns another program's log into a trace: a row and a function each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "trace/trace.h"

/* What was met on the way. A zeroed one has met nothing. */
struct import_tally {
	uint64_t lines;          /* or events, that the log has */
	uint64_t unread;         /* of them, that could not be read */
	struct buf first_unread; /* "FILE:LINE: why", some of them, a line each */
	uint64_t inferred;       /* offsets or sizes that a model gave */
	uint64_t inexact;        /* offsets that it could not be sure of */
	/* Calls on files that an importer does not know, by name. */
	struct import_unknown {
		char name[32];
		uint64_t count;
	} unknown[32];
	size_t unknown_count;
	uint64_t unknown_others; /* when there is no room for more names */
	struct buf notes;        /* anything else a person should know, a line each */
	bool is_cut;             /* the last line has no end */
};

/* One import. */
struct importing {
	char *const *files; /* as given; "-" is standard input */
	size_t file_count;
	struct trace_fill *fill;
	bool is_lenient; /* however many lines cannot be read */
	/* The line at hand is the last one of a file and has no end: where it cannot be read it is
	 * the part that a cut left, and not counted. */
	bool is_torn;
	/* To be taken off each time of day, so that it is of the trace's clock; 0 where the trace's
	 * clock is the time of day. */
	uint64_t clock_offset_ns;
	/* Only the time within a day, in this host's zone, is right of it. */
	bool is_day_unknown;
	/* Why a time of day has no place in the trace: "it has no times", and such; NULL = it has
	 * one. */
	const char *no_clock;
	struct import_tally tally;
};

struct importer {
	const char *name;   /* of --import */
	bool takes_several; /* files of one recording */
	/* Everything into m->fill. 0, or -errno with err. */
	int (*read)(struct importing *m, struct mlgen_err *err);
};

/* One more line that could not be read, and why. `line` 0 = none. -EINVAL with err: there are too
 * many of them (import_judge), and only looked at once in a while. */
__attribute__((format(printf, 5, 6))) int import_unread(struct importing *m, const char *file,
							uint64_t line, struct mlgen_err *err,
							const char *fmt, ...);

/* A call on a file by a name that is not known to the importer. */
void import_unknown(struct importing *m, const char *name);

__attribute__((format(printf, 2, 3))) void import_note(struct importing *m, const char *fmt, ...);

/* At the end: more than a thousandth that could not be read, or nothing that could, refuses the log
 * unless m->is_lenient. 0, or -EINVAL with err. */
int import_judge(struct importing *m, const char *form, struct mlgen_err *err);

/* What people are told of it, on standard error. */
void import_tell(const struct importing *m);
void import_tally_fini(struct import_tally *t);

int import_strace(struct importing *m, struct mlgen_err *err);
int import_mcgill(struct importing *m, struct mlgen_err *err);
int import_darshan(struct importing *m, struct mlgen_err *err);
int import_dftracer(struct importing *m, struct mlgen_err *err);
int import_blktrace(struct importing *m, struct mlgen_err *err);
int import_dio(struct importing *m, struct mlgen_err *err);

/*
 * --markers: epochs, stages and checkpoints from the log of the application itself. Lines of MLPerf
 * (:::MLLOG), DLIO's output, or CSV of time,text; told apart by what is in it. Their times are of
 * day; m->clock_offset_ns is taken off. Before the log itself or behind it. 0 or -errno with err.
 */
int import_markers(struct importing *m, const char *file, struct mlgen_err *err);

/* The one of --import (settings.h); NULL = it makes no trace. */
const struct importer *importer_of(int import);

/* A time of day as text, such as 2022-05-10T12:00:00.123456789Z, in nanoseconds: UTC, or what a
 * +HH:MM says; from 1970 on, at most nine decimals. */
bool dio_time_take(const char *text, uint64_t *ns);
