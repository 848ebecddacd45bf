/* SPDX-License-Identifier: Apache-2.0 */
/* state.h - the state of a model, and the checkpoints that hold it. */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <mlgen/err.h>

#include "base/map.h"
#include "base/thread.h"
#include "job/job.h"

/*
 * The state of a model and the files that hold it:
 *
 *   state       which tensors each rank saves, and their sizes
 *   content     the bytes of the tensors
 *   shard       one file of a checkpoint: its pieces, and the calls that write and read it
 *   checkpoint  a directory of shards and a manifest
 *
 * States, contents and shards are pure functions of the job, the rank and the checkpoint's number;
 * any thread may use them. Only the leading process may call functions that change directories.
 */

/* ---- The state of a model: which rank holds which tensors, of how many bytes ---- */

/*
 * The state is computed from the job's numbers. No memory is used per layer or tensor, except for
 * the names and sizes of a tensor_sizes file. Formulas, names and the division among ranks follow
 * DLIO (checkpointing/base_checkpointing.py). Every size is multiplied by scale and is at least one
 * byte.
 */
struct state {
	const struct job *job;
	uint64_t ranks, tensor_parallel, pipeline_parallel, data_parallel;
	unsigned zero_stage;
	enum { STATE_TRANSFORMER, STATE_SIZE, STATE_LIST, STATE_PATTERN } kind;
	struct state_list *list; /* STATE_LIST: the file's lines */
	struct ranges local;     /* ranks */
};

/* Set up the state of a job with checkpoints. 0, or -errno with err ("OPTION: what is wrong, what
 * would be right") for a parallelism that does not divide the model or a list that cannot be read.
 * state_fini accepts a zeroed struct and one whose init failed. */
int state_init(struct state *s, const struct job *job, struct mlgen_err *err);
void state_fini(struct state *s);

/* Number of parameters of the whole model; 0 for states other than transformers. */
uint64_t state_parameters(const struct state *s);

/* A group holds the tensors of one layer, or of the optimizer, on one rank. A layout divides groups
 * among files. */
struct state_group {
	bool is_optimizer;
	uint64_t rank;
	uint64_t layer; /* DLIO's number: 0 embedding, 1 .. L, L+1, L+2 */
	uint64_t tensors, bytes;
};

/* Number of groups that a rank saves itself: model layers first, the optimizer last. 0 = the rank
 * saves nothing. */
uint64_t state_groups(const struct state *s, uint64_t rank);
void state_group(const struct state *s, uint64_t rank, uint64_t i, struct state_group *g);

#define STATE_NAME_BYTES 128
struct state_tensor {
	char name[STATE_NAME_BYTES]; /* "layers.3.mlp.gate_up.weight" */
	uint64_t bytes;
	unsigned value_bytes; /* size of one element, which decides its type in a file */
};
void state_tensor(const struct state *s, const struct state_group *g, uint64_t i,
		  struct state_tensor *t);

/* Bytes that one rank, or all ranks of the job, save. */
struct state_bytes {
	uint64_t model, optimizer, total;
};
void state_rank_bytes(const struct state *s, uint64_t rank, struct state_bytes *b);
void state_all_bytes(const struct state *s, struct state_bytes *b);

/*
 * Local ranks are those that this process simulates (job_local_ranks); state_local_rank(i) is the
 * i-th of them. state_of_all_processes sets *of to the same state with the ranks of all processes
 * of the job as local ranks, which is what a shared directory holds. *of borrows from *s, except
 * for its ranges, which the caller frees (ranges_fini(&of->local)). 0, or -errno with err.
 */
int state_of_all_processes(struct state *of, const struct state *s, struct mlgen_err *err);
uint64_t state_local_count(const struct state *s);
uint64_t state_local_rank(const struct state *s, uint64_t i);
bool state_is_local(const struct state *s, uint64_t rank);

/* ---- The bytes of a checkpoint's tensors, and their checksums by arithmetic ---- */

