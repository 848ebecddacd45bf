/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoints.h - the checkpoints in a directory: names, whether they are whole, and which to
 * delete. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/process.h"
#include "data/state/shard.h"

/*
 * DIRECTORY/global_epochE_stepS/ holds one checkpoint (DLIO's names), or
 * DIRECTORY/.global_epochE_stepS.part/ until rename_commit. In it lies mlgen-checkpoint.json: what
 * the files were made from (model, parallelism, layout, access, bs, scale, randseed), which ranks,
 * the files' names, the checkpoint's number, who writes it, and `complete`. It is there,
 * incomplete, before the first byte, and is replaced atomically and synced when all ranks are done:
 * a checkpoint whose manifest is missing or incomplete is broken and is never restored. What has no
 * manifest of ours is never touched, and of ours only the files that the manifest names are, if a
 * layout gives such names.
 *
 * Symbolic links that lead to DIRECTORY are the user's. Below it all that is made or removed goes
 * by descriptors that are held (below.h), through no link; what is restored is read through links.
 *
 * A whole one is replaced by another one that is whole: that is .part until its manifest says so,
 * the old one is renamed to .old, the new one takes its name, the old one is deleted. Killed
 * between the two renames it is whole as .old.
 *
 * Of an engine that touches no files (ioengine=null) there is no directory: nothing is looked at or
 * made, and everything is there that is asked for.
 */
#define CHECKPOINT_MANIFEST "mlgen-checkpoint.json"
#define CHECKPOINT_NAME_BYTES 96

enum checkpoint_place {
	CHECKPOINT_FINAL,
	CHECKPOINT_PART, /* until it is renamed */
	CHECKPOINT_OLD,  /* put aside for another one that takes its place */
};

struct checkpoint {
	uint64_t number; /* 1, 2, ...: newer is larger */
	uint64_t epoch, step;
	char name[CHECKPOINT_NAME_BYTES]; /* of its directory, now */
	enum checkpoint_place place;
	bool is_complete;
	uint64_t bytes; /* of its files */
	/* Who writes it, or deletes it; pid 0 = not known. */
	struct process writer;
	uint64_t begun_s; /* by the clock of that host; 0 = not known */
	/* Of the same state, and none of the local ranks: another run's half. */
	bool is_of_other_ranks;
	/* Of the directory that checkpoint_create has made; ino 0 = of one that was found. */
	dev_t dev;
	ino_t ino;
};

/* A directory with a checkpoint's name whose manifest is missing, cut or of another mlgen: not
 * ours. */
struct checkpoint_foreign {
	char name[CHECKPOINT_NAME_BYTES];
	char why[128];
};

struct checkpoints {
	char *directory; /* owned */
	int dir_fd;      /* is_held: of it, O_PATH */
	bool is_held, knows_maker;
	uid_t maker;                 /* owns what we make there */
	const struct shard_set *set; /* NULL: of any state, only to delete */
	struct checkpoint *items;    /* ours, oldest first */
	size_t count;
	struct checkpoint_foreign *foreign;
	size_t foreign_count;
	uint64_t local_bytes; /* of one more, by the local ranks */
	bool touches_nothing;
	struct process self;
	bool replaces; /* --replace: nobody else needs what is there */
	/* Another process of the job makes and removes them, and puts right what is there: this one
	 * writes files into what that has made. */
	bool only_adds;
};

/* Look, read-only; a directory that is missing has none. 0, or -errno with err. checkpoints_fini
 * takes a zeroed one. */
int checkpoints_open(struct checkpoints *c, const char *directory, const struct shard_set *set,
		     struct mlgen_err *err);
void checkpoints_fini(struct checkpoints *c);
/* Look again: other runs may have made and deleted some. */
int checkpoints_refresh(struct checkpoints *c, struct mlgen_err *err);

/* Make the directory (missing parents, too), hold it, and see that we can write there, before
 * anything is saved: threads that save are started later, so that they have its descriptor, too.
 * Again: nothing. What a killed run has left half renamed is put right. 0 or -errno with err. */
int checkpoints_hold(struct checkpoints *c, struct mlgen_err *err);
/* It was put aside, and nobody is just replacing it: it is where it was. */
void checkpoints_put_back(struct checkpoints *c, uint64_t epoch, uint64_t step);

/* Is there a number, and with UINT64_MAX a step, behind those there are? What JSON has for numbers
 * ends at 2^63-1. 0, or -ERANGE with err. */
int checkpoints_check_next(const struct checkpoints *c, uint64_t step, struct mlgen_err *err);
/* Where there is, the next one: number, and a name that is free; with rename_commit, or where it
 * replaces another one, the .part one. step UINT64_MAX = a step behind the newest. Nothing is made
 * yet. */
