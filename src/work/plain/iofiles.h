/* SPDX-License-Identifier: Apache-2.0 */
/* iofiles.h - the files of a plain job: which, how large, may they be written. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/clock.h"
#include "base/vec.h"
#include "data/pattern/pattern.h"
#include "io/devices.h"
#include "job/job.h"
#include "run/make/make.h"

enum iofile_kind { IOFILE_REGULAR, IOFILE_BLOCK, IOFILE_CHAR };

struct iofile {
	char *path;
	enum iofile_kind kind;
	bool is_missing; /* made before the run */
	dev_t device;    /* of IOFILE_BLOCK */
	uint64_t bytes;  /* its size, or the size it is made with */
	struct pattern_region region;
};

/*
 * With filename= all workers share the files named there, else each has one of its own,
 * directory/$jobname.$jobnum.0. Owned here.
 */
struct iofiles {
	struct iofile *files;
	size_t count;
	bool is_shared;
	uint64_t missing_files, missing_bytes;
	/* For mount_read: the folder of the first file, or the device that it is; "" where no file
	 * is touched. */
	char *directory;
	/* Block devices that are written: held exclusively until fini, so that nobody can mount
	 * them meanwhile. */
	struct blockdev_guards own_guards, *guards;
	VEC(dev_t) held;
};

struct iofiles_request {
	const struct job *job;
	bool readonly, allow_fill;
	const char *allow_device; /* settings.allow_device */
	/* Of all jobs of a run, so that two may write one device; NULL: this job's alone. It
	 * outlives the iofiles. */
	struct blockdev_guards *guards;
};

/*
 * Look at what is there, change nothing: 0, or -errno with err for what must not be (readonly, a
 * block device that is not allowed or in use, no size for a file that is missing, a file too small
 * that may not be extended, a directory, a device that is neither null nor zero nor full, ...). An
 * engine that touches no files gets regions from size= alone. iofiles_fini takes a failed or zeroed
 * one, and comes before the next init.
 *
 * size= is the total of a job, so each of its files has its part; filesize= is each file's. With
 * both, regions are what filesize= and offset= leave and size= is a limit of what all of them move,
 * which is the pattern's.
 */
int iofiles_init(struct iofiles *f, const struct iofiles_request *req, struct mlgen_err *err);
void iofiles_fini(struct iofiles *f);

/* The files of one worker, from 0; their number. */
const struct iofile *iofiles_of(const struct iofiles *f, uint64_t worker, size_t *count);

uint64_t iofiles_largest_missing(const struct iofiles *f); /* bytes */

/* What a path lies in: "." for a lone name. To be freed. */
char *iofiles_folder(const char *path);

/* ---- the names of a plain job's files, where fio has them ---- */

/*
 * filename= is a list with ':' between its entries, '\:' for a colon in a name; relative names lie
 * in directory=. Without it each of numjobs has $jobname.$jobnum.0 there; a '/' in the name of a
 * job is a folder. A job that has the path of a device for its name is about that device.
 */
struct ionames {
	VEC(char *) paths;
	bool is_shared; /* by all of numjobs */
};

/* 0, or -EINVAL with err. */
int ionames_init(struct ionames *n, const struct job *job, struct mlgen_err *err);
void ionames_fini(struct ionames *n); /* takes a zeroed or failed one */

/* directory=, NULL where the job has none. To be freed. */
char *ionames_directory(const struct job *job);

/* ---- one file on its way to be laid out: made, filled in pieces, given its name ---- */

/* As they are made; .NAME.mlgen-part until then. */
extern const struct newfile_kind iopart_kind;

/* ---- what a file that is laid out has in it: bytes that no storage can compress, or only space
 * ---- */

/* As a newfile_kind has it. */
int iocontent_next(void *source, void *buf, size_t size, uint64_t *off, size_t *len,
		   struct mlgen_err *err);

/* All of a file, as newfile_fill. Files of other names have other content, the same name the
 * same. */
int iocontent_fill(struct newfile *x, struct mlgen_err *err);

/* A large file is written in pieces, by several workers at the same time. */
uint64_t iocontent_pieces(uint64_t file_bytes);
int iocontent_fill_piece(struct newfile *x, uint64_t piece, struct mlgen_err *err);

/*
 * Its space, of a file that has some bytes. Where the filesystem cannot give any, a file without
 * content ends with a byte at its end, so that it has its size all the same. 0 or -errno with err.
 */
int iocontent_allocate(struct newfile *x, bool has_content, struct mlgen_err *err);

/* ---- make the files of a plain job that are missing ---- */

struct iolayout {
	const struct iofiles_request *req;
	struct clock *clock;
	struct filemaker_progress *progress;
	uint64_t made_files, made_bytes; /* out */
	bool started;                    /* out: something was made */
};

/* May what is missing be written where it goes, and is there room? Changes nothing; a run asks it
 * before any job has made something, and again behind those. 0, or -errno with err. */
int iolayout_check_writable(struct iofiles *f, const struct iofiles_request *req,
			    struct mlgen_err *err);
int iolayout_check_room(struct iofiles *f, const struct iofiles_request *req,
			struct mlgen_err *err);

/*
 * Says on stderr how much and where, checks the space, writes in parallel through the job's engine.
 * Each file is made whole under a temporary name, .NAME.mlgen-part beside it, and then gets its
 * name; never in the place of a file that is there. Jobs that read get content, synced and dropped
 * from the page cache; those that only write get space (fallocate where the filesystem can). Large
 * files are written in pieces, by several workers at the same time.
 *
 * A killed run leaves temporary files, which the next one removes; one that fails or is stopped
 * leaves whole files and nothing else. 0 or -errno with err; CREW_STOPPED with progress->stop. The
 * calling thread has joined the clock.
 */
int iolayout_run(struct iofiles *f, struct iolayout *l, struct mlgen_err *err);
