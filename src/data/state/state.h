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
 * The state of a model and the files it is saved in. From the outside in: the checkpoints in a
 * directory, each with a manifest; the shards of one, a file each, whose pieces and calls are a
 * pure function of state, layout and rank; the tensors of a rank, and the bytes in them.
 *
 * Formulas are pure. What changes directories is called by the one process that leads.
 */

/* ---- The state of a model: which rank holds which tensors, of how many bytes ---- */

/*
 * Pure functions of numbers: nothing is kept per layer or tensor, but the names and sizes of a
 * tensor_sizes file. Formulas, names and who writes what are DLIO's
 * (checkpointing/base_checkpointing.py); sizes are those of scale=100 % times scale, at least a
 * byte.
 */
struct state {
	const struct job *job;
	uint64_t ranks, tensor_parallel, pipeline_parallel, data_parallel;
	unsigned zero_stage;
	/* Exactly one of these is what the state is made of. */
	enum { STATE_TRANSFORMER, STATE_SIZE, STATE_LIST, STATE_PATTERN } kind;
	struct state_list *list; /* STATE_LIST: the file's lines */
	struct ranges local;     /* ranks */
};

/* Of a job with checkpoints. 0, or -errno with err ("OPTION: what is wrong, what would be right"):
 * a parallelism that does not divide the model, a list that cannot be read. state_fini takes a
 * zeroed or failed one. */
int state_init(struct state *s, const struct job *job, struct mlgen_err *err);
void state_fini(struct state *s);

/* Of the whole model; 0 where the state is no transformer's. */
uint64_t state_parameters(const struct state *s);

/* Tensors come in groups: what a layer of the model is on one rank, and what the optimizer is. A
 * layout puts groups into files. */
struct state_group {
	bool is_optimizer;
	uint64_t rank;
	uint64_t layer; /* DLIO's number: 0 embedding, 1 .. L, L+1, L+2 */
	uint64_t tensors, bytes;
};

/* How many groups a rank saves (those that another rank saves for it are not among them): model
 * layers first, the optimizer last. 0 = it saves nothing. */
uint64_t state_groups(const struct state *s, uint64_t rank);
void state_group(const struct state *s, uint64_t rank, uint64_t i, struct state_group *g);

#define STATE_NAME_BYTES 128
struct state_tensor {
	char name[STATE_NAME_BYTES]; /* "layers.3.mlp.gate_up.weight" */
	uint64_t bytes;
	unsigned value_bytes; /* of one element: its type in a file */
};
void state_tensor(const struct state *s, const struct state_group *g, uint64_t i,
		  struct state_tensor *t);

/* Bytes of a rank, and of all ranks of the job. */
struct state_bytes {
	uint64_t model, optimizer, total;
};
void state_rank_bytes(const struct state *s, uint64_t rank, struct state_bytes *b);
void state_all_bytes(const struct state *s, struct state_bytes *b);

/*
 * The ranks that this process plays (job_local_ranks), as a list of ranges: state_local(i) is the
 * i-th rank. state_whole makes of *of the same state, but as one process would play it that has
 * those of all processes of the job: what a directory of theirs holds. It borrows from *s; its
 * ranges are its own (ranges_fini(&of->local)). 0, or -errno with err.
 */
int state_whole(struct state *of, const struct state *s, struct mlgen_err *err);
uint64_t state_locals(const struct state *s);
uint64_t state_local(const struct state *s, uint64_t i);
bool state_is_local(const struct state *s, uint64_t rank);

/*
 * The bytes of a checkpoint's tensors: from a pool, stamped, and their checksums by arithmetic.
 */

