/* SPDX-License-Identifier: Apache-2.0 */
/* make.h - create the files of a job that are missing, and remove those that are in the way. */
#pragma once

/*
 * A thread pool works through the indexes of a task; its threads stop together. File makers use a
 * pool to create files of any kind: each file is written next to its final place under a
 * temporary name, and renamed when it is complete. prepare_dataset does this for a dataset: it
 * locks the directory, compares the manifest with the job, removes old files, writes missing ones
 * and checks the page cache.
 *
 * The conductor thread calls these functions; those for a struct pool_worker run on its thread.
 * Pools own their threads.
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

struct newfile_kind;
struct thread_pool;

/* ---- thread pools: workers that call one function for every index up to a count ---- */

/* The pool at work, for threads that inspect it. A zeroed view has no pool. */
struct pool_view {
	pthread_mutex_t lock;
	const struct thread_pool *pool;
};

struct pool_config {
	const struct mlgen_engine *engine;
	const void *engine_opts; /* NULL = its defaults */
	struct clock *clock;
	struct stop *stop;
	struct pool_view *view;      /* NULL = the pool is not inspected */
	const struct traced *traced; /* NULL = there is no trace */
	unsigned workers;            /* upper limit; the pool never has more than task->count */
	size_t buf_bytes;            /* per worker */
};

/* Number of workers that write files: twice the CPUs, but 8 to 16, since each waits for its own
 * fsync. A worker's buffer is as large as the largest file, but at least 64 KiB (required by the
 * formats) and at most 1 MiB. */
#define POOL_MOST_BYTES (UINT64_C(1) << 20)
unsigned pool_writers(void);
size_t pool_writer_bytes(uint64_t largest_file_bytes);

/* Result of work that was asked to stop. This is not a failure; the value is not negative because
 * an operation may fail with any errno. */
enum { POOL_STOPPED = 1 };

/* A pool thread and its resources for work on files. */
struct pool_worker {
	struct thread_pool *pool;
	unsigned index;
	void *owner; /* owner of the task */
	struct io *io;
	struct opstat stat;
	/* Free for use by the task. The pool closes folder_fd (files.h; -1 = none) when the worker
	 * ends. */
	char path[PATH_MAX], part[PATH_MAX], folder[PATH_MAX];
	int folder_fd;
};

struct pool_task {
	/* 0, POOL_STOPPED, or -errno with err. Anything but 0 stops the worker; an error stops all
	 * workers. */
	int (*each)(struct pool_worker *w, uint64_t index, struct mlgen_err *err);
	void *owner;
	uint64_t count;
};

/* Run the task to its end: 0, POOL_STOPPED, or the first error, -errno with err. The calling thread
 * must have joined the clock. */
int pool_run(const struct pool_config *cfg, const struct pool_task *task, struct mlgen_err *err);

/* Any thread: call `look` for the io of each worker at work. */
void pool_look(struct pool_view *v, void (*look)(void *arg, const struct io *io), void *arg);

/* Called by `each`: has a worker failed, or was the pool asked to stop? */
bool pool_is_stopping(const struct pool_worker *w);

/* Called by `each`: perform an operation on a file, without data. 0 or -errno. */
int pool_do(struct pool_worker *w, enum mlgen_op op, struct mlgen_file *file);

/* ---- file makers: create the missing files of a job ---- */

/* Progress, for the status line. Each number is a relaxed atomic. */
struct filemaker_progress {
	_Atomic uint64_t files_done, bytes_done; /* including files that were present */
	_Atomic uint64_t files_total, bytes_total;
	struct stop stop;      /* stops the job in every phase */
	struct pool_view pool; /* the pool at work */
	const char *name;      /* name of the job */
};

/*
 * State that the workers of a dataset's or a plain job's preparation share. The caller must count
 * the missing files, and count them again once it holds the directory's lock, so that a stopped run
 * is resumed and no file is made twice. struct newfile_kind says how a file is made.
 */
struct filemaker {
	const struct newfile_kind *kind;
	struct filemaker_progress *progress;
	struct pool_config pool; /* the caller sets engine, engine_opts and clock */
	uint64_t start_ns;
	/* Counted by the caller before filemaker_begin. All counters are relaxed. */
	_Atomic uint64_t present_files, present_bytes;
	_Atomic uint64_t missing_files, missing_bytes;
	/* Complete, renamed files; and bytes known to be on the device. */
	_Atomic uint64_t made_files, made_bytes, synced_bytes;
};

