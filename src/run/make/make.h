/* SPDX-License-Identifier: Apache-2.0 */
/* make.h - makes the files that are missing, and removes those that are in the way. */
#pragma once

/*
 * A crew is some threads that share a piece of work, one item after the other, and stop together.
 * File makers lay out files of any kind with it: a file is written beside its place under a name
 * that says it is unfinished, and renamed when it is whole. prepare() does so for a data set: it
 * takes the lock of the directory, compares its manifest with what the job wants, removes, writes,
 * and looks again.
 *
 * One process prepares; crews have their own threads.
 */

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>

#include "base/clock.h"
#include "data/file/file.h"
#include "hosts/hosts.h"
#include "io/io.h"
#include "job/job.h"
#include "run/watch/watch.h"

struct crew;
struct newfile_kind;

/* ---- some workers that do one thing for every index up to a count ---- */

/* For others to look at the crew that is at work; a zeroed one has none. */
struct crew_view {
	pthread_mutex_t lock;
	const struct crew *crew;
};

struct crew_config {
	const struct mlgen_engine *engine;
	const void *engine_opts; /* NULL = its defaults */
	struct clock *clock;
	struct stop *stop;
	struct crew_view *view;      /* NULL = nobody looks */
	const struct traced *traced; /* NULL = there is no trace */
	unsigned workers;            /* at most; never more than the count */
	size_t buf_bytes;            /* of each */
};

/* To write files, of which the largest has so many bytes: twice the CPUs, but 8 to 16 of them,
 * since each waits for its own fsync; with 64 KiB (what formats want) to 1 MiB each. */
#define CREW_MOST_BYTES (UINT64_C(1) << 20)
unsigned crew_writers(void);
size_t crew_writer_bytes(uint64_t largest_file_bytes);

/* Told to stop, in the middle of its work: no failure, and of no errno's value, since an operation
 * may fail with any of them. */
enum { CREW_STOPPED = 1 };

/* One thread, with what it needs to work on files. */
struct crew_worker {
	struct crew *crew;
	unsigned index;
	void *owner; /* the task's */
	struct io *io;
	struct opstat stat;
	/* For the task to use; the folder that it holds (files.h; -1 = none) is closed behind
	 * it. */
	char path[PATH_MAX], part[PATH_MAX], folder[PATH_MAX];
	int folder_fd;
};

struct crew_task {
	/* 0, CREW_STOPPED, or -errno with err, which ends all. */
	int (*each)(struct crew_worker *w, uint64_t index, struct mlgen_err *err);
	void *owner;
	uint64_t count;
};

/* crew_start and crew_finish. */
int crew_run(const struct crew_config *cfg, const struct crew_task *task, struct mlgen_err *err);

/* Any thread: each of its workers, where there are any. */
void crew_look(struct crew_view *v, void (*look)(void *arg, const struct io *io), void *arg);

/* For `each`: somebody failed or asked to stop. */
bool crew_stopped(const struct crew_worker *w);

/* For `each`: one operation on a file, without data. 0 or -errno. */
int crew_do(struct crew_worker *w, enum mlgen_op op, struct mlgen_file *file);

/* ---- making the files that a job needs and that are missing ---- */

/* Progress, for the status line; single numbers, relaxed. */
struct filemaker_progress {
	_Atomic uint64_t files_done, bytes_done; /* present ones included */
	_Atomic uint64_t files_total, bytes_total;
	struct stop stop;      /* the job's, in all that it does */
	struct crew_view crew; /* that is at work */
	const char *name;      /* of the job */
};

/*
 * What the workers that make files share: of a data set, or of a plain job. Which files are missing
 * is the caller's to find out, before and once more when it has the lock of their directory; so a
 * run that was stopped is gone on with, and nothing is made twice. How one of them is made
 * stands in struct newfile_kind.
 */
