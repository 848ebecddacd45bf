/* SPDX-License-Identifier: Apache-2.0 */
/* saver_collect.c - the records of checkpoints, and what they add up to. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "run/saver_inside.h"

/* NaN = nothing yet. */
static void add_seconds(double *to, double seconds)
{
	if (!isnan(seconds))
		*to = isnan(*to) ? seconds : *to + seconds;
}

static void list(struct metric_list *l, const struct checkpoint_result *r)
{
	struct checkpoint_result *items = l->items;

	if (l->count == CHECKPOINTS_KEPT)
		return;
	/* 1, 2, 4, ... of them: with a power of two it is full. */
	if ((l->count & (l->count - 1)) == 0)
		items = mem_realloc(items, (l->count ? 2 * l->count : 1) * sizeof(*items));
	items[l->count++] = *r;
	l->items = items;
}

static void add_complete(struct saver *s, const struct checkpoint_result *r)
{
	struct checkpoints_result *sum = &s->sum;

	if (sum->completed++ == 0) {
		sum->first_seconds = r->seconds;
		sum->seconds_min = sum->seconds_max = r->seconds;
	} else {
		s->later_seconds += r->seconds;
	}
	sum->bytes += r->bytes;
	if (r->seconds < sum->seconds_min)
		sum->seconds_min = r->seconds;
	if (r->seconds > sum->seconds_max)
		sum->seconds_max = r->seconds;
	if (sum->completed == 1 ||
	    r->slowest_rank_bytes_per_sec < sum->slowest_rank_bytes_per_sec) {
		sum->slowest_rank_bytes_per_sec = r->slowest_rank_bytes_per_sec;
		sum->slowest_rank = r->slowest_rank;
		sum->slowest_checkpoint = r->number;
	}
}

static double per(double value, double by)
{
	return by > 0 ? value / by : (double)NAN;
}

static void sum_up(struct saver *s, struct checkpoints_result *r)
{
	double all = r->completed ? r->first_seconds + s->later_seconds : 0;

	r->seconds_mean = per(all, (double)r->completed);
	r->later_seconds =
		r->completed > 1 ? s->later_seconds / (double)(r->completed - 1) : (double)NAN;
	r->bytes_per_sec = per((double)r->bytes, all);
	if (s->first_ns)
		r->wall_seconds = (double)(atomic_load(&s->last_ns) - s->first_ns) / 1e9;
}

/* Where the threads were. Waiting in reap is for what they move. */
static void split_time(struct rank_percent *p, const struct opstat *t, bool is_restore)
{
	const _Atomic uint64_t *in = t->blocked_ns;
	double unit = per(100, (double)t->wall_ns), moved, sum;

	moved = (double)(in[is_restore ? MLGEN_READ : MLGEN_WRITE] + in[MLGEN_ALLOCATE] +
			 in[MLGEN_ADVISE] + t->reap_ns) *
		unit;
	*p = (struct rank_percent){
		.data = (double)t->data_ns * unit,
		.open = (double)(in[MLGEN_OPEN] + in[MLGEN_STAT]) * unit,
		.write = is_restore ? 0 : moved,
		.read = is_restore ? moved : 0,
		.fsync = (double)in[MLGEN_FSYNC] * unit,
		.close = (double)in[MLGEN_CLOSE] * unit,
	};
	sum = p->data + p->open + moved + p->fsync + p->close;
	p->other = sum > 100 ? 0 : 100 - sum;
}

static void merge_threads(struct saver *s)
{
	opstat_fini(&s->total);
	opstat_init(&s->total);
	const struct worker *w;

	for (uint64_t i = 0; (w = saver_worker(s, i)); i++)
		opstat_merge(&s->total, &w->stat);
}

