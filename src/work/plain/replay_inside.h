/* SPDX-License-Identifier: Apache-2.0 */
/* replay_inside.h - what replay_files*.c know of each other, and nobody else. */
#pragma once

#include "work/plain/replay_files.h"

/* Flags of a struct replay_file besides those of the trace. */
enum replay_inside_flag {
	/* Another name leads to the same place, and stands for it. */
	REPLAY_FILE_ALIAS = 1u << 16,
	REPLAY_FILE_MISSING = 1u << 17,
};

/* In a directory that was empty when mlgen first made files for a replay there: what lies in it may
 * be made anew. */
#define REPLAY_MARKER ".mlgen-replay"

/*
 * The steps of `path` behind the first `root` bytes of `out`, each with a slash before it; ".."
 * leads back to them at most. 0 or -ENAMETOOLONG.
 */
int replay_add_steps(char out[PATH_MAX], size_t root, const char *path);

/* A trace may say of its files what no machine has. */
static inline uint64_t replay_sum(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* How much of a directory's path stands before what lies in it. */
size_t replay_root(const char *directory);

/* Is it one that lies, or is to lie, below the directory? */
bool replay_file_is_below(const struct replay_files *f, uint32_t id);

/*
 * Give each file below the directory one name, "/a/b", and count. 0, or -errno with err: a name too
 * long, or one that is mlgen's own.
 */
int replay_names_settle(struct replay_files *f, struct mlgen_err *err);

/* Is a folder above a file one that the trace makes itself, or a file of it? Then what is below it
 * is not to be made: the bytes of its name up to there,
 * 0 = none. */
size_t replay_names_made_above(const struct replay_files *f, uint32_t id);

/* Refuse a directory in which files lie that the trace names: 0 or -errno with err. With is_marked,
 * those that lie there because a replay made them do not count. */
int replay_traced_check_apart(const struct replay_files *f, bool is_marked, struct mlgen_err *err);

/* With replay_files=traced: are they there, as large, and may they be read? */
int replay_traced_look(const struct replay_files *f, struct mlgen_err *err);

/* The directory, held; by whom it is used. */
struct replay_place {
	int fd;         /* below.h; negative = there is none */
	bool is_empty;  /* or missing */
	bool is_marked; /* by REPLAY_MARKER */
};

/* 0, also of one that is missing, or -errno with err. */
int replay_place_look(struct replay_place *p, const struct replay_files *f, struct mlgen_err *err);
void replay_place_leave(struct replay_place *p);