/* Complete m->pool: an engine that can write, and buffers for the largest file. */
void filemaker_init(struct filemaker *m, uint64_t largest_file_bytes);

/* Start the progress counters and the time of the work. */
void filemaker_begin(struct filemaker *m);

/*
 * Run the task in a pool, and call `announce` once the duration can be estimated: when bytes have
 * reached the device, but not within the first second, which caches make fast. `announce` is called
 * when the task ends or after 5 s, at the latest.
 */
int filemaker_run(struct filemaker *m, const struct pool_task *task,
		  void (*announce)(const void *arg, const char *time), const void *arg,
		  struct mlgen_err *err);

/* Format "about 41 s, estimate"; "in 12.23 ms" when all bytes are synced; "time unknown" within the
 * first second, or while no byte is synced. */
#define FILEMAKER_TIME_BYTES 64
void filemaker_time(char out[FILEMAKER_TIME_BYTES], uint64_t seen_ns, uint64_t synced_bytes,
		    uint64_t all_bytes);

/* Is there room for the missing bytes? Half of the free space may be used, or all of it with
 * allow_fill. */
struct filemaker_room {
	const char *path;
	const char *purpose; /* "to write" */
	uint64_t missing_bytes, free_bytes;
	bool allow_fill;
	const char *way_out;
	const char *or_fill; /* printed after way_out where --allow_fill would help */
};
uint64_t filemaker_usable(uint64_t free_bytes, bool allow_fill);
int filemaker_check_room(const struct filemaker_room *room,
			 struct mlgen_err *err); /* 0, or -ENOSPC with err */

/* May files be made at `path`, or in its nearest existing parent? For the message, `what` is "4
 * files", and `option` names the place. 0, or -ENOTDIR, -EROFS or -EACCES with err. */
int filemaker_check_writable(const char *path, const char *what, const char *option,
			     struct mlgen_err *err);

/* Sync a folder, so that the names in it reach the device. 0 or -errno with err; the error
 * `excused` (-ENOENT) of a folder that cannot be opened counts as 0. */
int filemaker_sync_folder(const char *path, int excused, struct mlgen_err *err);

/* ---- new files: written under a temporary name, renamed when complete ---- */

/*
 * A file that one worker writes. The struct lives on the worker's stack. A file with its final name
 * is complete and on the device: it is created under a temporary name, filled from a source, synced
 * and renamed. While it grows it is synced and dropped from the page cache every 16 MiB. This
 * bounds the file's share of the cache and the wait after a SIGINT, and makes the first reader read
 * from storage. Several workers may each fill a piece of one file.
 *
 * Functions return 0, POOL_STOPPED, or -errno with err, which names the file by its final name.
 */
struct newfile {
	struct filemaker *maker;
	struct pool_worker *w;
	const char *path;       /* final path; the caller's */
	uint64_t bytes;         /* size of the complete file */
	struct mlgen_file file; /* under its temporary name */
	bool is_piece;          /* other workers write other pieces of it */
	uint64_t end, unsynced; /* offset of the next write; bytes before this offset that are not
				   synced */
};

/* Differences between the files of datasets, of plain jobs and of replays. */
struct newfile_kind {
	const char *suffix; /* suffix of temporary names */
	bool replaces;      /* true: the new file replaces an existing one; false: the existing file
			       stays */
	/*
	 * Produce the next chunk of the content, at most `size` bytes: 1, 0 after the last chunk,
	 * or -errno with err. A chunk that does not begin where the last one ended (a header that
	 * is written again) is written, but not counted.
	 */
	int (*next)(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
		    struct mlgen_err *err);
	/* Format the advice after ENOSPC: what needs the `left` bytes, and a remedy. */
	void (*format_no_room)(const struct newfile *x, const char *left, char *out, size_t size);
};

/* The temporary path of NAME: ".NAME" and the suffix in the same folder. 0, or -ENAMETOOLONG. */
int newfile_temporary(char out[PATH_MAX], const char *path, const struct newfile_kind *kind);

/* Report that `what` failed; after ENOSPC or EDQUOT, the message also says how many bytes are still
 * to be written. Returns `code`. */