struct filemaker {
	const struct newfile_kind *kind;
	struct filemaker_progress *progress;
	struct crew_config crew; /* engine, its options, clock: the caller's */
	uint64_t start_ns;
	/* Found by the caller, before filemaker_begin. All are relaxed. */
	_Atomic uint64_t present_files, present_bytes;
	_Atomic uint64_t missing_files, missing_bytes;
	/* Whole files, which have their names, and bytes that are known to be on the device. */
	_Atomic uint64_t made_files, made_bytes, synced_bytes;
};

/* Completes the crew: an engine that can write, and buffers for the largest of the files. */
void filemaker_init(struct filemaker *m, uint64_t largest_file_bytes);

/* Progress and time count from here. */
void filemaker_begin(struct filemaker *m);

/*
 * A crew does the task, which is announced, once, when its time can be told: the first second,
 * which caches make fast, is over, and some bytes have reached the device, or all is done; but no
 * later than after 5 s.
 */
int filemaker_run(struct filemaker *m, const struct crew_task *task,
		  void (*announce)(const void *arg, const char *time), const void *arg,
		  struct mlgen_err *err);

/* "about 41 s, estimate"; "in 12.23 ms" where all are synced; "time unknown" within the first
 * second, or while nothing is. */
#define FILEMAKER_TIME_BYTES 64
void filemaker_time(char out[FILEMAKER_TIME_BYTES], uint64_t seen_ns, uint64_t synced_bytes,
		    uint64_t all_bytes);

/* Is there room? Half of what is free may be used, or all with allow_fill. */
struct filemaker_room {
	const char *path;
	const char *purpose; /* "to write" */
	uint64_t missing_bytes, free_bytes;
	bool allow_fill;
	const char *way_out;
	const char *or_fill; /* behind it, where --allow_fill would help */
};
uint64_t filemaker_usable(uint64_t free_bytes, bool allow_fill);
int filemaker_check_room(const struct filemaker_room *room,
			 struct mlgen_err *err); /* 0, or -ENOSPC with err */

/* May files be made at `path`, or with what leads to it, where that is missing? `what` is "4
 * files", and `option` names the place: 0, or -EROFS or -EACCES with err. */
int filemaker_check_writable(const char *path, const char *what, const char *option,
			     struct mlgen_err *err);

/* The names in a folder reach the device, too: 0 or -errno with err. Of a folder that cannot be
 * opened the error `excused` (-ENOENT) is none. */
int filemaker_sync_folder(const char *path, int excused, struct mlgen_err *err);

/* ---- a file on its way: written under a temporary name, given its own when it is whole ---- */

/*
 * One worker's, on its stack. What has its name is whole and on the device: a file is new under its
 * temporary name, filled from a source, synced, and renamed. While it grows it is synced and
 * dropped from the page cache every
 * 16 MiB: that bounds the cache it takes and the wait after a SIGINT, and what reads it first reads
 * storage. Several workers may each fill a piece of one.
 *
 * Functions give 0, CREW_STOPPED, or -errno with err, which names the file by the name that it will
 * have.
 */
struct newfile {
	struct filemaker *maker;
	struct crew_worker *w;
	const char *path;       /* that it will have; the caller's */
	uint64_t bytes;         /* of all of it */
	struct mlgen_file file; /* under its temporary name */
	bool is_piece;          /* others write elsewhere in it */
	uint64_t end, unsynced; /* bytes so far: up to here; the last of them */
};

/* What data sets, the files of plain jobs, ... do not have in common. */
struct newfile_kind {
	const char *suffix; /* of temporary names */
	bool replaces;      /* what has its name by then; else that stays */
	/*
	 * The next chunk of the content, at most `size` bytes: 1, 0 behind the last one, or -errno
	 * with err. One that does not begin where the last one ended (a header, again) is written,
	 * and not counted.
	 */
	int (*next)(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
		    struct mlgen_err *err);
	/* Behind ENOSPC: what of the `left` bytes, and the way out. */
	void (*put_no_room)(const struct newfile *x, const char *left, char *out, size_t size);
};

/* ".NAME" and the suffix, beside NAME. 0, or -ENAMETOOLONG. */
int newfile_temporary(char out[PATH_MAX], const char *path, const struct newfile_kind *kind);