void checkpoints_next(const struct checkpoints *c, uint64_t epoch, uint64_t step,
		      struct checkpoint *next);
/* It has the name of that place from now on; nothing is renamed. */
void checkpoint_move(struct checkpoint *c, enum checkpoint_place place);
/* Where it will be, with rename_commit. */
void checkpoint_final_name(const struct checkpoint *c, char to[CHECKPOINT_NAME_BYTES]);
/* The one of ours at this epoch, step and place; NULL = none. */
const struct checkpoint *checkpoints_at(const struct checkpoints *c, uint64_t epoch, uint64_t step,
					enum checkpoint_place place);
/* The whole one that the next one at this epoch and step replaces, which is there until that is
 * whole; NULL = none. */
const struct checkpoint *checkpoints_replaced(const struct checkpoints *c, uint64_t epoch,
					      uint64_t step);

/* DIRECTORY/NAME/FILE; file NULL: DIRECTORY/NAME. 0, or -ENAMETOOLONG. */
int checkpoint_path(const struct checkpoints *c, const struct checkpoint *k, const char *file,
		    char path[PATH_MAX]);

/*
 * Several runs may save into one directory, from several hosts: all is left alone unless its writer
 * is proven to be gone (process.h); but what is complete and says nothing of its writer. Of a
 * complete one it is so, too, if it has other ranks of our state.
 * How it is said: "is that of pid 77 on host a, which began it 5 s ago and ...".
 */
bool checkpoint_is_left(const struct checkpoints *c, const struct checkpoint *k);
const char *checkpoint_word_writer(const struct checkpoints *c, const struct checkpoint *k,
				   char *to, size_t bytes);

/* Make its directory, in one that is held, and write the manifest; -EEXIST: the name is taken,
 * maybe since the last look. The manifest again when it is complete, then the directory above is
 * synced, too. 0 or -errno. */
int checkpoint_create(const struct checkpoints *c, struct checkpoint *k, struct mlgen_err *err);
int checkpoint_write_manifest(const struct checkpoints *c, const struct checkpoint *k,
			      bool is_complete, struct mlgen_err *err);
/* What was renamed is so after a power failure, too. 0 or -errno. */
int checkpoints_sync(const struct checkpoints *c, struct mlgen_err *err);
/* Hold its directory, through no link: a descriptor of the caller's, or -errno; -ESTALE: another
 * one has taken the place of what was made. */
int checkpoint_folder(const struct checkpoints *c, const struct checkpoint *k);
/* It is one of the list now, at the end (memory: what is deleted goes). */
void checkpoints_add(struct checkpoints *c, const struct checkpoint *k);
void checkpoints_remove(struct checkpoints *c, const char *name);

/*
 * To delete one, whoever wrote it with whatever model: begin looks at it anew and holds it, mark
 * makes it incomplete, the caller unlinks `names` in the folder of folder_fd, end removes the
 * manifest and the directory. fini takes a zeroed one.
 *
 * begin: -ENOENT: it is not there any more, or another one is in its place; -EBUSY: it is left to
 * another run, which err names;
 * -EPERM: it stays, since its directory is a link or somebody else's, or its manifest is forged.
 * end: -ENOTEMPTY: it stays, with files that mlgen did not write. Each with err, as other -errno.
 */
struct checkpoint_removal {
	struct checkpoint now; /* as begin has found it */
	int folder_fd;
	bool is_held;
	char **names; /* owned, as they are */
	size_t count;
};
int checkpoint_removal_begin(struct checkpoint_removal *r, const struct checkpoints *c,
			     const struct checkpoint *k, struct mlgen_err *err);
/* Would anything be left of it, if it went? */
bool checkpoint_removal_is_all(const struct checkpoint_removal *r);
int checkpoint_removal_mark(const struct checkpoint_removal *r, const struct checkpoints *c,
			    struct mlgen_err *err);
int checkpoint_removal_end(const struct checkpoint_removal *r, const struct checkpoints *c,
			   struct mlgen_err *err);
void checkpoint_removal_fini(struct checkpoint_removal *r);

/* Complete ones of the same model, layout, ranks and access, of the newest `count`, oldest first
 * into `to`; else -EINVAL with err: how many there are, which are broken, in what the others differ
 * from the job. */
int checkpoints_to_restore(const struct checkpoints *c, size_t count, struct checkpoint *to,
			   struct mlgen_err *err);

/* Bytes that are free where they go, and those that `count` more checkpoints of the local ranks
 * would take at most with keep: 0, or -ENOSPC with the shortfall. */
int checkpoints_check_room(const struct checkpoints *c, uint64_t count, uint64_t keep,
			   struct mlgen_err *err);
