/* SPDX-License-Identifier: Apache-2.0 */
/* replay_files.h - the files that a replay touches: which the trace names, where they are here,
 * made where they are missing. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "base/spill.h"
#include "job/job.h"
#include "run/make/make.h"
#include "trace/trace_names.h"

/* Replayed onto files of the same names below `directory`, or with replay_files=traced onto those
 * that the trace names. */
enum replay_file_flag {
	/* The trace shows that it was there before: it is made. Without it the trace itself makes
	 * the file, or never found it. */
	REPLAY_FILE_THERE = 1u << 0,
	/* The trace changes it (writes, truncates, renames, removes, makes it): it is below
	 * `directory` in any case. */
	REPLAY_FILE_CHANGED = 1u << 1,
	REPLAY_FILE_FOLDER = 1u << 2,
	/* Its bytes are read, so that it needs content and not only space. */
	REPLAY_FILE_READ = 1u << 3,
	/* The trace has made it, or emptied it, by where it is read to: what is in it from there on
	 * the trace has written. */
	REPLAY_FILE_MADE = 1u << 4,
	/* It stands for a block device, of which the trace has requests. */
	REPLAY_FILE_DEVICE = 1u << 5,
};

/* By id; while the trace is read whoever reads it writes here. */
struct replay_file {
	uint64_t bytes; /* before the replay: what the trace shows of it */
	unsigned flags; /* enum replay_file_flag; 0 = no operation is on it */
};

struct replay_files {
	const struct job *job;
	struct trace_names *names; /* as the trace has them; ids from 1 */
	struct spill list;         /* struct replay_file, by id */
	char *directory;           /* of the job, as a real path */
	/* Found by replay_files_look. Names of one place count as one file. */
	uint64_t files, bytes;  /* that have a flag; what they hold at first */
	uint64_t changed_files; /* of them, and of the folders */
	uint64_t missing_files, missing_bytes, largest_missing;
	/* That something is to be in, which counts once for each. */
	uint64_t missing_folders;
	bool are_devices;    /* by who reads the trace: they stand for such */
	bool uses_directory; /* some are below it, or are to be */
};

/* A zeroed struct is fine for fini. */
void replay_files_init(struct replay_files *f, const struct job *job);
void replay_files_fini(struct replay_files *f);

/* Its id; a new one has no flags. */
uint32_t replay_files_id(struct replay_files *f, const char *name, size_t bytes);
struct replay_file *replay_file(const struct replay_files *f, uint32_t id);

/* Is it replayed on the file that the trace names, and only read? */
bool replay_file_is_traced(const struct replay_files *f, uint32_t id);

/*
 * Where it is here: below the directory the whole path of the trace, without "." and with ".."
 * resolved within it, so that no name leads out of there; of one that replay_file_is_traced, its
 * name. 0, or -ENAMETOOLONG. Any thread.
 */
int replay_files_path(const struct replay_files *f, uint32_t id, char out[PATH_MAX]);

/*
 * What is there, what is missing; changes no file. 0, or -errno with err for what must not be: a
 * directory that holds files which the trace names (replay_files=own), a step below the directory
 * that is a symbolic link, a file in the way, a traced file that is missing, too small or cannot be
 * read (replay_files=traced), a name too long. job->directory itself may be missing: it is made.
 *
 * A directory that was empty when files were made there holds .mlgen-replay from then on, and what
 * is in it may be made anew. In another one that is not empty nothing is made and nothing changed:
 * files that are only read, and as large as in the trace, may be there.
 *
 * Names that lead to one place below the directory become one here, which may add names, but none
 * that an operation has.
 */
int replay_files_look(struct replay_files *f, struct mlgen_err *err);

/* May what is missing be made where it goes, and is there room? */
int replay_files_check_writable(const struct replay_files *f, struct mlgen_err *err);
int replay_files_check_room(const struct replay_files *f, bool allow_fill, struct mlgen_err *err);

struct replay_files_maker {
	struct clock *clock;
	struct filemaker_progress *progress;
	bool allow_fill;
	uint64_t made_files, made_bytes; /* out */
	bool started;                    /* out: something was made */
};

/*
 * Looks anew, and makes what is missing: announced, in parallel, each under a temporary name until
 * it is whole, synced and dropped from the page cache, as files of plain jobs are (iolayout.h). A
 * file of an earlier replay that has another size is made anew. Folders are made too. 0 or -errno
 * with err; CREW_STOPPED with progress->stop.
 */
int replay_files_make(struct replay_files *f, struct replay_files_maker *m, struct mlgen_err *err);