int newfile_failed(const struct newfile *x, const char *what, int code, struct mlgen_err *err);

/* Write `len` bytes of the worker's buffer at `off`. */
int newfile_write(struct newfile *x, uint64_t off, size_t len, struct mlgen_err *err);

/* Write everything that kind->next produces from `source`, starting at x->end. */
int newfile_fill(struct newfile *x, void *source, struct mlgen_err *err);

/* Close the file, even after an error, which the caller passes as `so_far`. If `is_whole` and there
 * was no error, the file is synced before, and renamed and counted as made afterwards. */
int newfile_end(struct newfile *x, int so_far, bool is_whole, struct mlgen_err *err);

/* ---- new directories: may one be made and filled, or is a filesystem not mounted? ---- */

/* Format how a message about a directory begins: "FILE:LINE: OPTION: PATH of job 'NAME'", without
 * FILE and LINE if no job file sets the option. Returns to->text. */
struct newdir_place {
	char text[PATH_MAX + 512];
};
const char *newdir_format_place(struct newdir_place *to, const struct job *j, const char *option,
				const char *path);

/*
 * Refuse a directory whose filesystem is not mounted: the directory is then empty or missing, and a
 * run would measure the disk below. Only the last folder of an absolute path is made, and an empty
 * directory for which fstab has a filesystem is not filled. All folders of a relative path are
 * made. `path` is the value of the option or follows from it. 0, or -ENOENT with err, which names
 * the job and the place of the option.
 */
int newdir_check(const struct job *j, const char *option, const char *path, struct mlgen_err *err);

/* ---- the directory of a dataset, while files in it are made and removed ---- */

/*
 * The directory is held open (files.h) while the workers run. A worker holds the folder that it
 * works in, and opens the next one from the directory down, through no symbolic link.
 */
struct datadir {
	const char *path; /* the caller's */
	int fd;
	uid_t maker; /* owner of files that are made in it */
};

/* 0 or -errno with err. */
int datadir_open(struct datadir *d, const char *path, uid_t maker, struct mlgen_err *err);
void datadir_close(struct datadir *d); /* call once, if datadir_open returned 0 */

/* Open the folder of w->path as w->folder_fd; make folders that are missing. 0 or -errno with err:
 * -ELOOP for a symbolic link. */
int datadir_make(const struct datadir *d, struct pool_worker *w, struct mlgen_err *err);

/*
 * Refuse to write or remove in a folder whose path leads through a symbolic link or a non-folder.
 * `folder_fd` is the result of below_folder for `path`. Returns 0 if it is -ENOENT or a descriptor,
 * which stays open.
 */
int datadir_check_folder(int folder_fd, const char *path, struct mlgen_err *err);

/* May files in this folder that a manifest lists be removed? 0, or -EPERM with err: the folder
 * belongs to somebody else. `path` is for the message. */
int datadir_check_owner(const struct datadir *d, int folder_fd, const char *path,
			struct mlgen_err *err);

/* ---- the files of a dataset: check, write and remove one ---- */

/*
 * State that the workers of one dataset share. File indexes run through both sets: training files,
 * then evaluation files.
 */
struct datafiles {
	const struct dataset *sets[2]; /* the second may be NULL */
	struct datadir dir;            /* needed to write or remove, not to look */
	/* A manifest says that mlgen wrote the files that exist. */
	bool ours[2];
	bool looks_inside; /* datafile_look checks first bytes, too */
};

/* Dataset files; .NAME.part until they are complete. */
extern const struct newfile_kind datafile_kind;

uint64_t datafiles_count(const struct datafiles *d);

/* Return the set that a file is in, and change *index to the file's index within that set. */
unsigned datafiles_set(const struct datafiles *d, uint64_t *index);

/* The path of a file: 0, or -errno with err. */
int datafile_path(const struct datafiles *d, uint64_t index, char path[PATH_MAX],
		  struct mlgen_err *err);

/* Report "PATH: OPERATION: strerror"; returns `code`. */
int datafile_failed(const char *path, enum mlgen_op op, int code, struct mlgen_err *err);

/*
 * Does the file exist with its full size? Returns 1 if it does; 0 if it is missing, or is ours and
 * has another size (with d->looks_inside, or other first bytes than its format's); -EEXIST if it is
 * not ours. Leaves its path in w->path.
 */