/*
 * A pool of `span_bytes` random bytes is made once per job. Each writer has a slice, a copy of it
 * (content_fill), and stamps it anew for every write, so that what is written needs no copying and
 * no memory beyond the slices.
 *
 * A run is a range of a file that is written by one call. Byte p of a run is byte (p mod span) +
 * SHIFT * (p / span) of the slice: a run of up to a span is the slice itself; a longer one repeats
 * over it, each time shifted by a few bytes, so that no two aligned blocks of 4 KiB in it are
 * alike. The slice has CONTENT_SLACK bytes behind the span for that, which are a block like others.
 *
 * Stamp: at the start of every CONTENT_BLOCK of the slice stands a struct content_stamp, with the
 * crc32c of what is behind it. All of a block follows from where it is, also its checksums: the
 * stamp's join those of the rest, which never change.
 *
 * A struct content is read-only once it is made: any number of threads may use it, each with slices
 * of its own.
 */
#define CONTENT_BLOCK 4096u
#define CONTENT_SLACK CONTENT_BLOCK
/* Parts of one call (UIO_MAXIOV), and so the longest run: 1024 spans, less than what Linux moves in
 * one call. */
#define CONTENT_PARTS 1024u
#define CONTENT_RUN_BYTES 0x7fff0000u

/* Little-endian. */
struct content_stamp {
	uint32_t magic;  /* CONTENT_MAGIC */
	uint32_t crc32c; /* of what follows in the block, all of it */
	uint32_t rank, checkpoint;
	uint64_t file; /* of the rank's, with the job's randseed above it */
	uint64_t off;  /* in the file: the run's, plus that in the slice */
};
#define CONTENT_MAGIC 0x6e67636bu

/* Whose bytes. */
struct content_of {
	uint64_t rank, checkpoint, file;
	uint64_t off; /* of the run, in the file */
};

struct content; /* the pool and tables for its checksums; read-only */

/* span_bytes: multiple of CONTENT_BLOCK. Same seed, same bytes, ever after. */
struct content *content_new(uint64_t span_bytes, uint64_t seed);
void content_free(struct content *c); /* NULL is fine */
uint64_t content_span_bytes(const struct content *c);

/* Once: make `slice` (span + CONTENT_SLACK bytes) the pool. */
void content_fill(const struct content *c, void *slice);

/* Stamp `slice` for the first `bytes` of a run (its whole length, <= CONTENT_RUN_BYTES and
 * CONTENT_PARTS spans) and point `parts` at it, which has room for one a span. Their number. */
unsigned content_put(const struct content *c, const struct content_of *of, void *slice,
		     uint64_t bytes, struct iovec *parts);
/* The slice holds other bytes at [at, at + bytes): make them the pool's again (stamps are not; they
 * come with the next put). */
void content_mend(const struct content *c, void *slice, uint64_t at, uint64_t bytes);

/* Bytes [p, p + bytes) of a run into `to`. */
void content_copy(const struct content *c, const struct content_of *of, uint64_t p, void *to,
		  uint64_t bytes);

/* Continue a zlib CRC-32 over bytes [p, p + bytes) of a run, from arithmetic:
 * a few ns a block. */
uint32_t content_crc32(const struct content *c, const struct content_of *of, uint64_t p,
		       uint64_t bytes, uint32_t crc);

/* verify=crc32c: `buf` holds bytes [p, p + bytes) of a run. By the blocks' own checksums and
 * stamps; what is no whole block is compared. The number of right bytes before the first wrong one
 * (bytes = all). */
uint64_t content_check(const struct content *c, const struct content_of *of, uint64_t p,
		       const void *buf, uint64_t bytes);

/* ---- One file of a checkpoint: its name, its pieces, the calls that write and read it ---- */

/*
 * A file is a sequence of pieces: tensors, whose bytes come from the content, and what the layout
 * puts around them (headers, a pickle, a directory). Everything is a function of (state, layout,
 * rank, file, checkpoint): no memory per tensor; iterators go through a file from its front.
 *
 * Runs (state.h): with access=plain a file is cut into runs of content_span_bytes (bs), from its
 * first byte on, and pieces that are not tensors lie over them. With access=framework each tensor
 * is a run, or several of shard_most_run; a stream's runs are its calls, from the file's first byte
 * on, and a pattern's calls are its pieces.
 *
 * Names and sizes of files need no content; all that has to do with bytes does.
 */
struct layout;

