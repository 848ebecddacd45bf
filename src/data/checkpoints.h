/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.h - the checkpoints in a directory: names, whether they are whole, and which to delete. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "data/shard.h"

/*
 * DIRECTORY/global_epochE_stepS/ holds one checkpoint (DLIO's names), or
 * DIRECTORY/.global_epochE_stepS.part/ until rename_commit. In it lies
 * mlgen-checkpoint.json: what the files were made from (model, parallelism,
 * layout, access, bs, scale, randseed), which ranks, the files' names, the
 * checkpoint's number and `complete`. It is there, incomplete, before the first
 * byte, and is replaced atomically and synced when all ranks are done: a
 * checkpoint whose manifest is missing or incomplete is broken and is never
 * restored. What has no manifest of ours is never touched, and of ours only the
 * files that the manifest names are.
 *
 * Of an engine that touches no files (ioengine=null) there is no directory:
 * nothing is looked at or made, and everything is there that is asked for.
 */
#define CHECKPOINT_MANIFEST "mlgen-checkpoint.json"
#define CHECKPOINT_NAME_BYTES 96

struct checkpoint {
	uint64_t number; /* 1, 2, ...: newer is larger */
	uint64_t epoch, step;
	char name[CHECKPOINT_NAME_BYTES]; /* of its directory, now */
	bool is_complete;
	uint64_t bytes; /* of its files */
};

/* A directory with a checkpoint's name whose manifest is missing, cut or of
 * another mlgen: not ours. */
struct checkpoint_foreign {
	char name[CHECKPOINT_NAME_BYTES];
	char why[128];
};

struct checkpoints {
	char *directory; /* owned */
	const struct shard_set *set;
	struct checkpoint *items; /* ours, oldest first */
	size_t count;
	struct checkpoint_foreign *foreign;
	size_t foreign_count;
	uint64_t local_bytes; /* of one more, by the local ranks */
	bool touches_nothing;
};

/* Look, read-only; a directory that is missing has none. 0, or -errno with err.
 * checkpoints_fini takes a zeroed one. */
int checkpoints_open(struct checkpoints *c, const char *directory,
		     const struct shard_set *set, struct mlgen_err *err);
void checkpoints_fini(struct checkpoints *c);

/* The next one: number, and a name that is free; with rename_commit the .part
 * one. step UINT64_MAX = a step behind the newest. Nothing is made yet. */
void checkpoints_next(const struct checkpoints *c, uint64_t epoch,
		      uint64_t step, struct checkpoint *next);
/* Where it will be, with rename_commit. */
void checkpoint_final_name(const struct checkpoint *c,
			   char to[CHECKPOINT_NAME_BYTES]);
/* The one of ours at this epoch and step; NULL = none. It has to go before
 * another one can be made there. */
const struct checkpoint *checkpoints_at(const struct checkpoints *c,
					uint64_t epoch, uint64_t step);

/* DIRECTORY/NAME/FILE; file NULL: DIRECTORY/NAME. 0, or -ENAMETOOLONG. */
int checkpoint_path(const struct checkpoints *c, const struct checkpoint *k,
		    const char *file, char path[PATH_MAX]);

/* Make its directory (missing parents, too) and write the manifest; the manifest
 * again when it is complete, then its directory is synced, too. 0 or -errno. */
int checkpoint_create(const struct checkpoints *c, const struct checkpoint *k,
		      struct mlgen_err *err);
int checkpoint_write_manifest(const struct checkpoints *c,
			      const struct checkpoint *k, bool is_complete,
			      struct mlgen_err *err);
/* It is one of the list now, at the end (memory: what is deleted goes). */
void checkpoints_add(struct checkpoints *c, const struct checkpoint *k);
void checkpoints_remove(struct checkpoints *c, uint64_t number);

/*
 * To delete one, whoever wrote it with whatever model: mark it, which makes it
 * incomplete; unlink the files that it names; clear it away, which removes the
 * manifest and the directory. A directory with foreign files in it stays, and
 * that is -ENOTEMPTY. 0 or -errno with err.
 */
int checkpoint_mark(const struct checkpoints *c, const struct checkpoint *k,
		    struct mlgen_err *err);
struct checkpoint_files {
	char **names;
	size_t count;
};
int checkpoint_files_read(struct checkpoint_files *f,
			  const struct checkpoints *c,
			  const struct checkpoint *k, struct mlgen_err *err);
void checkpoint_files_fini(struct checkpoint_files *f);
int checkpoint_clear(const struct checkpoints *c, const struct checkpoint *k,
		     struct mlgen_err *err);

/* Complete ones of the same model, layout, ranks and access, of the newest
 * `count`, oldest first into `to`; else -EINVAL with err: how many there are, which
 * are broken, in what the others differ from the job. */
int checkpoints_to_restore(const struct checkpoints *c, size_t count,
			   struct checkpoint *to, struct mlgen_err *err);

/* Bytes that are free where they go, and those that `count` more checkpoints of
 * the local ranks would take at most with keep: 0, or -ENOSPC with the shortfall. */
int checkpoints_check_room(const struct checkpoints *c, uint64_t count,
			   uint64_t keep, struct mlgen_err *err);
