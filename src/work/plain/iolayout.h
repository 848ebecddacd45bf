/* SPDX-License-Identifier: Apache-2.0 */
/* iolayout.h - make the files of a plain job that are missing. */
#pragma once

#include "base/clock.h"
#include "run/make/make.h"
#include "work/plain/iofiles.h"

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