/* `what` failed; of no space it says what is still to be written. */
int newfile_failed(const struct newfile *x, const char *what, int code, struct mlgen_err *err);

/* So many bytes of the worker's buffer, at `off`. */
int newfile_write(struct newfile *x, uint64_t off, size_t len, struct mlgen_err *err);

/* All of a source, which is for kind->next, from x->end on. */
int newfile_fill(struct newfile *x, void *source, struct mlgen_err *err);

/*
 * Close it, also after an error, which is `so_far`. If it is whole, it is synced before, and then
 * it has its name and counts as made.
 */
int newfile_end(struct newfile *x, int so_far, bool is_whole, struct mlgen_err *err);

/* ---- may a directory be made and filled, or is a filesystem missing there? ---- */

/* How a message about a directory begins: "FILE:LINE: OPTION: PATH of job 'NAME'", without FILE and
 * LINE where no file gives the option. Gives to->text. */
struct newdir_place {
	char text[PATH_MAX + 512];
};
const char *newdir_put_place(struct newdir_place *to, const struct job *j, const char *option,
			     const char *path);

/*
 * A filesystem that is not mounted leaves an empty directory or none, and a run would measure the
 * disk below. So of an absolute path only the last folder is made, and an empty directory that
 * fstab has a filesystem for is not filled. A relative path is made whole. `path` follows from the
 * option: 0, or -ENOENT with err, which names the job and where the option is given.
 */
int newdir_check(const struct job *j, const char *option, const char *path, struct mlgen_err *err);

/* ---- a dataset's directory while files in it are made and removed ---- */

/*
 * The directory is held (files.h) from before the workers start until they are done; a worker holds
 * the folder that it is at, and goes to the next one below the directory, through no symbolic link.
 */
struct datadir {
	const char *path; /* the caller's */
	int fd;
	uid_t maker; /* who owns what is made in it */
};

/* 0 or -errno with err. */
int datadir_open(struct datadir *d, const char *path, uid_t maker, struct mlgen_err *err);
void datadir_close(struct datadir *d); /* once, after 0 */

int datadir_make(const struct datadir *d, struct crew_worker *w, struct mlgen_err *err);

/*
 * A folder on the way is no folder, or a symbolic link: that cannot be written or removed in.
 * `folder_fd` is what below_folder said of `path`; 0 for -ENOENT and for a descriptor, which stays
 * open.
 */
int datadir_check_folder(int folder_fd, const char *path, struct mlgen_err *err);

/* May files that lie in this folder be removed, which a manifest lists? 0, or -EPERM with err: it
 * belongs to somebody else. `path` is for the message. */
int datadir_check_owner(const struct datadir *d, int folder_fd, const char *path,
			struct mlgen_err *err);

/* ---- one file of a dataset: is it there, write it, remove it ---- */

/*
 * What the workers that write one dataset share. Its files are counted through both sets: those to
 * train with, then those to evaluate with.
 */
struct datafiles {
	const struct dataset *sets[2]; /* the second may be NULL */
	struct datadir dir;            /* to write or remove, not to look */
	/* A manifest says that mlgen wrote what is there of them. */
	bool ours[2];
	bool looks_inside; /* at the first bytes, too */
};

/* As they are made; .NAME.part until then. */
extern const struct newfile_kind datafile_kind;

uint64_t datafiles_count(const struct datafiles *d);

/* Which set a file is in; *index becomes its index there. */
unsigned datafiles_set(const struct datafiles *d, uint64_t *index);

/* Its path: 0, or -errno with err. */
int datafile_path(const struct datafiles *d, uint64_t index, char path[PATH_MAX],
		  struct mlgen_err *err);

/* "PATH: OPERATION: what strerror says"; gives `code` back. */
int datafile_failed(const char *path, enum mlgen_op op, int code, struct mlgen_err *err);

/*
 * Is it there with its full size? 1, 0 when it is missing or, being ours, has another size (or,
 * where d->looks_inside, other first bytes than its format); -EEXIST when it is not ours. Leaves
 * its path in w->path.
 */
int datafile_look(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		  struct mlgen_err *err);

