/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_inside.h - what the files of prepare.c share: a dataset that is being prepared, by one
 * process or several. */
#pragma once

#include "data/dataset/dataset.h"
#include "run/datafile.h"
#include "run/dirlock.h"
#include "run/prepare.h"

struct prepare {
	const struct prepare_request *req;
	struct dataset *ds, *eval; /* eval NULL: none */
	enum manifest_state state, eval_state;
	bool replacing;  /* a dataset made otherwise is to go first */
	bool is_fresh;   /* there is no folder of it: nothing to look at */
	bool trusted[2]; /* of files.sets */
	struct dirlock lock;
	struct datafiles files;
	struct filemaker maker; /* of what the survey finds */
	/* That were missing, for all processes. */
	uint64_t missing_files, missing_bytes;
	bool has_told; /* the others: there is something to write */
};

/* Of a dataset; 0 of NULL. */
uint64_t prepare_bytes_of(const struct dataset *ds);
/* Nothing is there. */
void prepare_all_missing(struct prepare *p);

/* Rank 0, which holds the directory: all processes write what is missing, and this gives back when
 * they have. 0, CREW_STOPPED, or -errno with err. */
int prepare_write(struct prepare *p, struct mlgen_err *err);
/* Rank 0 says what it has found; a process alone says it to nobody. */
int prepare_tell(struct prepare *p, bool writes, struct mlgen_err *err);
/* The others: as they are told; the same. */
int prepare_take_part(struct prepare *p, bool *started, struct mlgen_err *err);
/* What one has failed in, or was stopped in, is so for all. */
int prepare_end_together(const struct prepare *p, int r, struct mlgen_err *err);
