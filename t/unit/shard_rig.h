/* SPDX-License-Identifier: Apache-2.0 */
/* shard_rig.h - a job's checkpoint files, from a line of options. */
#pragma once

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/state/state.h"
#include "data/state/state_internal.h"
#include "temp.h"
#include "work/workloads.h"

#define RIG_SPAN 8192u
#define RIG_SEED 11

struct shard_rig {
	struct job *job;
	struct state state;
	struct content *content;
	struct shard_set set;
	char list[TEMP_BYTES]; /* a tensor_sizes file, unless empty */
};

static inline void rig_set(struct job *j, const char *name, const char *value)
{
	ck_assert_msg(field_parse(field_find(job_fields, name), j, value, (unsigned)j->kb_base,
				  NULL) == 0,
		      "%s=%s", name, value);
}

/* "NAME=VALUE NAME=VALUE". */
static inline void rig_options(struct job *j, const char *options)
{
	char name[64] = "", value[200] = "";

	for (int used = 0; *options; options += strspn(options, " ")) {
		ck_assert_int_eq(sscanf(options, " %63[^=]=%199[^ ]%n", name, value, &used), 2);
		rig_set(j, name, value);
		options += used;
	}
}

/* Until rig_close(); `span` is that of the content. */
static inline void rig_open_span(struct shard_rig *r, const char *options, uint64_t span)
{
	struct mlgen_err err = { 0 };

	r->job = job_new("x");
	r->job->phase = PHASE_CHECKPOINT;
	r->job->randseed = RIG_SEED;
	rig_options(r->job, options);
	if (r->list[0])
		rig_set(r->job, "tensor_sizes", r->list);
	ck_assert_msg(state_init(&r->state, r->job, &err) == 0, "%s", err.text);
	r->content = content_new(span, RIG_SEED);
	r->set = (struct shard_set){
		.state = &r->state,
		.layout = layout_of(r->job),
		.content = r->content,
		.is_plain = r->job->access == ACCESS_PLAIN,
		.bs = span,
	};
}

static inline void rig_open(struct shard_rig *r, const char *options)
{
	r->list[0] = '\0';
	rig_open_span(r, options, RIG_SPAN);
}

/* With the lines "NAME BYTES" in `text` as its tensors. */
static inline void rig_open_list(struct shard_rig *r, const char *options, const char *text,
				 uint64_t span)
{
	FILE *f;
	int fd;

	fd = temp_file(r->list);
	f = fdopen(fd, "w");
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
	rig_open_span(r, options, span);
	unlink(r->list);
}

static inline void rig_close(struct shard_rig *r)
{
	content_free(r->content);
	state_fini(&r->state);
	job_free(r->job);
}

/* All of a file, to be freed. */
static inline uint8_t *rig_whole(const struct shard *f)
{
	struct shard_piece p = { 0 };
	uint8_t *bytes = mem_zalloc(f->bytes);

	shard_copy(f, &p, 0, bytes, f->bytes);
	return bytes;
}