/*
 * Before a complete dataset is trusted, of one file: can it be read, is it as long as it should be,
 * does it begin as its format does? -EILSEQ if not so; each error names the way out. Leaves the
 * page cache as it was.
 */
int datafile_check(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		   struct mlgen_err *err);

/*
 * Make it, and its folder; it takes the place of what datafile_look has found. Nothing
 * is left behind on failure. 0, CREW_STOPPED, or -errno.
 */
int datafile_write(const struct datafiles *d, struct filemaker *maker, struct crew_worker *w,
		   uint64_t index, struct mlgen_err *err);

/* ---- remove a dataset that its manifest describes, and nothing else ---- */

/* Bytes of it that are there. 0 or -errno with err. */
int dataremove_bytes(const char *directory, uint64_t *bytes, struct mlgen_err *err);

/*
 * Its files, those to evaluate with too, then its folders where nothing of others is in them, then
 * the manifest. Stopped half-way, the manifest still describes what is left. *started is set once
 * files may be gone. 0, CREW_STOPPED, or -errno with err: -EPERM or -ELOOP of a folder in which a
 * manifest is not believed, before anything is gone.
 */
int dataremove_all(const struct crew_config *crew, const struct datadir *dir, bool *started,
		   struct mlgen_err *err);

/* ---- one process at a time changes a dataset directory ---- */

#define DIRLOCK_NAME ".mlgen-dataset.lock"

/* A flock on a file in the directory, which is there only meanwhile. The kernel drops it with the
 * process, however that ends. */
struct dirlock {
	bool is_held;
	int dir_fd, fd; /* the directory (files.h), the file */
	uid_t maker;    /* of files that are made there (files.h) */
};

/* 0, -EBUSY when another mlgen is at work there, or another -errno. */
int dirlock_take(struct dirlock *l, const char *directory, struct mlgen_err *err);
/* The same in a directory that the caller holds; its path is for messages. */
int dirlock_take_at(struct dirlock *l, int dir_fd, const char *directory, struct mlgen_err *err);
void dirlock_drop(struct dirlock *l); /* takes a zeroed struct */

/* ---- write the files of datasets that are missing, before any clock starts ---- */

struct prepare_result {
	uint64_t files_written, bytes_written;
	uint64_t files_kept;
	uint64_t wall_ns;
	double resident_percent;  /* of the dataset, in this host's page
					   cache after it (a sample of at most
					   256 files); NaN = unknown */
	uint64_t resident_files;  /* of that sample */
	bool is_nothing_resident; /* a whole sample found none of it */
	bool interrupted;
};

struct prepare_request {
	const char *job_name;
	struct dataset *dataset;
	struct dataset *eval; /* to evaluate with; NULL or no files = none */
	bool check_all;       /* phase=prepare: look at every file even when complete,
			       * and leave none in the page cache */
	bool readonly, allow_fill, replace;
	bool thorough;        /* look at all files where a sample would do */
	uint64_t first_files; /* that are read at all; 0 = all */
	bool forgiving;       /* what is missing may fail to be read, and be counted */
	/* Of one job, with one directory: they make it together, each its share of the files. NULL
	 * = this process alone. */
	struct hosts *hosts;
	const struct traced *traced;       /* NULL = there is no trace */
	const struct mlgen_engine *engine; /* NO_FILES: nothing to do */
	const void *engine_opts;           /* its options in the job */
	struct clock *clock;
	struct filemaker_progress *progress;
};