int datafile_look(const struct datafiles *d, struct pool_worker *w, uint64_t index,
		  struct mlgen_err *err);

/*
 * Check a file of a complete dataset before the dataset is trusted: can it be read, and does it
 * have the right size and the first bytes of its format (-EILSEQ if not)? Each error suggests a
 * remedy. Leaves the page cache as it was.
 */
int datafile_check(const struct datafiles *d, struct pool_worker *w, uint64_t index,
		   struct mlgen_err *err);

/*
 * Write a file, and make its folder; a file that datafile_look found is replaced. Leaves nothing on
 * failure. 0, POOL_STOPPED, or -errno.
 */
int datafile_write(const struct datafiles *d, struct filemaker *maker, struct pool_worker *w,
		   uint64_t index, struct mlgen_err *err);

/* ---- remove a dataset that its manifest describes, and nothing else ---- */

/* Count the bytes of the dataset that exist. 0 or -errno with err. */
int dataremove_bytes(const char *directory, uint64_t *bytes, struct mlgen_err *err);

/*
 * Remove the files of the dataset, including evaluation files, then its folders unless they hold
 * other files, then the manifest. If stopped half-way, the manifest still describes the rest.
 * *started is set once files may be gone. 0, POOL_STOPPED, or -errno with err: before any removal,
 * -EPERM for a folder whose owner is not trusted, or -ELOOP for a symbolic link.
 */
int dataremove_all(const struct pool_config *pool, const struct datadir *dir, bool *started,
		   struct mlgen_err *err);

/* ---- directory locks: one process at a time changes a dataset directory ---- */

#define DIRLOCK_NAME ".mlgen-dataset.lock"

/* A flock on a file in the directory, which exists only while the lock is held. The kernel drops
 * the lock with the process, however that ends. */
struct dirlock {
	bool is_held;
	int dir_fd, fd; /* the directory (files.h), the file */
	uid_t maker;    /* owner of files that are made there (files.h) */
};

/* 0, -EBUSY when another mlgen is at work there, or another -errno. */
int dirlock_acquire(struct dirlock *l, const char *directory, struct mlgen_err *err);
/* Lock a directory that the caller holds open; its path is for messages. */
int dirlock_acquire_at(struct dirlock *l, int dir_fd, const char *directory, struct mlgen_err *err);
void dirlock_drop(struct dirlock *l); /* accepts a zeroed struct */

/* ---- prepare a dataset: write its missing files, before any clock starts ---- */

struct prepare_result {
	uint64_t files_written, bytes_written;
	uint64_t files_kept;
	uint64_t wall_ns;
	/* Share of the dataset in this host's page cache afterwards, from a sample of up to 256
	 * files; NaN = unknown. */
	double resident_percent;
	uint64_t resident_files;  /* files of that sample */
	bool is_nothing_resident; /* a complete sample found no page */
	bool interrupted;
};

struct prepare_request {
	const char *job_name;
	struct dataset *dataset;
	struct dataset *eval; /* evaluation files; NULL or no files = none */
	bool check_all;       /* phase=prepare: look at every file even when complete,
			       * and leave none in the page cache */
	bool readonly, allow_fill, replace;
	bool thorough;        /* look at all files where a sample would do */
	uint64_t first_files; /* number of files that are read; 0 = all */
	bool forgiving;       /* reads of missing files may fail, and are counted */
	/* The processes of one job, which share a directory: each makes its share of the files.
	 * NULL = this process alone. */
	struct hosts *hosts;
	const struct traced *traced;       /* NULL = there is no trace */
	const struct mlgen_engine *engine; /* MLGEN_CAP_NO_FILES: nothing is prepared */
	const void *engine_opts;           /* the engine's options in the job */
	struct clock *clock;
	struct filemaker_progress *progress;
};