static void point_to_latencies(struct checkpoints_result *r, const struct opstat *t)
{
	r->open_ns = t->lat[MLGEN_OPEN];
	r->write_ns = t->lat[MLGEN_WRITE];
	r->read_ns = t->lat[MLGEN_READ];
	r->fsync_ns = t->lat[MLGEN_FSYNC];
	r->close_ns = t->lat[MLGEN_CLOSE];
	r->rename_ns = t->lat[MLGEN_RENAME];
	r->unlink_ns = t->lat[MLGEN_UNLINK];
}

static void saver_collect_describe(const struct saver *s, struct checkpoints_result *r)
{
	const struct job *job = s->cfg.job;
	bool is_restore = s->cfg.is_restore;

	r->is_restore = is_restore;
	r->directory = s->cfg.checkpoints->directory;
	r->ranks = s->rank_count;
	r->threads = s->thread_count;
	r->job_ranks = s->cfg.set->state->ranks;
	r->bytes_per_checkpoint = s->bytes;
	r->durable = !is_restore && job->checkpoint_fsync != CHECKPOINT_FSYNC_NONE;
	r->verified = is_restore && job->verify == VERIFY_CRC32C && r->completed == r->count &&
		      r->count > 0;
	r->dirty_bytes = is_restore ? UINT64_MAX : s->dirty_bytes;
	r->in_memory_bytes = r->durable ? 0 : r->dirty_bytes;
	if (r->in_memory_bytes != UINT64_MAX && r->in_memory_bytes > r->bytes)
		r->in_memory_bytes = r->bytes;
}

void saver_record_init(struct saver *s)
{
	checkpoints_result_init(&s->sum);
	s->dirty_bytes = UINT64_MAX;
}

void saver_record_keep(struct saver *s)
{
	const struct checkpoint_result *r = &s->newest;
	struct checkpoints_result *sum = &s->sum;

	if (!s->has_newest)
		return;
	s->has_newest = false;
	list(&sum->items, r);
	sum->count++;
	if (r->complete)
		add_complete(s, r);
	add_seconds(&sum->stall_seconds, r->stall_seconds);
	add_seconds(&sum->snapshot_seconds, r->snapshot_seconds);
	add_seconds(&sum->wait_seconds, r->wait_seconds);
	add_seconds(&sum->delete_seconds, r->delete_seconds);
	sum->deleted_checkpoints += r->deleted_checkpoints;
	sum->deleted_files += r->deleted_files;
}

void saver_record_new(struct saver *s, const struct checkpoint *k)
{
	const double none = (double)NAN;

	saver_record_keep(s);
	s->has_newest = true;
	s->newest = (struct checkpoint_result){
		.number = k->number,
		.epoch = k->epoch,
		.step = k->step,
		.seconds = none,
		.bytes_per_sec = none,
		.slowest_rank_seconds = none,
		.slowest_rank_bytes_per_sec = none,
		.commit_seconds = none,
		.delete_seconds = none,
		.snapshot_seconds = none,
		.wait_seconds = none,
		.stall_seconds = none,
	};
	memcpy(s->newest.name, k->name, sizeof(k->name));
}

/* One that a signal has cut lies there as it is: no call was begun for it. */
static void tell_of_cut(struct saver *s)
{
	struct checkpoint_result *r = &s->newest;
	const struct checkpoints *c = s->cfg.checkpoints;

	if (!s->has_newest || r->complete || !saver_is_interrupted(s))
		return;
	if (!r->error[0])
		snprintf(r->error, sizeof(r->error), "interrupted");
	if (saver_touches_files(s) && !s->cfg.is_restore)
		log_note("%s: %s/%s was being saved; it is not complete, and is never restored",
			 s->cfg.job->name, c->directory, r->name);
}

void saver_collect(struct saver *s, struct checkpoints_result *r)
{
	tell_of_cut(s);
	saver_record_keep(s);
	merge_threads(s);
	*r = s->sum;
	s->sum.items = s->sum.rank_times = (struct metric_list){ 0 };
	sum_up(s, r);
	split_time(&r->rank_percent, &s->total, s->cfg.is_restore);
	point_to_latencies(r, &s->total);
	saver_collect_describe(s, r);
}
