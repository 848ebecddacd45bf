/* SPDX-License-Identifier: Apache-2.0 */
/* merge_rig.h - results of anything, as the tables of metrics say, and memory to merge them in. */
#pragma once

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/dist.h"
#include "run/result/result.h"
#include "work/workloads.h"

#define NONE ((double)NAN)

/* ---- memory that one trial takes ---- */

static __attribute__((unused)) void **taken;
static __attribute__((unused)) size_t taken_count;

static inline void *keep(void *p)
{
	taken = mem_realloc(taken, (taken_count + 1) * sizeof(*taken));
	return taken[taken_count++] = p;
}

static inline void *grow(void *owner, void *p, size_t had, size_t bytes)
{
	void *all = keep(mem_zalloc(bytes));

	(void)owner;
	return had ? memcpy(all, p, had) : all;
}

static inline struct hist *copy_hist(void *owner, struct hist *from)
{
	struct hist *h = keep(hist_new());

	(void)owner;
	hist_merge(h, from);
	return h;
}

static const char *borrow(void *owner, const char *text)
{
	(void)owner;
	return text;
}

static __attribute__((unused)) const struct merge_memory memory = { grow, copy_hist, borrow };

static inline void free_all(void)
{
	while (taken_count)
		mem_free(taken[--taken_count]);
	mem_free(taken);
	taken = NULL;
}

static inline size_t size_of(const struct mlgen_field *f)
{
	switch (f->type) {
	case MLGEN_BOOL:
		return sizeof(bool);
	case MLGEN_LIST:
	case MLGEN_F64_ARRAY:
		return sizeof(struct metric_list);
	default:
		return f->stride ? f->stride : sizeof(uint64_t);
	}
}

/* ---- records of anything ---- */

static __attribute__((unused)) uint64_t draws;

static inline uint64_t any(uint64_t below)
{
	return rng_u64(7, 0, draws++) % below;
}

static inline double any_f64(void)
{
	return 1 + (double)any(1000000) / 1e4;
}

static inline struct hist *any_hist(void)
{
	struct hist *h;

	if (any(3) == 0)
		return NULL;
	h = keep(hist_new());
	for (uint64_t i = any(4); i > 0; i--)
		hist_add(h, any(100000));
	return h;
}

static void fill(const struct mlgen_field *table, char *base, bool is_element);

static inline void fill_list(const struct mlgen_field *f, struct metric_list *l)
{
	size_t each = f->sub ? f->stride : sizeof(double);

	l->count = 2;
	l->items = keep(mem_zalloc(l->count * (each ? each : 8)));
	for (size_t i = 0; i < l->count; i++)
		if (f->sub)
			fill(f->sub, (char *)l->items + i * each, true);
		else if (f->type == MLGEN_F64_ARRAY)
			((double *)l->items)[i] = any_f64();
}

/* Into the row, or borrowed by it. */
static inline void put_text(const struct mlgen_field *f, void *to, const char *text)
{
	if (f->stride)
		snprintf(to, f->stride, "%s", text);
	else
		memcpy(to, &text, sizeof(text));
}

static inline void fill_text(const struct mlgen_field *f, void *to)
{
	static const char *const texts[] = { "", "one", "two", "three" };

	put_text(f, to, texts[any(4)]);
}

static inline void fill_row(const struct mlgen_field *f, void *to, bool is_element)
{
	bool can_lack = f->flags & MLGEN_NULLABLE && !is_element;
	bool lacks = can_lack && any(5) == 0;

	switch (f->type) {
	case MLGEN_BOOL:
		*(bool *)to = any(2);
		break;
	case MLGEN_F64:
	case MLGEN_PERCENT:
		*(double *)to = lacks ? NONE : any_f64();
		break;
	case MLGEN_STR:
		fill_text(f, to);
		break;
	case MLGEN_HIST:
		*(struct hist **)to = any_hist();
		break;
	case MLGEN_LIST:
	case MLGEN_F64_ARRAY:
		fill_list(f, to);
		break;
	case MLGEN_OBJECT:
		if (f->sub)
			fill(f->sub, to, is_element);
		break;
	default:
		*(uint64_t *)to = lacks ? UINT64_MAX : 1 + any(1000);
	}
}

