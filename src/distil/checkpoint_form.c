/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_form.c - see checkpoint_form.h. */
#include "distil/checkpoint_form.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

enum {
	BLOCK_BYTES = 4096, /* bs of a checkpoint is a multiple of it */
	BS_DEFAULT = 1 << 20,
	STREAM_BYTES = 32 << 20,
};

struct forming {
	struct checkpoint_form *f;
	const struct saves *s;
	const struct distil *d;
	enum form_access access;
	struct trial trial;
	uint64_t rank;  /* whose file `like` is */
	uint64_t bytes; /* of it, or of all of a rank that has several */
	bool is_one;    /* the rank has this file alone */
	char *path;     /* of `like`; owned */
};

/* ---- who saves ---- */

static uint32_t make_unique(uint32_t *list, uint32_t n)
{
	uint32_t kept = 0;

	qsort(list, n, sizeof(*list), u32_compare);
	for (uint32_t i = 0; i < n; i++)
		if (kept == 0 || list[kept - 1] != list[i])
			list[kept++] = list[i];
	return kept;
}

/* By names; else those who write are ranks. */
static void find_ranks(struct forming *g)
{
	struct checkpoint_form *f = g->f;
	uint32_t *tasks = mem_array((size_t)g->s->files.count + 1, sizeof(*tasks));
	uint32_t task_count;

	f->ranks = mem_array((size_t)g->s->files.count + 1, sizeof(*f->ranks));
	f->has_rank_names = true;
	for (uint32_t i = 0; i < g->s->files.count; i++) {
		const struct saved_file *file = &g->s->files.at[i];

		if (file->save != 0)
			continue;
		tasks[f->files] = file->task;
		f->ranks[f->files] = saves_rank_of(distil_path(g->d, file->file));
		f->has_rank_names &= f->ranks[f->files] != UINT32_MAX;
		f->files++;
	}
	task_count = make_unique(tasks, f->files);
	f->rank_count = make_unique(f->ranks, f->files);
	if (!f->has_rank_names) {
		f->rank_count = task_count;
		for (uint32_t i = 0; i < task_count; i++)
			f->ranks[i] = i;
	}
	f->threads = (uint32_t)u64_max(1, task_count / u64_max(1, f->rank_count));
	mem_free(tasks);
}

/* The most frequent kind of file, by its calls; of equal ones the first. */
static void find_like(struct forming *g)
{
	const struct saves *s = g->s;
	uint32_t most = 0;

	for (uint32_t i = 0; i < s->files.count; i++) {
		const struct saved_file *a = &s->files.at[i];
		uint32_t n = 0;

		if (a->save != 0 || !a->calls.count)
			continue;
		for (uint32_t k = 0; k < s->files.count; k++)
			n += s->files.at[k].save == 0 && s->files.at[k].bytes == a->bytes;
		if (n > most || !g->f->like) {
			g->f->like = a;
			most = n;
		}
	}
}

static void find_bytes(struct forming *g)
{
	const struct saved_file *like = g->f->like;
	uint64_t all = 0;

	for (uint32_t i = 0; i < g->s->files.count; i++)
		if (g->s->files.at[i].save == 0)
			all += g->s->files.at[i].bytes;
	g->path = mem_strdup(distil_path(g->d, like->file));
	g->is_one = g->f->files <= g->f->rank_count;
	g->bytes = g->is_one ? like->bytes : all / g->f->rank_count;
	g->rank = g->f->has_rank_names ? saves_rank_of(g->path) : 0;
	for (uint32_t i = 0; i < g->s->files.count; i++)
		g->f->unlike += g->is_one && g->s->files.at[i].save == 0 &&
				g->s->files.at[i].bytes != like->bytes;
}

/* ---- layouts, by their calls ---- */

static bool open_as(struct forming *g, enum job_layout layout)
{
	struct job *j = g->trial.job;

	j->checkpoint_layout = (int)layout;
	j->ranks = u64_max(g->rank + 1, g->f->rank_count);
	j->access = ACCESS_FRAMEWORK;
	j->checkpoint_size_bytes = g->bytes;
	return trial_open(&g->trial);
}

static void found(struct forming *g, enum job_layout layout, enum distil_sure sure, const char *why)
{
	g->f->layout = layout;
	g->f->size_bytes = g->trial.job->checkpoint_size_bytes;
	g->f->sure = sure;
	g->f->why = why;
}

static bool is_in_requests(const struct saved_file *f)
{
	return f->writes == 1 ||
	       (f->first_bytes == f->most_bytes && f->most_bytes % BLOCK_BYTES == 0 &&
		f->writes == divide_up(f->bytes, f->most_bytes));
}