/*
 * Bring one dataset, and the one to evaluate with, to completion: reads the manifest, refuses what
 * must be refused (mismatch, more than half of the free space without allow_fill, readonly, a
 * read-only directory: -EINVAL/-ENOSPC/-EROFS/-EACCES before the first byte is written; err->code
 * tells), says on stderr in one line how much, where and how long, writes what is missing in
 * parallel (each file synced, dropped from the page cache, renamed into place) and marks the
 * manifest complete. Runs on the main thread; starts and joins its own workers. With
 * progress->stop: CREW_STOPPED, the dataset is incomplete and resumed next time. The worker count
 * is the number of CPUs x 2, at least 8 (each waits for its own fsync), at most 16.
 *
 * A complete dataset is trusted but for its first file: one that is missing, unreadable, short,
 * long, or does not begin as its format does is an error.
 * So it is with a sample of the others by their names, unless the job is
 * `forgiving`.
 * With check_all, or where the dataset is incomplete, a first file that begins otherwise makes all
 * files looked into, and those that are wrong written anew.
 *
 * Of a scan nothing is checked or written.
 *
 * Files that were kept leave the page cache, too, where a sample finds some there; but not for a
 * training that writes nothing: its invalidate= decides.
 *
 * The calling thread has joined the clock. Files of an incomplete or mended dataset that have the
 * wrong size are replaced; where no manifest says that mlgen wrote it, a file in the way is an
 * error. One process at a time works in a directory (-EBUSY).
 *
 * With others (req->hosts) together: rank 0 looks, refuses, holds the directory and writes the
 * manifest; of the files that are missing each process writes those with number % processes = its
 * rank. What fails in one fails in all.
 *
 * *started is set once the first byte was written (exit status 1 instead of 2).
 */
int prepare_dataset(const struct prepare_request *req, struct prepare_result *result, bool *started,
		    struct mlgen_err *err);

/*
 * For a dry run: what of this would be refused of the files that are there, whether complete or
 * not? Nothing is changed. What is missing, and where it would go, are others' to ask
 * (prepare_rules, data/dataset/dataset.h). 0, or -errno with err.
 */
int prepare_ask(const struct prepare_request *req, struct mlgen_err *err);

/* ---- is there room for the files of a dataset, and may they be written ---- */

/* What is to be written, and what is there: files to evaluate with, too. */
struct prepare_need {
	const struct dataset *dataset;
	bool readonly, allow_fill;
	uint64_t missing_files, missing_bytes;
	uint64_t present_files, present_bytes;
	uint64_t eval_bytes;  /* of files to evaluate with, all of them */
	uint64_t freed_bytes; /* of what is removed first */
};

/*
 * What is refused before the first file is written: rows, as those of run_internal.h, that a run
 * asks when it has looked at what is there, and a dry run, too. With nothing missing all of them
 * hold.
 */
struct prepare_rule {
	const char *name; /* NULL = the end of them */
	int (*ask)(const struct prepare_need *n, struct mlgen_err *err);
};
extern const struct prepare_rule prepare_rules[];

/* ---- is a directory the same one on all hosts of a job? ---- */

/*
 * Together, on the main thread or the conductor: rank 0 puts a file with a random token into the
 * directory, or into what leads to it where that is missing, and the others must read that token by
 * that name; for 10 s they look again, since caches of attributes and names hold that long (NFS:
 * acregmax 60 s is of files that are known; one that was never looked for is asked for). Where rank
 * 0 may not write, the directory itself is compared: number and time of change. The file is gone
 * then. `otherwise` is what else could be done than to name another directory. 0 where all see the
 * same, or -EXDEV with err in all: whose is another one. With one host nothing is done.
 */
int oneplace_check(struct hosts *h, const char *directory, const char *otherwise,
		   struct mlgen_err *err);

/* ---- how much of a dataset is in this host's page cache, by a sample ---- */

/* At most so many files are looked at, chosen at random. */
#define RESIDENCY_FILES 256

struct residency {
	uint64_t files;       /* looked at */
	double percent;       /* of their bytes; NaN = unknown */
	uint64_t failed_file; /* one that could not be asked; UINT64_MAX = none */
	bool is_nothing;      /* the whole sample was looked at: not a page */
};

/* Until deadline_ns; CLOCK_NEVER = the whole sample. */
void residency_sample(struct residency *r, const struct dataset *ds, const struct clock *clock,
		      uint64_t deadline_ns);

/*
 * Is nothing of the dataset in memory, as far as such a sample tells? Ends at the first page found.
 * Each `round` is another sample. False where it cannot be told.
 */
bool residency_is_nothing(const struct dataset *ds, uint64_t round, const struct clock *clock,
			  uint64_t deadline_ns);
