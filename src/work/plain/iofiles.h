/* SPDX-License-Identifier: Apache-2.0 */
/* iofiles.h - the files of a plain job: which, how large, may they be written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

#include "base/vec.h"
#include "data/pattern/pattern.h"
#include "io/blockdev.h"
#include "job/job.h"

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