static bool is_stream(struct forming *g)
{
	const struct saved_file *like = g->f->like;

	if (!like->is_dropped && g->access == FORM_ANY)
		return false;
	if (!open_as(g, LAYOUT_STREAM) || !trial_writes(&g->trial, g->rank, like))
		return false;
	found(g, LAYOUT_STREAM, like->is_dropped ? DISTIL_SURE : DISTIL_LIKELY,
	      "its calls, all of them, are those of this layout");
	g->f->has_calls = true;
	return true;
}

/* Every other write is of one size, and so is the layout's. */
static bool alternates(struct forming *g)
{
	const struct saved_file *like = g->f->like;
	struct shard_write w = { 0 };
	struct shard shard;

	if (like->calls.count < 4)
		return false;
	shard_init(&shard, &g->trial.set, g->rank, 0, 0);
	if (!shard_write_next(&shard, &w))
		return false;
	for (uint32_t i = 0; i + 1 < like->calls.count; i += 2)
		if (like->calls.at[i].bytes != w.bytes)
			return false;
	return like->calls.at[1].bytes > w.bytes;
}

static bool is_pattern(struct forming *g)
{
	struct checkpoint_form *f = g->f;

	for (int p = PATTERN_UNET3D; p <= PATTERN_DLRM; p++) {
		bool is_same;

		g->trial.job->checkpoint_pattern = p;
		if (!open_as(g, LAYOUT_PATTERN) || !trial_bytes(&g->trial, g->rank, 0))
			continue;
		is_same = trial_writes(&g->trial, g->rank, f->like);
		if (f->like->calls.count < 3 || (!is_same && !alternates(g)))
			continue;
		f->pattern = (enum job_pattern)p;
		f->has_calls = is_same;
		found(g, LAYOUT_PATTERN, is_same ? DISTIL_SURE : DISTIL_LIKELY,
		      is_same ? "its calls, all of them, are those of this layout"
			      : "every other write is as long as in this pattern");
		return true;
	}
	return false;
}

/* One tensor in an archive of torch.save. */
static bool is_one_tensor(struct forming *g, enum job_layout layout)
{
	if (g->f->like->writes < 2 || !open_as(g, layout) ||
	    !trial_fit_size(&g->trial, g->rank, g->bytes, g->f->like))
		return false;
	found(g, layout, DISTIL_SURE,
	      "its calls, all of them, are those of this layout with one tensor");
	g->f->has_calls = true;
	return true;
}

/* ---- of other calls ---- */

/* torch.save calls the archive as its file, without the suffix. */
static void name_archive(struct forming *g)
{
	const char *slash = strrchr(g->path, '/');
	const char *name = slash ? slash + 1 : g->path;
	const char *dot = strrchr(name, '.');
	size_t length = dot ? (size_t)(dot - name) : strlen(name);
	char own[JOB_ARCHIVE_BYTES];

	snprintf(own, sizeof(own), "rank_%" PRIu64, g->rank);
	snprintf(g->f->archive, sizeof(g->f->archive), "%.*s", (int)length, name);
	if (length >= JOB_ARCHIVE_BYTES || strcmp(g->f->archive, own) == 0 ||
	    !job_is_archive(g->f->archive))
		g->f->archive[0] = '\0';
	mem_replace(&g->trial.job->checkpoint_archive, g->f->archive);
}

static bool is_archive(struct forming *g)
{
	bool is_file;

	if (!tensors_are_torch(g->f->like, &is_file) ||
	    !open_as(g, is_file ? LAYOUT_DEEPSPEED : LAYOUT_TORCH))
		return false;
	if (!is_file)
		name_archive(g);
	if (!tensors_find(&g->f->tensors, &g->trial, g->rank, g->f->like, true)) {
		tensor_list_fini(&g->f->tensors);
		g->f->archive[0] = '\0';
		mem_replace(&g->trial.job->checkpoint_archive, NULL);
		return false;
	}
	found(g, is_file ? LAYOUT_DEEPSPEED : LAYOUT_TORCH, DISTIL_LIKELY,
	      is_file ? "long writes begin at multiples of 64, short ones are between them, as "
			"torch.save to an open file does"
		      : "writes are one behind the other and differ, as tensors with their headers "
			"by torch.save to a path");
	g->f->size_bytes = 0;
	return true;
}

/* A tensor for each write, so that they are as long. */
static bool is_any(struct forming *g)
{
	if (!g->is_one || g->f->like->calls.count < 2 || !open_as(g, LAYOUT_TORCH) ||
	    !tensors_find(&g->f->tensors, &g->trial, g->rank, g->f->like, false)) {
		tensor_list_fini(&g->f->tensors);
		return false;
	}
	found(g, LAYOUT_TORCH, DISTIL_GUESS,
	      "no layout has these calls; this one can have tensors that are as long as the "
	      "writes");
	g->f->size_bytes = 0;
	return true;
}