struct shard_set {
	const struct state *state;
	const struct layout *layout;
	const struct content *content;
	bool is_plain; /* access=plain */
	uint64_t bs;   /* of it */
	bool direct;
};

#define SHARD_MARKS 64

struct shard {
	const struct shard_set *set;
	uint64_t rank, index; /* file of the rank */
	uint64_t checkpoint;  /* its number */
	uint64_t first_group, groups;
	uint64_t tensors, tensor_bytes;
	uint64_t bytes;      /* of the file */
	uint64_t meta_bytes; /* the largest piece that is no tensor */
	/* Tensors before every so-manieth group, to find one. */
	uint64_t marks[SHARD_MARKS];
	struct { /* state.h's own */
		char stem[JOB_ARCHIVE_BYTES];
		uint64_t pickle_off, pickle_bytes;
		uint64_t version_off, version_data_off;
		uint64_t directory_off, directory_bytes;
		uint32_t pickle_crc32;
	} zip;
};

const struct layout *layout_of(const struct job *job);

/* Files of a rank; 0 = it saves nothing. */
uint64_t shard_files(const struct shard_set *set, uint64_t rank);
/* Goes through all its tensors: set up, rather than ask often. */
void shard_init(struct shard *f, const struct shard_set *set, uint64_t rank, uint64_t index,
		uint64_t checkpoint);
/* Its name within the checkpoint's directory; fewer than SHARD_NAME_BYTES. */
#define SHARD_NAME_BYTES 200
void shard_name(const struct shard *f, char *to, size_t bytes);
/* Could a file of any layout, of any state, have this name? */
bool shard_is_name(const char *name);

struct shard_piece {
	uint64_t off, bytes; /* at least one */
	bool is_tensor;
	uint64_t tensor; /* of the file; also of what stands around it */
	/* The layout's own: how many came before, and what of it this is. */
	uint64_t order;
	unsigned part;
	uint64_t record_off, record_bytes;
};

/* From a zeroed piece to the first, from one to the next; false = no more, and the piece stays the
 * last. */
bool shard_next(const struct shard *f, struct shard_piece *p);
void shard_tensor(const struct shard *f, uint64_t tensor, struct state_tensor *t);
/* Bytes [from, from + bytes) of a piece that is no tensor. */
void shard_meta(const struct shard *f, const struct shard_piece *p, uint64_t from, void *to,
		uint64_t bytes);

/* The run of byte `off`, which lies in piece `p`, a tensor: where it begins and how long it is. */
void shard_run(const struct shard *f, const struct shard_piece *p, uint64_t off, uint64_t *run_off,
	       uint64_t *run_bytes);
void shard_content_of(const struct shard *f, uint64_t run_off, struct content_of *of);

/* Any bytes of the file, piece by piece from `*p`, which is moved along (zeroed at first; going
 * back starts it anew). */
void shard_copy(const struct shard *f, struct shard_piece *p, uint64_t off, void *to,
		uint64_t bytes);

/*
 * access=framework: one call that writes. The first `head_bytes` are from the layout's pieces and
 * small tensors (shard_copy); the rest is a whole run, which begins at off + head_bytes (bytes ==
 * head_bytes: none). Calls cover the file from its front to its end. Zeroed at first.
 */
struct shard_write {
	uint64_t off, bytes, head_bytes;
	bool is_dropped; /* stream: then drop what was written from the cache */
	/* The layout's own: how far it is, and what is left of that piece. */
	struct shard_piece at;
	uint64_t left;
};
bool shard_write_next(const struct shard *f, struct shard_write *w);
/* The most bytes that a head, a run, or a call can have, of the local ranks. A run is at most
 * CONTENT_PARTS - 1 spans, so that one part is left for a head. */
uint64_t shard_most_head(const struct shard_set *set);
uint64_t shard_most_run(const struct shard_set *set);
uint64_t shard_most_write(const struct shard_set *set);

/* access=framework: is there a STAT behind the open? */
bool shard_stats(const struct shard_set *set, bool is_restore);

/* access=framework: one call that reads, in the framework's order, which jumps and comes back; at
 * most CONTENT_PARTS spans. `got_bytes` is what the file has of it. Zeroed at first. */