static inline void fill(const struct mlgen_field *table, char *base, bool is_element)
{
	for (const struct mlgen_field *f = table; f->name; f++)
		fill_row(f, base + f->off, is_element);
}

/* All complete, so that what follows from them is the same in any order. */
static inline void fill_checkpoints(struct checkpoints_result *c)
{
	struct checkpoint_result *k = c->items.items;
	double sum = 0;

	c->is_restore = false;
	if (any(4) == 0) {
		checkpoints_result_init(c);
		return;
	}
	c->count = c->completed = c->items.count = 1 + any(2);
	for (size_t i = 0; i < c->count; i++) {
		k[i].complete = true;
		k[i].bytes_per_sec = (double)k[i].bytes / k[i].seconds;
		sum += k[i].seconds;
	}
	c->bytes_per_checkpoint = 1 + any(1000);
	c->bytes = c->count * c->bytes_per_checkpoint;
	c->seconds_mean = sum / (double)c->count;
	c->seconds_min = c->count > 1 ? fmin(k[0].seconds, k[1].seconds) : sum;
	c->seconds_max = c->count > 1 ? fmax(k[0].seconds, k[1].seconds) : sum;
	c->first_seconds = k[0].seconds;
	c->later_seconds = c->count > 1 ? k[1].seconds : NONE;
	c->bytes_per_sec = (double)c->bytes / sum;
	c->dirty_bytes = any(1000);
	c->in_memory_bytes = any(1000);
	c->job_ranks = c->ranks + any(3);
	c->slowest_rank_bytes_per_sec = any_f64();
}

static inline void fill_interval(struct interval_stat *s)
{
	*s = (struct interval_stat){ any_f64(), any_f64(), any_f64(), any_f64(), 1 + any(100) };
}

static inline void fill_slowest(struct storage_result *s)
{
	if (!isnan(s->slowest_sample_ns))
		return;
	s->slowest_file[0] = '\0';
	s->slowest_file_bytes = 0;
}

/* What weighs a mean is known, and what one would not merge is alike. */
static inline void fill_record(struct job_result *r, const struct job *job,
			       const struct workload *work)
{
	struct ml_result *ml = &r->ml;
	struct direction_result *d[] = { &r->read, &r->write };

	memset(r, 0, sizeof(*r));
	fill(metrics_result_fields, (char *)r, false);
	r->job = job;
	r->work = work;
	r->wall_seconds = any_f64();
	r->numa.loader_nodes = NULL;
	node_set_add(&r->numa.seen, (unsigned)any(4));
	fill_slowest(&r->storage);
	fill_checkpoints(&ml->saves);
	fill_checkpoints(&ml->restores);
	for (size_t i = 0; i < 2; i++) {
		fill_interval(&d[i]->bw_kib);
		fill_interval(&d[i]->iops);
		sizes_add(&d[i]->sizes, any(10000), any(100));
	}
	for (size_t i = 0; i < sizeof(r->depths) / sizeof(double); i++)
		((double *)&r->depths)[i] = any_f64();
	ml->target_au_percent = 50;
	r->failed.is_too_many = any(4) == 0;
	ml->saves.items.count = ml->saves.count;
	ml->restores.items.count = ml->restores.count;
	r->err.code = any(2) ? -5 : 0;
	/* Slices that stand below each other, or do not. */
	r->io.replay.slice_seconds = any(4) ? 2 : 3;
	r->io.replay.slices.count = any(3);
	if (work->is_plain)
		memset(&r->ml, 0, sizeof(r->ml));
	else
		memset(&r->io, 0, sizeof(r->io));
}