/*
 * A pool of `span_bytes` random bytes is generated once per job. Each writer has a slice, which is
 * a copy of the pool (content_fill), and stamps it anew for every write. Writes therefore copy
 * nothing and need no memory beyond the slices.
 *
 * A run is a range of a file that one call writes. Byte p of a run is byte (p mod span) + SHIFT *
 * (p / span) of the slice. A run of up to one span is the slice itself. A longer run repeats the
 * slice, shifted by a few bytes each time, so that no two aligned blocks of 4 KiB in it are alike.
 * For the shift the slice has CONTENT_SLACK more bytes after the span, which form a block like any
 * other.
 *
 * Every CONTENT_BLOCK of the slice begins with a stamp, which has the crc32c of the rest of the
 * block. Everything in a block follows from its place, including its checksums: the checksum of the
 * stamp is joined with the checksum of the rest, which never changes.
 *
 * A struct content is read-only after content_new. Any number of threads may use it, each with its
 * own slices.
 */
#define CONTENT_BLOCK 4096u
#define CONTENT_SLACK CONTENT_BLOCK
/* The limits of a run: the most parts of one call (UIO_MAXIOV), one for each span, and a little
 * less than Linux transfers in one call. */
#define CONTENT_PARTS 1024u
#define CONTENT_RUN_BYTES 0x7fff0000u

/* Little-endian. */
struct content_stamp {
	uint32_t magic;  /* CONTENT_MAGIC */
	uint32_t crc32c; /* checksum of the rest of the block, after this member */
	uint32_t rank, checkpoint;
	uint64_t file; /* index among the rank's files; the job's randseed in the upper half */
	uint64_t off;  /* place of the run in the file plus place of the block in the slice */
};
#define CONTENT_MAGIC 0x6e67636bu

/* Identifies a run. The stamps of its blocks follow from these numbers. */
struct content_of {
	uint64_t rank, checkpoint, file;
	uint64_t off; /* start of the run in the file */
};

struct content; /* the pool and tables for its checksums; read-only */

/* Make a content; span_bytes must be a multiple of CONTENT_BLOCK. The same seed gives the same
 * bytes in every version of mlgen. */
struct content *content_new(uint64_t span_bytes, uint64_t seed);
void content_free(struct content *c); /* NULL is fine */
uint64_t content_span_bytes(const struct content *c);

/* Copy the pool into a new slice of span + CONTENT_SLACK bytes. */
void content_fill(const struct content *c, void *slice);

/* Stamp `slice` for a run of `bytes` (at most CONTENT_RUN_BYTES and CONTENT_PARTS spans) and point
 * `parts`, one for each span, at it. Returns the number of parts. */
unsigned content_stamp_run(const struct content *c, const struct content_of *of, void *slice,
			   uint64_t bytes, struct iovec *parts);
/* Copy the pool back to [at, at + bytes) of a slice that was overwritten. Stamps are missing until
 * the next content_stamp_run. */
void content_restore(const struct content *c, void *slice, uint64_t at, uint64_t bytes);

/* Copy bytes [p, p + bytes) of a run into `to`. */
void content_copy(const struct content *c, const struct content_of *of, uint64_t p, void *to,
		  uint64_t bytes);

/* Continue a zlib CRC-32 over bytes [p, p + bytes) of a run, by arithmetic: a few ns a block. */
uint32_t content_crc32(const struct content *c, const struct content_of *of, uint64_t p,
		       uint64_t bytes, uint32_t crc);

/* Check (verify=crc32c) that `buf` holds bytes [p, p + bytes) of a run. Whole blocks are checked by
 * stamp and checksum, incomplete blocks by comparison. Returns the number of right bytes before the
 * first wrong one; `bytes` = all are right. */
uint64_t content_check(const struct content *c, const struct content_of *of, uint64_t p,
		       const void *buf, uint64_t bytes);

/* ---- One file of a checkpoint: its name, its pieces, the calls that write and read it ---- */

