/* SPDX-License-Identifier: Apache-2.0 */
/* loader_decode.c - the time and CPU that decoding takes of a loader. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "base/util.h"
#include "run/loader_inside.h"
#include "run/read/read.h"
#include "run/tier.h"

/* The most draws taken for one extent. */
#define DRAWS_MAX 16u
/* A thread that sleeps is woken later than it asked for by nearly as much: what a small read has of
 * an extent's time waits for the next one. */
#define SPENT_LEAST_NS 50000u
#define ALL_AT_FIRST_READ "1/100"
/* Who is woken later than this was held up by more than timers are. */
#define OWED_MOST_NS 1000000u

static uint64_t loader_decode_now(const struct loader *l)
{
	return clock_now(l->rank->train->clock);
}

/* Decoding takes its time, sample by sample; of many the sum of a few stands for all. */
static uint64_t preprocess_ns(const struct job *j, const struct extent *x)
{
	uint64_t drawn = x->samples < DRAWS_MAX ? x->samples : DRAWS_MAX;
	double ns = 0;

	for (uint64_t i = 0; i < drawn; i++)
		ns += (double)dist_draw(&j->preprocess_time, j->randseed, RNG_PREPROCESS,
					x->id * DRAWS_MAX + i);
	return drawn ? (uint64_t)(ns / (double)drawn * x->samples) : 0;
}

/*
 * Asleep, the CPU that it would take is another's. Who sleeps is woken late, by a tenth of a
 * millisecond on some hosts; the next sleep is shorter by that, so that many short ones take no
 * longer than one long one.
 */
static void sleep_for(struct loader *l, uint64_t ns)
{
	const struct train *t = l->rank->train;
	uint64_t owed_ns = u64_min(l->overslept_ns, ns), woken_ns;
	uint64_t end_ns = loader_decode_now(l) + ns - owed_ns;

	stop_sleep_until(t->stop, t->clock, end_ns);
	woken_ns = loader_decode_now(l);
	l->overslept_ns -= owed_ns;
	if (woken_ns > end_ns)
		l->overslept_ns = u64_min(l->overslept_ns + woken_ns - end_ns, OWED_MOST_NS);
	count_add(&l->worker.stat.idle_ns, ns);
	io_wake(l->worker.io);
	l->decoded_ns = end_ns;
}

/* What was compressed is decompressed, or will have been. */
static void decompress(struct loader *l, const struct read_task *task)
{
	const struct job *j = l->rank->train->job;

	if (task->packed_bytes == 0)
		return;
	if (j->decompress == DECOMPRESS_SLEEP)
		sleep_for(l, (uint64_t)((double)task->packed_bytes * 1e9 /
					(double)j->decompress_rate));
	else if (l->unpack)
		l->decoded_ns = loader_decode_now(l);
}

static void spend(struct loader *l, uint64_t ns)
{
	const struct train *t = l->rank->train;
	uint64_t end_ns;

	if (t->job->preprocess == PREPROCESS_SLEEP) {
		sleep_for(l, ns);
		return;
	}
	end_ns = loader_decode_now(l) + ns;
	while (loader_decode_now(l) < end_ns && !stop_has_come(t->stop, loader_decode_now(l)))
		;
	io_wake(l->worker.io);
	l->decoded_ns = end_ns;
}

static uint64_t first_sample_ns(struct loader *l, const struct extent *x)
{
	const struct job *j = l->rank->train->job;
	uint64_t who = l->rank->index * u64_max(j->read_threads, 1) + l->index;

	if (!l->is_new || !x->samples)
		return 0;
	l->is_new = false;
	return (uint64_t)dist_draw(&j->first_sample_time, rng_u64(j->randseed, RNG_FIRST, who),
				   RNG_FIRST, l->next.number);
}

/* A cache has it so. */
static bool was_decoded(const struct loader *l, const struct read_task *task)
{
	return l->tier && tier_was_decoded(l->tier, task);
}