static void take_bytes_alone(struct forming *g)
{
	(void)open_as(g, LAYOUT_STREAM);
	g->trial.job->checkpoint_size_bytes = g->bytes;
	found(g, LAYOUT_STREAM, DISTIL_GUESS,
	      "no layout has these files; this one has nothing in them but tensors, so that all "
	      "bytes are right");
}

/* ---- requests of one size: what is in the file is known by its name ---- */

static bool has_name(const struct forming *g, const char *start)
{
	const char *slash = strrchr(g->path, '/');

	return strncmp(slash ? slash + 1 : g->path, start, strlen(start)) == 0;
}

static void take_stream(struct forming *g)
{
	(void)open_as(g, LAYOUT_STREAM);
	found(g, LAYOUT_STREAM, DISTIL_LIKELY,
	      "requests of one size show none; this one has nothing around its tensors");
}

/* Is the whole file as long as a pattern is? */
static bool is_whole_pattern(struct forming *g)
{
	for (int p = PATTERN_UNET3D; p <= PATTERN_DLRM; p++) {
		g->trial.job->checkpoint_pattern = p;
		if (!open_as(g, LAYOUT_PATTERN))
			continue;
		g->trial.job->checkpoint_size_bytes = 0;
		if (!trial_open(&g->trial) || trial_bytes(&g->trial, g->rank, 0) != g->bytes)
			continue;
		g->f->pattern = (enum job_pattern)p;
		found(g, LAYOUT_PATTERN, DISTIL_LIKELY, "the file is as long as this pattern's");
		return true;
	}
	return false;
}

static void take_plain(struct forming *g)
{
	uint64_t most = g->f->like->most_bytes;
	enum job_layout zip = has_name(g, "rank_") ? LAYOUT_TORCH : LAYOUT_DEEPSPEED;

	g->f->is_plain = true;
	g->f->bs = g->f->like->writes > 1 || most > BS_DEFAULT ? round_up(most, BLOCK_BYTES)
							       : BS_DEFAULT;
	g->f->has_calls = true;
	if (!has_name(g, "rank_") && is_whole_pattern(g))
		return;
	if ((has_name(g, "rank_") || has_name(g, "model_states-")) && open_as(g, zip) &&
	    trial_fit_size(&g->trial, g->rank, g->bytes, NULL) &&
	    trial_roundness(g->trial.job->checkpoint_size_bytes) > trial_roundness(g->bytes)) {
		found(g, zip, DISTIL_LIKELY,
		      "the name is this layout's, and the tensor in it has a round size");
		return;
	}
	take_stream(g);
}

/* ---- in this order ---- */

static void find_form(struct forming *g)
{
	const struct saved_file *like = g->f->like;
	bool may_plain = g->access != FORM_FRAMEWORK;

	checkpoint_model_find(&g->f->model, g->s, g->d, g->access != FORM_ANY);
	if (g->f->model.name) {
		g->f->is_plain = may_plain && is_in_requests(like);
		if (g->f->is_plain)
			take_plain(g);
		found(g, LAYOUT_DEEPSPEED, DISTIL_SURE,
		      "names and sizes of all files are this layout's");
		g->f->size_bytes = 0;
		g->f->has_calls = true;
		return;
	}
	if (g->access == FORM_PLAIN) {
		take_plain(g);
		return;
	}
	if (g->is_one && (is_stream(g) || is_pattern(g) || is_one_tensor(g, LAYOUT_TORCH) ||
			  is_one_tensor(g, LAYOUT_DEEPSPEED)))
		return;
	if (may_plain && is_in_requests(like))
		take_plain(g);
	else if (!(g->is_one && is_archive(g)) && !is_any(g))
		take_bytes_alone(g);
}

void checkpoint_form_find(struct checkpoint_form *f, const struct saves *s, const struct distil *d,
			  enum form_access access)
{
	struct forming g = { .f = f, .s = s, .d = d, .access = access };

	*f = (struct checkpoint_form){ 0 };
	find_ranks(&g);
	find_like(&g);
	find_bytes(&g);
	trial_init(&g.trial);
	find_form(&g);
	f->has_zero_names = has_name(&g, "zero_pp_rank_");
	trial_fini(&g.trial);
	mem_free(g.path);
}

void checkpoint_form_fini(struct checkpoint_form *f)
{
	tensor_list_fini(&f->tensors);
	mem_free(f->ranks);
	*f = (struct checkpoint_form){ 0 };
}