/*
 * A file is a sequence of pieces: tensors, whose bytes come from the content, and the layout's own
 * (headers, a pickle, a directory). Everything is a function of (state, layout, rank, file,
 * checkpoint). No memory is used per tensor; iterators walk a file from its front.
 *
 * With access=plain, runs of content_span_bytes (bs) cover the file from its first byte on, and
 * pieces that are not tensors overlay them. With access=framework, each tensor is one run or
 * several runs of shard_max_run_bytes. In the layout stream, each call is a run, from the file's
 * first byte on. In the layout pattern, each piece is a call.
 *
 * Names and sizes of files can be computed without a content; anything about bytes needs one.
 */
struct layout;

struct shard_set {
	const struct state *state;
	const struct layout *layout;
	const struct content *content;
	bool is_plain; /* access=plain */
	uint64_t bs;   /* access=plain: bytes of a call */
	bool direct;
};

#define SHARD_MARKS 64

struct shard {
	const struct shard_set *set;
	uint64_t rank, index; /* `index` numbers the rank's files, from 0 */
	uint64_t checkpoint;  /* the checkpoint's number */
	uint64_t first_group, groups;
	uint64_t tensors, tensor_bytes;
	uint64_t bytes;      /* size of the file */
	uint64_t meta_bytes; /* the largest piece that is not a tensor */
	/* Number of tensors before evenly spaced groups, to find a tensor quickly. */
	uint64_t marks[SHARD_MARKS];
	struct { /* private to torch_zip.c */
		char stem[JOB_ARCHIVE_BYTES];
		uint64_t pickle_off, pickle_bytes;
		uint64_t version_off, version_data_off;
		uint64_t directory_off, directory_bytes;
		uint32_t pickle_crc32;
	} zip;
};

const struct layout *layout_of(const struct job *job);

/* Number of files of a rank; 0 = the rank saves nothing. */
uint64_t shard_files(const struct shard_set *set, uint64_t rank);
/* Set up a file. This visits all its tensors, so callers keep the result. */
void shard_init(struct shard *f, const struct shard_set *set, uint64_t rank, uint64_t index,
		uint64_t checkpoint);
/* A cursor over the files of all local ranks; zeroed at first. shard_next_file sets up the next
 * file; false = there are no more. */
struct shard_cursor {
	uint64_t local, index;
};
bool shard_next_file(struct shard *f, const struct shard_set *set, struct shard_cursor *at,
		     uint64_t checkpoint);
/* Print the file's name within the checkpoint's directory, which has fewer than SHARD_NAME_BYTES
 * bytes. */
#define SHARD_NAME_BYTES 200
void shard_name(const struct shard *f, char *to, size_t bytes);
/* Could a file of any layout and any state have this name? */
bool shard_is_name(const char *name);

struct shard_piece {
	uint64_t off, bytes; /* bytes: at least 1 */
	bool is_tensor;
	uint64_t tensor; /* index in the file; a header or padding has the index of its tensor */
	/* Private to the layout. In an archive: number, part, place and size of the record. */
	uint64_t order;
	unsigned part;
	uint64_t record_off, record_bytes;
};

/* Advance a piece: from a zeroed struct to the first piece, then to the next. False = there are no
 * more, and the piece remains the last one. */
bool shard_next(const struct shard *f, struct shard_piece *p);
void shard_tensor(const struct shard *f, uint64_t tensor, struct state_tensor *t);
/* Write bytes [from, from + bytes) of a piece that is not a tensor. */
void shard_meta(const struct shard *f, const struct shard_piece *p, uint64_t from, void *to,
		uint64_t bytes);

/* Find the run of byte `off`, which lies in the tensor `p`: its start and its length. */
void shard_run(const struct shard *f, const struct shard_piece *p, uint64_t off, uint64_t *run_off,
	       uint64_t *run_bytes);
void shard_content_of(const struct shard *f, uint64_t run_off, struct content_of *of);