/* What the time has behind a read that got so many bytes. */
static double part_of_read(const struct loader *l, struct decoding *d, const struct read_task *task,
			   uint64_t bytes)
{
	const struct job_read_share *share;
	uint64_t all;

	if (!d->shares) {
		all = dataset_extent_bytes(task->dataset, &task->extent);
		return all ? (double)bytes / (double)all : 0;
	}
	share = &d->shares[d->next_share];
	if (d->next_share == d->share_count || share->read != l->decode_reads)
		return 0;
	d->next_share++;
	return share->percent / 100;
}

static uint64_t due_ns(const struct loader *l, struct decoding *d, const struct read_task *task,
		       uint64_t bytes)
{
	return d->all_ns ? (uint64_t)((double)d->all_ns * part_of_read(l, d, task, bytes)) : 0;
}

static void begin(struct loader *l, const struct extent *x)
{
	l->usual.all_ns = preprocess_ns(l->rank->train->job, x);
	l->first.all_ns = first_sample_ns(l, x);
	l->usual.next_share = l->first.next_share = 0;
	l->decode_left_ns = l->usual.all_ns + l->first.all_ns;
	l->decode_due_ns = 0;
}

/* Of preprocess_at=reads. */
static void decode_read(void *arg, const struct read_task *task, uint64_t bytes)
{
	struct loader *l = arg;
	uint64_t ns;

	if (was_decoded(l, task))
		return;
	if (!l->decode_reads++)
		begin(l, &task->extent);
	l->decode_due_ns += due_ns(l, &l->usual, task, bytes) + due_ns(l, &l->first, task, bytes);
	ns = u64_min(l->decode_due_ns, l->decode_left_ns);
	if (ns < SPENT_LEAST_NS)
		return;
	l->decode_due_ns = 0;
	l->decode_left_ns -= ns;
	spend(l, ns);
}

/* All of it, or what its reads have left. */
static void preprocess(struct loader *l, const struct extent *x)
{
	if (!loader_preprocesses(l->rank->train->job))
		return;
	if (!l->decode_reads)
		begin(l, x);
	l->decode_reads = 0;
	if (l->decode_left_ns)
		spend(l, l->decode_left_ns);
}

static int open_unpack(struct loader *l, struct mlgen_err *err)
{
	const struct train *t = l->rank->train;
	uint64_t most = train_packed_most(t->job, &t->stages);

	if (most == 0)
		return 0;
	unpack_free(l->unpack);
	l->unpack = unpack_new(most);
	if (!l->unpack)
		return mlgen_fail(
			err, -ENOMEM,
			"decompress: no memory for what is decompressed at a time, %" PRIu64
			" bytes; use decompress=sleep",
			most);
	reader_unpack(l->reader, l->unpack);
	return 0;
}

bool loader_preprocesses(const struct job *j)
{
	return dist_mean(&j->preprocess_time) + dist_mean(&j->first_sample_time) > 0 &&
	       !job_decodes_batches(j);
}

static int open_shares(struct decoding *d, const char *list, struct mlgen_err *err)
{
	struct job_read_share shares[JOB_READ_SHARES_MAX];
	int n = job_read_shares(list, shares, err);

	mem_free(d->shares);
	d->shares = NULL;
	d->share_count = n > 0 ? (unsigned)n : 0;
	if (n > 0) {
		d->shares = mem_array((size_t)n, sizeof(*shares));
		memcpy(d->shares, shares, (size_t)n * sizeof(*shares));
	}
	return n < 0 ? n : 0;
}

int loader_open_decoding(struct loader *l, struct mlgen_err *err)
{
	const struct job *j = l->rank->train->job;
	int rc = 0;

	l->is_new = true;
	if (loader_preprocesses(j) && j->preprocess_at == PREPROCESS_AT_READS) {
		rc = open_shares(&l->usual, j->preprocess_split, err);
		if (rc == 0)
			rc = open_shares(&l->first,
					 has_text(j->first_sample_split) ? j->first_sample_split
									 : ALL_AT_FIRST_READ,
					 err);
		reader_decode_with(l->reader, decode_read, l);
	}
	return rc < 0 ? rc : open_unpack(l, err);
}

void loader_decode(struct loader *l, const struct read_task *task)
{
	if (was_decoded(l, task))
		return;
	decompress(l, task);
	preprocess(l, &task->extent);
}

void loader_close_decoding(struct loader *l)
{
	mem_free(l->usual.shares);
	mem_free(l->first.shares);
}