struct shard_read {
	uint64_t off, bytes, got_bytes;
	/* The layout's own: how many reads the framework asked its file object for, where that is,
	 * what it still owes, and what is in its buffer. */
	uint64_t order, at_off, left;
	uint64_t buffer_off, buffer_end;
	struct shard_piece at;
};
bool shard_read_next(const struct shard *f, struct shard_read *r);

/* `buf` holds [off, off + bytes) of the file. false: *wrong_off is the first wrong byte, and what
 * it belongs to is in `where` ("tensor layers.3...", or "directory of the archive"). p as in
 * shard_copy. */
bool shard_check(const struct shard *f, struct shard_piece *p, uint64_t off, const void *buf,
		 uint64_t bytes, uint64_t *wrong_off, char *where, size_t where_bytes);

/* ---- The checkpoints in a directory: names, whether they are whole, and which to delete ---- */

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
 * by descriptors that are held (files.h), through no link; what is restored is read through links.
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
 * is proven to be gone (thread.h); but what is complete and says nothing of its writer. Of a
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

/* ---- What making and removing directories of checkpoints share ---- */

/* Nothing was ever said or written in it: it goes, and this is true. The caller has locked the
 * directory (below_lock), since what another run is just beginning looks the same. */
bool checkpoint_drop_bare(const struct checkpoints *c, const struct checkpoint *k);

/* ---- The JSON document in a checkpoint's directory: read, compare, replace ---- */

/*
 * `folder_fd` is the checkpoint's own (files.h). Nothing is kept between calls: a manifest is a few
 * KiB, and is read when something is asked of it. What is only read is read through links; what is
 * to be changed or deleted is not.
 */

/* What it says of it, into `k`. 0; else it is none of ours, and `why` says what is wrong with it.
 * set NULL: of any state. */
int checkpoint_manifest_look(int folder_fd, const struct shard_set *set, struct checkpoint *k,
			     char *why, size_t why_bytes);

/* ---- Names of the directories of checkpoints, given and recognised ---- */

/* That of an epoch (they count from 1), a step and a place. */
void checkpoint_put_name(char to[CHECKPOINT_NAME_BYTES], uint64_t epoch, uint64_t step,
			 enum checkpoint_place place);

/* Is it a name as we give them? Then name, epoch, step and place of `k`. */
bool checkpoint_read_name(const char *name, struct checkpoint *k);

/* ---- The calls by which torch.save writes an archive and torch.load reads it ---- */

/*
 * torch.save(state, path): a C++ stream, whose buffer holds 8191 bytes; a write of 1024 bytes or
 * more, or that does not fit, goes out together with what the buffer has. torch.save(state, file):
 * Python's buffer of 4096 bytes; a write that does not fit makes it go out alone, and one that is
 * larger follows.
 *
 * torch.load(path) reads through Python's buffer of 4096 bytes: what it has is taken from there,
 * and no more is asked for than the rest, or a buffer full if that is less.
 *
 * One call moves as much as Linux allows, a little less when it writes (shard_most_run); the rest
 * is a call of its own.
 */
enum {
	TORCH_PATH_BUFFER = 8191,
	TORCH_FILE_BUFFER = 4096,
};

/* ---- The archive that torch.save writes: a record per tensor, each at a multiple of 64 ---- */

/*
 * As torch 1.13 has it: stored records STEM/data.pkl, STEM/data/KEY in the order of their names (0,
 * 1, 10, 11, 2), STEM/version. Sizes and checksum stand behind the data; an extra field "FB" in
 * front of it is as long as the alignment needs. From 4 GiB on, by size or by place, a record has
 * zip64 fields, and a descriptor of 24 bytes instead of 16. The directory is followed by zip64's
 * own end and its locator, whatever its size.
 *
 * A piece is what torch hands to its file in one write. A record's number is the piece's `order`,
 * from 0 for data.pkl; its place and bytes of data are record_off and record_bytes.
 */
enum torch_part {
	TORCH_LOCAL, /* header; its name, its extra fields */
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
