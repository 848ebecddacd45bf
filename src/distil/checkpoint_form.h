/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_form.h - which layout and state give the files that a trace saves, and their calls. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "distil/checkpoint_model.h"
#include "distil/checkpoint_tensors.h"
#include "distil/saves.h"

/* What access of the section may be. */
enum form_access {
	FORM_ANY,       /* it is the checkpoint's own to say */
	FORM_PLAIN,     /* access=plain */
	FORM_FRAMEWORK, /* any other */
};

struct checkpoint_form {
	bool is_plain; /* access=plain, requests of bs */
	uint64_t bs;   /* of one that is */
	enum job_layout layout;
	enum job_pattern pattern;
	uint64_t size_bytes;             /* checkpoint_size; 0 = other options say it */
	struct checkpoint_model model;   /* name NULL = it is none */
	struct tensor_list tensors;      /* count 0 = it is none */
	char archive[JOB_ARCHIVE_BYTES]; /* checkpoint_archive; "" = none */
	enum distil_sure sure;           /* of the layout */
	bool has_calls;                  /* all calls are as the layout makes them */
	const char *why;                 /* static; what says so */
	/* Who saves. */
	const struct saved_file *like; /* the file it was made from */
	uint32_t files;                /* of the first checkpoint */
	uint32_t *ranks;               /* owned, ascending */
	uint32_t rank_count;
	bool has_rank_names; /* files say whose they are */
	bool has_zero_names; /* as DeepSpeed's ZeRO does */
	uint32_t unlike;     /* files of other bytes, where there is no model */
	uint32_t threads;    /* of a rank */
};

/* Of at least one checkpoint. */
void checkpoint_form_find(struct checkpoint_form *f, const struct saves *s, const struct distil *d,
			  enum form_access access);
void checkpoint_form_fini(struct checkpoint_form *f);