/* Copy any bytes of the file. `*p` is a cursor that moves along; the caller zeroes it before the
 * first call. Going back starts again from the front of the file. */
void shard_copy(const struct shard *f, struct shard_piece *p, uint64_t off, void *to,
		uint64_t bytes);

/*
 * A write with access=framework. The first `head_bytes` come from pieces of the layout and small
 * tensors (shard_copy). The rest is one run, which begins at off + head_bytes; there is none when
 * bytes == head_bytes. The calls cover the file from front to end. Zeroed at first.
 */
struct shard_write {
	uint64_t off, bytes, head_bytes;
	bool is_dropped; /* stream: drop the written range from the page cache afterwards */
	/* Private to the layout: the current piece, and its bytes not yet written. */
	struct shard_piece at;
	uint64_t left;
};
bool shard_write_next(const struct shard *f, struct shard_write *w);
/* The bytes of the largest head, the largest run and the largest call of the local ranks. A run has
 * at most CONTENT_PARTS - 1 spans, so that one part is left for a head. */
uint64_t shard_max_head_bytes(const struct shard_set *set);
uint64_t shard_max_run_bytes(const struct shard_set *set);
uint64_t shard_max_write_bytes(const struct shard_set *set);

/* With access=framework: does a STAT follow the open? */
bool shard_calls_stat(const struct shard_set *set, bool is_restore);

/* A read with access=framework, in the framework's order, which jumps back and forth. It has at
 * most CONTENT_PARTS spans; the file has `got_bytes` of it. Zeroed at first. */
struct shard_read {
	uint64_t off, bytes, got_bytes;
	/* Private to the layout: number of reads that the framework has requested from its file
	 * object, the file object's position, bytes missing from the current request, and the range
	 * in the buffer. */
	uint64_t order, at_off, left;
	uint64_t buffer_off, buffer_end;
	struct shard_piece at;
};
bool shard_read_next(const struct shard *f, struct shard_read *r);

/* Check that `buf` holds [off, off + bytes) of the file. False: *wrong_off is the first wrong byte,
 * and `where` names its piece ("tensor layers.3...", or "directory of the archive"). p as in
 * shard_copy. */
bool shard_check(const struct shard *f, struct shard_piece *p, uint64_t off, const void *buf,
		 uint64_t bytes, uint64_t *wrong_off, char *where, size_t where_bytes);

/* ---- The checkpoints in a directory: names, whether they are whole, and which to delete ---- */

/*
 * DIRECTORY/global_epochE_stepS/ holds one checkpoint (DLIO's names); with rename_commit it is
 * DIRECTORY/.global_epochE_stepS.part/ until the rename. Its manifest, mlgen-checkpoint.json, has
 * everything that decides the files (model, parallelism, layout, access, bs, scale, randseed), the
 * ranks, the names of the files, the checkpoint's number, its writer, and `complete`. An incomplete
 * manifest is written before the first byte of a file. It is replaced atomically and synced when
 * all ranks are done. A checkpoint whose manifest is missing or incomplete is broken and is never
 * restored. mlgen never touches a directory without a manifest of its own. In its own directories
 * it removes only files that the manifest names and that a layout could have named.
 *
 * Symbolic links on the way to DIRECTORY are the user's and are followed. Below DIRECTORY, files
 * are made and removed through held descriptors (files.h) and never through a link. Files to be
 * restored are read through links.
 *
 * A complete checkpoint is replaced only by a complete one. The new one is called .part until its
 * manifest is complete. Then the old one is renamed to .old, the new one gets the final name, and
 * the old one is deleted. If mlgen is killed between the two renames, the old one survives as .old.
 *
 * An engine that uses no files (ioengine=null) has no directory: nothing is read or made, and every
 * checkpoint that is requested exists.
 */
#define CHECKPOINT_MANIFEST "mlgen-checkpoint.json"
#define CHECKPOINT_NAME_BYTES 96

