/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_given.h - the files that one process of a job has found, for the others. */
#pragma once

#include "data/file/file.h"
#include "hosts/relay.h"

/*
 * What a process need not look for: of one dataset, the train or the evaluation part. Who takes it
 * lists nothing.
 */
struct dataset_given {
	bool is_found; /* there are files; else a dataset is to be made */
	const struct format *format;
	unsigned parts;
	char *directory;       /* owned */
	struct scan *scan;     /* owned, until it is taken */
	struct found *found;   /* the same; NULL = nothing was looked into */
	struct labels *labels; /* the same; NULL = no labels */
};

/* As dataset_init and dataset_init_eval, of what is given; NULL: this process looks for itself. */
int dataset_given_init(struct dataset *ds, const struct job *job, uint64_t memory_bytes,
		       struct dataset_given *given, struct mlgen_err *err);
int dataset_given_init_eval(struct dataset *eval, const struct dataset *train,
			    const struct job *job, struct dataset_given *given,
			    struct mlgen_err *err);

/* Of a dataset that is set up, or of none (ds->format NULL): 0 or -errno with err. */
int dataset_give(const struct dataset *ds, struct relay *to, struct mlgen_err *err);

/* The same on the other side; `beside` as of namefile_open. Fini in any case. */
int dataset_given_take(struct dataset_given *g, const char *beside, struct relay *from,
		       struct mlgen_err *err);
void dataset_given_fini(struct dataset_given *g); /* takes a zeroed one */
