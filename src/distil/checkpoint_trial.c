/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_trial.c - see checkpoint_trial.h. */
#include "distil/checkpoint_trial.h"

#include "base/util.h"
#include "field/fields.h"
#include "work/checkpoint/saver/saver.h"

/* Sizes that are tried, either way: an archive aligns to 64. */
enum { FIT_AROUND = 128 };

void trial_init(struct trial *t)
{
	const struct mlgen_field *phase = field_find(job_fields, "phase");

	*t = (struct trial){ .job = job_new("distilled") };
	(void)!field_parse(phase, t->job, "checkpoint", 1024, NULL);
	t->job->access = ACCESS_FRAMEWORK;
}

static void trial_close(struct trial *t)
{
	if (t->is_open)
		state_fini(&t->state);
	t->is_open = false;
}

void trial_fini(struct trial *t)
{
	trial_close(t);
	content_free(t->content);
	job_free(t->job);
	*t = (struct trial){ 0 };
}

bool trial_open(struct trial *t)
{
	struct mlgen_err err = { 0 };

	trial_close(t);
	if (state_init(&t->state, t->job, &err) < 0)
		return false;
	t->is_open = true;
	t->set = (struct shard_set){
		.state = &t->state,
		.layout = layout_of(t->job),
		.is_plain = t->job->access == ACCESS_PLAIN,
		.bs = saver_span_bytes(t->job),
	};
	return true;
}

uint64_t trial_bytes(const struct trial *t, uint64_t rank, uint64_t index)
{
	struct shard f;

	if (rank >= t->state.ranks || index >= shard_files(&t->set, rank))
		return 0;
	shard_init(&f, &t->set, rank, index, 0);
	return f.bytes;
}

/* How long a call is depends on it, but no file does. */
static void need_content(struct trial *t)
{
	if (!t->content)
		t->content = content_new(t->set.bs, 0);
	t->set.content = t->content;
}

uint64_t trial_first_write(struct trial *t, uint64_t rank)
{
	struct shard_write w = { 0 };
	struct shard shard;

	need_content(t);
	shard_init(&shard, &t->set, rank, 0, 0);
	return shard_write_next(&shard, &w) ? w.bytes : 0;
}

bool trial_writes(struct trial *t, uint64_t rank, const struct saved_file *f)
{
	struct shard_write w = { 0 };
	struct shard shard;

	if (!f->calls.count || trial_bytes(t, rank, 0) != f->bytes)
		return false;
	need_content(t);
	shard_init(&shard, &t->set, rank, 0, 0);
	for (uint32_t i = 0; i < f->calls.count; i++)
		if (!shard_write_next(&shard, &w) || w.off != f->calls.at[i].off ||
		    w.bytes != f->calls.at[i].bytes)
			return false;
	/* Of a longer one the rest is as the first part of it. */
	return f->calls.count < f->writes || !shard_write_next(&shard, &w);
}

static bool has_bytes(struct trial *t, uint64_t rank, uint64_t size, uint64_t bytes)
{
	t->job->checkpoint_size_bytes = size;
	return size && trial_open(t) && trial_bytes(t, rank, 0) == bytes;
}

unsigned trial_roundness(uint64_t n)
{
	unsigned twos = 0, tens = 0;

	for (uint64_t i = n; i && i % 2 == 0; i /= 2)
		twos++;
	for (uint64_t i = n; i && i % 10 == 0; i /= 10)
		tens++;
	return (unsigned)u64_max(twos, 3 * tens);
}

/* What a layout puts around a tensor hardly depends on the tensor; but what is behind it is
 * aligned, so that several sizes give the same file. */
bool trial_fit_size(struct trial *t, uint64_t rank, uint64_t bytes, const struct saved_file *like)
{
	uint64_t best = 0, around, size;

	t->job->checkpoint_size_bytes = bytes;
	if (!trial_open(t))
		return false;
	around = trial_bytes(t, rank, 0) - bytes;
	if (around >= bytes)
		return false;
	size = bytes - around > FIT_AROUND ? bytes - around - FIT_AROUND : 1;
	for (unsigned i = 0; i <= 2 * FIT_AROUND; i++, size++) {
		if (!has_bytes(t, rank, size, bytes) || (like && !trial_writes(t, rank, like)))
			continue;
		if (!best || trial_roundness(size) > trial_roundness(best))
			best = size;
	}
	return has_bytes(t, rank, best, bytes);
}