enum checkpoint_place {
	CHECKPOINT_FINAL,
	CHECKPOINT_PART, /* waits for its rename */
	CHECKPOINT_OLD,  /* replaced by a newer checkpoint */
};

struct checkpoint {
	uint64_t number; /* from 1; a newer checkpoint has a larger number */
	uint64_t epoch, step;
	char name[CHECKPOINT_NAME_BYTES]; /* current name of its directory */
	enum checkpoint_place place;
	bool is_complete;
	uint64_t bytes; /* sum of its files */
	/* The process that writes or deletes it; pid 0 = not known. */
	struct process writer;
	uint64_t begun_s; /* since 1970, by the clock of the writer's host; 0 = not known */
	/* Another run saves this part of the checkpoint: the same state, but none of the local
	 * ranks. */
	bool is_of_other_ranks;
	/* Identity of the directory that checkpoint_create made; ino 0 = it was there before. */
	dev_t dev;
	ino_t ino;
};

/* A directory with the name of a checkpoint that is not mlgen's: its manifest is missing, truncated
 * or that of another version. */
struct checkpoint_foreign {
	char name[CHECKPOINT_NAME_BYTES];
	char why[128];
};

struct checkpoints {
	char *directory; /* owned */
	int dir_fd;      /* is_held: the directory, O_PATH */
	bool is_held, knows_maker;
	uid_t maker;                 /* the owner of files that this process makes there */
	const struct shard_set *set; /* NULL = of any state, only to be deleted */
	struct checkpoint *items;    /* mlgen's own, oldest first */
	size_t count;
	struct checkpoint_foreign *foreign;
	size_t foreign_count;
	uint64_t local_bytes; /* size of the local ranks' files of one checkpoint */
	bool has_no_files;    /* the engine uses none */
	struct process self;
	bool replaces; /* --replace: no other run needs the existing checkpoints */
	/* Another process of the job makes, removes and repairs directories; this one only writes
	 * files into them. */
	bool only_adds;
};

/* List the checkpoints in a directory without changing it; a missing directory has none. 0, or
 * -errno with err. checkpoints_fini accepts a zeroed struct. */
int checkpoints_open(struct checkpoints *c, const char *directory, const struct shard_set *set,
		     struct mlgen_err *err);
void checkpoints_fini(struct checkpoints *c);
/* List the directory again: other runs may have made and deleted checkpoints. */
int checkpoints_refresh(struct checkpoints *c, struct mlgen_err *err);

/* Make the directory and its missing parents, hold it, and check that it can be written. Renames
 * that a killed run left half done are repaired. Call before the threads that save are started, so
 * that they share its descriptor; later calls do nothing. 0, or -errno with err. */
int checkpoints_prepare(struct checkpoints *c, struct mlgen_err *err);
/* Give a checkpoint that was renamed to .old its final name back, unless a run is replacing it
 * at this moment. */
void checkpoints_recover_old(struct checkpoints *c, uint64_t epoch, uint64_t step);

/* Check that a next number exists, and with step UINT64_MAX also a next step. JSON numbers end at
 * 2^63-1. 0, or -ERANGE with err. */
int checkpoints_check_next(const struct checkpoints *c, uint64_t step, struct mlgen_err *err);
/* Set *next to the next number and its name: the .part name with rename_commit or if *next replaces
 * a checkpoint, otherwise the final name. step UINT64_MAX = the step after the newest one. Makes no
 * directory. */
void checkpoints_next(const struct checkpoints *c, uint64_t epoch, uint64_t step,
		      struct checkpoint *next);
/* Set place and name of *c; no directory is renamed. */
void checkpoint_set_place(struct checkpoint *c, enum checkpoint_place place);
/* Print the name that the checkpoint has after its rename. */
void checkpoint_final_name(const struct checkpoint *c, char to[CHECKPOINT_NAME_BYTES]);
/* Find mlgen's checkpoint at this epoch, step and place; NULL = none. */
const struct checkpoint *checkpoints_at(const struct checkpoints *c, uint64_t epoch, uint64_t step,
					enum checkpoint_place place);