/*
 * Complete one dataset and its evaluation files:
 *  - Read the manifest. Before the first byte is written, refuse a mismatch (-EINVAL), use of more
 *    than half of the free space without allow_fill (-ENOSPC), missing files with readonly
 *    (-EROFS) and a directory that is not writable (-EROFS, -EACCES). err->code has the same code.
 *  - Print one line on stderr: how much is written, where, and for how long.
 *  - Write the missing files in parallel; each is synced, dropped from the page cache and renamed.
 *    There are as many workers as pool_writers says.
 *  - Mark the manifest complete.
 * The calling thread must have joined the clock. When progress->stop is set: POOL_STOPPED; the next
 * run resumes the dataset.
 *
 * A complete dataset is trusted, except for its first file: it is an error if this file is missing,
 * unreadable, short, long, or does not begin as its format does. A sample of the other files is
 * checked by name, unless the job is `forgiving`. With check_all, or if the dataset is incomplete,
 * wrong first bytes in the first file cause a check of all files, and wrong files are rewritten. A
 * scanned dataset is neither checked nor written.
 *
 * With check_all, or if files were written, all files are dropped from the page cache, including
 * those that were kept, if a sample finds any of their pages there. A training job that writes
 * nothing leaves this to invalidate=.
 *
 * Files of an incomplete or repaired dataset that have the wrong size are replaced. A file in the
 * way is an error if no manifest says that mlgen wrote it. One process at a time works in a
 * directory (-EBUSY).
 *
 * With req->hosts, all processes must call this together: rank 0 looks, refuses, locks the
 * directory and writes the manifest; each process writes the missing files with number % processes
 * = its rank. A failure of one process is a failure of all.
 *
 * *started is set once the first byte was written (exit status 1 instead of 2).
 */
int prepare_dataset(const struct prepare_request *req, struct prepare_result *result, bool *started,
		    struct mlgen_err *err);

/*
 * Dry run, which changes nothing: would prepare_dataset refuse the files that exist? The dataset
 * may be incomplete. prepare_rules and data/dataset/dataset.h check the missing files and their
 * directory. 0, or -errno with err.
 */
int prepare_ask(const struct prepare_request *req, struct mlgen_err *err);

/* ---- is there room for the files of a dataset, and may they be written ---- */

/* Files to write and files that exist, including evaluation files. */
struct prepare_need {
	const struct dataset *dataset;
	bool readonly, allow_fill;
	uint64_t missing_files, missing_bytes;
	uint64_t present_files, present_bytes;
	uint64_t eval_bytes;  /* sum of all evaluation files */
	uint64_t freed_bytes; /* the removal of an old dataset frees them */
};

/*
 * Rules that must hold before the first file is written, like struct rule (run/slot/slot.h). A run
 * and a dry run check them after they have looked at the directory. If no file is missing, all
 * rules hold.
 */
struct prepare_rule {
	const char *name; /* NULL ends the list */
	int (*ask)(const struct prepare_need *n, struct mlgen_err *err);
};
extern const struct prepare_rule prepare_rules[];

/* ---- is a directory the same one on all hosts of a job? ---- */

/*
 * All processes must call this together, on the main thread or the conductor. Rank 0 writes a file
 * with a random token into the directory, or into its nearest existing parent, and the other
 * processes must read that token under that name. They retry for 10 s, since caches of attributes
 * and names hold that long. (acregmax, 60 s, of NFS is for known files; a name never looked up is
 * not cached.) If rank 0 may not write, inode number and change time of the directory are compared.
 * The file is removed.
 *
 * `otherwise` is advice in addition to naming another directory. 0 if all see the same directory,
 * or -EXDEV with err in all processes, which names the host that does not. With one host nothing is
 * done.
 */
int shareddir_check(struct hosts *h, const char *directory, const char *otherwise,
		    struct mlgen_err *err);

/* ---- how much of a dataset is in this host's page cache, by a sample ---- */

/* Maximum number of files in a sample. They are chosen at random. */
#define RESIDENCY_FILES 256

struct residency {
	uint64_t files;       /* number of files in the sample */
	double percent;       /* resident share of their bytes; NaN = unknown */
	uint64_t failed_file; /* a file that could not be sampled; UINT64_MAX = none */
	bool is_nothing;      /* the sample is complete and found no page */
};

/* Sample until deadline_ns; CLOCK_NEVER = the complete sample. */
void residency_sample(struct residency *r, const struct dataset *ds, const struct clock *clock,
		      uint64_t deadline_ns);

/* Look at a random selection of the dataset's pages; true if none of them is in memory. Stops at
 * the first page found. Each `round` selects other pages. False if the check cannot be completed.
 */
bool residency_is_nothing(const struct dataset *ds, uint64_t round, const struct clock *clock,
			  uint64_t deadline_ns);
