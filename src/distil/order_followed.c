/* SPDX-License-Identifier: Apache-2.0 */
/* order_followed.c - see order_followed.h. */
#include "distil/order_followed.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"
#include "distil/rankreads.h"

/* Of more files so many are looked at, and of all of them each read. */
#define FILES_MOST (1u << 17)
/* Of as many samples it is looked for whether neighbours stay together. */
#define SAMPLES_MOST (1u << 20)

struct order_file {
	uint32_t id, name; /* of the entry; number by name */
	char *path;        /* while they are sorted */
};

struct following {
	const struct distil *d;
	uint32_t party;
	struct order_followed *to;
	struct map keys;             /* of ids */
	VEC(struct order_file) file; /* as they are numbered */
	uint64_t each;               /* samples of a file */
	uint64_t end;                /* behind what is read of a file, at most */
};

/* ---- files by name ---- */

/* A number that has nothing to do with the order of ids. */
static bool is_looked_at(const struct following *f, uint32_t id)
{
	uint64_t mixed = id * UINT64_C(0x9e3779b97f4a7c15);

	return (mixed >> 33) % f->to->every == 0;
}

static const char *basename_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int by_path(const void *a, const void *b)
{
	const struct order_file *const *x = a, *const *y = b;

	return strcmp((*x)->path, (*y)->path);
}

static int by_basename(const void *a, const void *b)
{
	const struct order_file *const *x = a, *const *y = b;
	int c = strcmp(basename_of((*x)->path), basename_of((*y)->path));

	return c ? c : by_path(a, b);
}

static bool is_beside(const char *a, const char *b)
{
	size_t n = (size_t)(basename_of(a) - a);

	return n == (size_t)(basename_of(b) - b) && memcmp(a, b, n) == 0;
}

static void number_by_name(struct following *f, enum order_names names)
{
	uint32_t n = f->keys.count;
	struct order_file **sorted = mem_array(n + 1, sizeof(*sorted));

	f->to->directories = 1;
	for (uint32_t i = 0; i < n; i++) {
		f->file.at[i].path = mem_strdup(distil_path(f->d, f->file.at[i].id));
		sorted[i] = &f->file.at[i];
		if (!is_beside(f->file.at[i].path, f->file.at[0].path))
			f->to->directories = 2;
	}
	qsort(sorted, n, sizeof(struct order_file *),
	      names == ORDER_BY_PATH ? by_path : by_basename);
	for (uint32_t i = 0; i < n; i++)
		sorted[i]->name = i;
	for (uint32_t i = 0; i < n; i++)
		mem_free(f->file.at[i].path);
	mem_free(sorted);
}

static int note_files(struct following *f, struct mlgen_err *err)
{
	struct visits_cursor c = { 0 };
	const struct visit *x;
	int rc;

	while ((rc = visits_next(f->d->visits, &c, &x, err)) > 0) {
		bool is_new;

		if (!rankreads_is_sample(f->d, x, f->party, STAGE_TRAIN))
			continue;
		f->to->visits[x->stage]++;
		if (x->end_off != TRACE_UNKNOWN)
			f->end = u64_max(f->end, x->end_off);
		if (!is_looked_at(f, x->file))
			continue;
		map_number(&f->keys, x->file, &is_new);
		if (is_new)
			vec_push(&f->file, (struct order_file){ .id = x->file });
	}
	f->to->all_files = (uint64_t)f->keys.count * f->to->every;
	return rc;
}

/* ---- reads in their order ---- */

static void count_tasks(struct following *f)
{
	const struct distil *d = f->d;

	f->to->ranks = 1;
	for (uint32_t i = 0; i < d->task_count; i++)
		if (d->task[i].party == f->party && d->task[i].rank != UINT32_MAX)
			f->to->ranks = (uint32_t)u64_max(f->to->ranks, d->task[i].rank + 1);
}

/* Of all files together, as far as samples are looked at. */
static uint32_t samples_seen(const struct following *f)
{
	return f->each > SAMPLES_MOST ? 0
				      : (uint32_t)u64_min(f->keys.count * f->each, SAMPLES_MOST);
}

static struct neighbours *neighbours_of(const struct following *f)
{
	/* Of files some of which are not looked at, none are neighbours. */
	return neighbours_new(f->to->every > 1 ? 0 : samples_seen(f));
}

/* Which sample of its file a visit reads: by where it ends, less a half of what one has of the
 * file, its head included. */
static uint64_t sample_of(const struct following *f, const struct visit *x)
{
	uint64_t n = f->each, each = f->end / n;

	if (n < 2 || !each || x->end_off == TRACE_UNKNOWN || x->end_off < each / 2)
		return 0;
	return u64_min((x->end_off - each / 2) / each, n - 1);
}

/* Where files have several: how often each sample is read. */
static struct ordering *samples_of(const struct following *f)
{
	return ordering_new(f->each > 1 ? samples_seen(f) : 0, 1, 1);
}

static int follow_reads(struct following *f, struct mlgen_err *err)
{
	struct ordering *o = ordering_new(f->keys.count, f->to->ranks, f->d->task_count);
	struct ordering *samples = samples_of(f);
	struct neighbours *near = neighbours_of(f);
	struct visits_cursor c = { 0 };
	const struct visit *x;
	uint32_t epoch = 0;
	int rc;

	while ((rc = visits_next(f->d->visits, &c, &x, err)) > 0) {
		const struct distil_task *t = &f->d->task[x->task];
		uint64_t sample;
		uint32_t n;

		if (!rankreads_is_sample(f->d, x, f->party, STAGE_TRAIN) ||
		    !map_find(&f->keys, x->file, &n))
			continue;
		/* Two epochs may run into each other. */
		epoch = (uint32_t)u64_max(epoch, x->stage);
		ordering_add(o, &(struct ordering_read){
					.file = f->file.at[n].name,
					.epoch = epoch,
					.rank = t->rank == UINT32_MAX ? 0 : t->rank,
					.worker = x->task,
					.off = x->off,
				});
		sample = f->file.at[n].name * f->each + sample_of(f, x);
		neighbours_add(near, sample, epoch);
		if (sample < SAMPLES_MOST)
			ordering_add(samples, &(struct ordering_read){ .file = (uint32_t)sample,
								       .epoch = epoch });
	}
	ordering_end(o, &f->to->is);
	ordering_free(o);
	ordering_end(samples, &f->to->samples);
	ordering_free(samples);
	neighbours_end(near, &f->to->near);
	neighbours_free(near);
	return rc;
}

/* ---- all of it ---- */

uint64_t order_samples_per_file(const struct distil *d, uint32_t party)
{
	return u64_max(d->found[party].samples_per_file, 1);
}

int order_follow(struct order_followed *to, const struct distil *d, uint32_t party,
		 enum order_names names, struct mlgen_err *err)
{
	struct following f = {
		.d = d, .party = party, .to = to, .each = order_samples_per_file(d, party)
	};
	uint64_t every = divide_up(d->file_count, FILES_MOST);
	int rc;

	*to = (struct order_followed){
		.every = (uint32_t)u64_max(every, 1),
		.visits = mem_array(d->stage_count + 1, sizeof(*to->visits)),
	};
	rc = note_files(&f, err);
	to->files = f.keys.count;
	if (rc == 0 && to->files) {
		number_by_name(&f, names);
		count_tasks(&f);
		rc = follow_reads(&f, err);
	}
	map_fini(&f.keys);
	vec_fini(&f.file);
	return rc;
}

void order_followed_fini(struct order_followed *f)
{
	mem_free(f->visits);
	*f = (struct order_followed){ 0 };
}