/* Find the complete checkpoint that the next one at this epoch and step replaces; NULL = none. The
 * old checkpoint stays until the new one is complete. */
const struct checkpoint *checkpoints_replaced(const struct checkpoints *c, uint64_t epoch,
					      uint64_t step);

/* Print DIRECTORY/NAME/FILE, or DIRECTORY/NAME if file is NULL. 0, or -ENAMETOOLONG. */
int checkpoint_path(const struct checkpoints *c, const struct checkpoint *k, const char *file,
		    char path[PATH_MAX]);

/*
 * Must this run leave the checkpoint to another run? Several runs on several hosts may save into
 * one directory. A checkpoint is left alone unless its writer is this process or proven to be gone
 * (thread.h). There are two exceptions: a complete checkpoint with other ranks of the same state is
 * always left alone, and any other complete checkpoint without a writer never is. With --replace,
 * none is left alone.
 */
bool checkpoint_is_protected(const struct checkpoints *c, const struct checkpoint *k);
/* Print the reason: "belongs to pid 77 on host a, which began it 5 s ago and ...". */
const char *checkpoint_print_writer(const struct checkpoints *c, const struct checkpoint *k,
				    char *to, size_t bytes);

/* Make the directory of a checkpoint below the directory that is held open, and write its manifest.
 * 0, or -errno; -EEXIST: the name is in use, possibly since the last look. */
int checkpoint_create(const struct checkpoints *c, struct checkpoint *k, struct mlgen_err *err);
/* Write the manifest; a complete one is synced together with the directory above. 0, or -errno. */
int checkpoint_write_manifest(const struct checkpoints *c, const struct checkpoint *k,
			      bool is_complete, struct mlgen_err *err);
/* Make renames survive a power failure. 0, or -errno. */
int checkpoints_sync(const struct checkpoints *c, struct mlgen_err *err);
/* Open a checkpoint's directory, not through a link. Returns a descriptor that the caller closes,
 * or -errno; -ESTALE: another directory has replaced the one that was made. */
int checkpoint_folder(const struct checkpoints *c, const struct checkpoint *k);
/* Append a checkpoint to the list in memory, or remove one from it. */
void checkpoints_add(struct checkpoints *c, const struct checkpoint *k);
void checkpoints_remove(struct checkpoints *c, const char *name);

/*
 * The removal of a checkpoint of any writer and any model. begin reads its manifest again and holds
 * its directory, mark makes it incomplete, the caller unlinks `names` in folder_fd, and end removes
 * the manifest and the directory. fini accepts a zeroed struct.
 *
 * All return 0, or -errno with err. begin: -ENOENT if it is gone or replaced; -EBUSY if it is left
 * to another run, which err names; -EPERM if it has to stay, because its directory is a link or
 * another user's, or its manifest is forged. end: -ENOTEMPTY if it has to stay because it holds
 * files that mlgen did not write.
 */
struct checkpoint_removal {
	struct checkpoint now; /* the state that begin found */
	int folder_fd;
	bool is_held;
	char **names; /* owned array and strings */
	size_t count;
};
int checkpoint_removal_begin(struct checkpoint_removal *r, const struct checkpoints *c,
			     const struct checkpoint *k, struct mlgen_err *err);
/* Would the removal leave no files? */
bool checkpoint_removal_leaves_nothing(const struct checkpoint_removal *r);
int checkpoint_removal_mark(const struct checkpoint_removal *r, const struct checkpoints *c,
			    struct mlgen_err *err);
int checkpoint_removal_end(const struct checkpoint_removal *r, const struct checkpoints *c,
			   struct mlgen_err *err);
void checkpoint_removal_fini(struct checkpoint_removal *r);

/* Copy the newest `count` complete checkpoints of the same model, layout, ranks and access into
 * `to`, oldest first. 0, or -EINVAL with err: how many there are, which are broken, and how the
 * rest differ from the job. */
int checkpoints_to_restore(const struct checkpoints *c, size_t count, struct checkpoint *to,
			   struct mlgen_err *err);

/* Check that the free space suffices for `count` more checkpoints of the local ranks, of which
 * `keep` are kept (0 = all). 0, or -ENOSPC with the shortfall in err. */
int checkpoints_check_room(const struct checkpoints *c, uint64_t count, uint64_t keep,
			   struct mlgen_err *err);

/* Remove a directory into which nothing was ever written, neither a manifest nor a file; true = it
 * is gone. The caller must hold the lock of the directory above (below_lock), because a checkpoint
 * that another run is just beginning looks the same. */
bool checkpoint_remove_bare(const struct checkpoints *c, const struct checkpoint *k);

/* ---- The manifest in a checkpoint's directory ---- */

/* Read the manifest in the checkpoint's own directory, folder_fd, into `k`. 0, or -errno if mlgen
 * cannot use the manifest, with the reason in `why`. set NULL = any state. The manifest may be a
 * link. */
int checkpoint_manifest_read(int folder_fd, const struct shard_set *set, struct checkpoint *k,
			     char *why, size_t why_bytes);

/* ---- Names of the directories of checkpoints ---- */

/* Print the name of an epoch (from 1), a step and a place. */
void checkpoint_print_name(char to[CHECKPOINT_NAME_BYTES], uint64_t epoch, uint64_t step,
			   enum checkpoint_place place);

/* Parse a name that mlgen could have given: sets name, epoch, step and place of `k`. */
bool checkpoint_parse_name(const char *name, struct checkpoint *k);

/* ---- The calls by which torch.save writes an archive and torch.load reads it ---- */

/*
 * torch.save(state, path) writes through a C++ stream with a buffer of 8191 bytes. A write of 1024
 * bytes or more, or one that does not fit, goes out together with the buffer. torch.save(state,
 * file) writes through Python's buffer of 4096 bytes. A write that does not fit flushes the buffer
 * first; a write larger than the buffer then follows alone.
 *
 * torch.load(path) reads through Python's buffer of 4096 bytes. A request is served from the buffer
 * as far as possible; the rest is read directly if it is larger than the buffer, otherwise by
 * filling the buffer.
 *
 * One call reads as much as Linux allows, or writes a little less (shard_max_run_bytes). The rest
 * takes further calls.
 */
enum {
	TORCH_PATH_BUFFER = 8191,
	TORCH_FILE_BUFFER = 4096,
};

/* ---- The archive that torch.save writes: a record per tensor, each at a multiple of 64 ---- */

/*
 * The archive is that of torch 1.13. Its records are stored without compression: STEM/data.pkl,
 * STEM/data/KEY in the order of their names (0, 1, 10, 11, 2), STEM/version. Size and checksum
 * follow the data; an extra field "FB" before the data pads them to the alignment. A record whose
 * size or place is 4 GiB or more has zip64 fields, and a descriptor of 24 bytes instead of 16. The
 * directory is always followed by the zip64 end and its locator.
 *
 * A piece is what torch passes to its file in one write. The piece's `order` is the number of the
 * record, from 0 for data.pkl; record_off and record_bytes are the place of the record and the size
 * of its data.
 */
enum torch_part {
	TORCH_LOCAL, /* the header; then its name and its extra fields */
	TORCH_NAME,
	TORCH_ZIP64,
	TORCH_PADDING,
	TORCH_DATA,
	TORCH_DESCRIPTOR,
	TORCH_DIRECTORY,
	TORCH_END64,
	TORCH_LOCATOR,
	TORCH_END,
};

enum {
	TORCH_LOCAL_BYTES = 30,
	TORCH_END64_BYTES = 56,
	TORCH_LOCATOR_BYTES = 20,
	TORCH_END_BYTES = 22,
	TORCH_VERSION_BYTES = 2,
};
