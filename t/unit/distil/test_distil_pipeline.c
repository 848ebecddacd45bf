/* SPDX-License-Identifier: Apache-2.0 */
/* test_distil_pipeline.c - pipelines of known shape come back from when their samples were read. */
#include <check.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/dist.h"
#include "base/util.h"
#include "tracing/distil/steps/steps_internal.h"
#include "suites.h"

/* ---- a pipeline, by arithmetic ---- */

struct line {
	enum pulse_kind kind;
	uint32_t workers, prefetch, batch, batches, epochs;
	uint32_t last;     /* samples of a last batch that is short; 0 = none */
	double read_ns;    /* of a sample ... */
	double jitter;     /* ... by so much of it, either way */
	double think_ns;   /* between two samples */
	double compute_ns; /* of a step */
	double uneven;     /* by so much of it, either way */
	double late_ns;    /* the first batch of an epoch is taken so late */
	double stall_ns;   /* of a worker behind its first batch, about */
	bool forks;        /* workers are others in each epoch */
};

struct played {
	struct pulse_read *at;
	size_t count;
	uint32_t workers;
	uint64_t draws;
};

static double draw(struct played *p)
{
	return 2 * rng_f64(7, 1, p->draws++) - 1;
}

static uint32_t readers(const struct line *l)
{
	return l->workers ? l->workers : 1;
}

static uint32_t samples_of(const struct line *l, uint32_t batch)
{
	return l->last && batch + 1 == l->batches ? l->last : l->batch;
}

/* One sample, by a reader that is free then. */
static void play_read(struct played *p, const struct line *l, double *free_ns, double from_ns,
		      uint32_t worker, uint32_t epoch)
{
	double read = l->read_ns * (1 + l->jitter * draw(p));
	double wake = l->kind == PULSE_OWN ? 0 : 3e4 * (draw(p) + 1);
	double start = from_ns > *free_ns ? from_ns + wake : *free_ns;

	*free_ns = start + read;
	p->at[p->count++] = (struct pulse_read){
		.start_ns = (uint64_t)start,
		.end_ns = (uint64_t)*free_ns,
		.worker = worker + (l->forks ? epoch * readers(l) : 0),
		.epoch = epoch,
	};
	*free_ns += l->think_ns * (1 + 0.1 * draw(p)) + 2e3;
}

static double play_batch(struct played *p, const struct line *l, double *free_ns, double from_ns,
			 uint32_t batch, uint32_t epoch)
{
	double end = 0;

	for (uint32_t i = 0; i < samples_of(l, batch); i++) {
		uint32_t w = batch % readers(l);

		if (l->kind == PULSE_SHARED)
			for (uint32_t k = 0; k < l->workers; k++)
				if (free_ns[k] < free_ns[w])
					w = k;
		play_read(p, l, &free_ns[w], from_ns, w, epoch);
		if ((double)p->at[p->count - 1].end_ns > end)
			end = (double)p->at[p->count - 1].end_ns;
	}
	return end;
}

static double play_epoch(struct played *p, const struct line *l, double begin_ns, uint32_t epoch)
{
	uint32_t window = l->kind == PULSE_WORKER ? l->workers * l->prefetch : l->prefetch;
	double *taken = mem_array(l->batches + 1, sizeof(*taken));
	double free_ns[64], last = begin_ns;

	for (uint32_t w = 0; w < 64; w++)
		free_ns[w] = begin_ns;
	for (uint32_t k = 0; k < l->batches; k++) {
		double from = l->kind == PULSE_OWN ? last
			      : k < window         ? begin_ns
						   : taken[k - window];
		double end = play_batch(p, l, free_ns, from, k, epoch);

		if (l->stall_ns > 0 && k < readers(l))
			free_ns[k] += l->stall_ns * (1 + 0.2 * draw(p));
		taken[k] = (last > end ? last : end) + (k ? 0 : l->late_ns);
		last = taken[k] + l->compute_ns * (1 + l->uneven * draw(p));
	}
	mem_free(taken);
	return last;
}

static int by_start(const void *a, const void *b)
{
	const struct pulse_read *x = a, *y = b;

	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

static struct pulse found_of(const struct line *l)
{
	struct played p = { 0 };
	struct pulse found;
	double ns = 1e9;

	p.at = mem_array((size_t)l->epochs * l->batches * l->batch, sizeof(*p.at));
	p.workers = readers(l) * (l->forks ? l->epochs : 1);
	for (uint32_t e = 0; e < l->epochs; e++)
		ns = play_epoch(&p, l, ns, e) + 5e6;
	qsort(p.at, p.count, sizeof(*p.at), by_start);
	pulse_find(&found, p.at, p.count, p.workers,
		   readers(l) > 1 || l->forks ? PULSE_HAS_WORKERS : PULSE_MAY_BE_OWN);
	mem_free(p.at);
	return found;
}

static struct line line_of(enum pulse_kind kind, uint32_t workers, uint32_t batch,
			   uint32_t prefetch)
{
	return (struct line){
		.kind = kind,
		.workers = workers,
		.prefetch = prefetch,
		.batch = batch,
		.batches = 60,
		.epochs = 3,
		.read_ns = 2e6,
		.jitter = 0.3,
		.compute_ns = 2e6 * batch * 3,
	};
}

static double middle(const struct pulse *p)
{
	return pulse_quantile(p->step_ns, p->steps, 0.5);
}

/* ---- tests ---- */

static void check_found(const struct line *l, const char *what)
{
	struct pulse p = found_of(l);
	uint32_t window = l->kind == PULSE_WORKER ? l->workers * l->prefetch : l->prefetch;

	ck_assert_msg(p.batch == l->batch, "%s: batch %u, not %u (%u workers, %u ahead)", what,
		      p.batch, l->batch, l->workers, l->prefetch);
	ck_assert_uint_eq(p.workers, l->workers);
	ck_assert_msg(p.kind == l->kind, "%s: kind %d, not %d (batch %u, %u workers, %u ahead)",
		      what, p.kind, l->kind, l->batch, l->workers, l->prefetch);
	if (l->kind != PULSE_OWN)
		ck_assert_msg(p.window == window, "%s: %u ahead, not %u (batch %u, %u workers)",
			      what, p.window, window, l->batch, l->workers);
	ck_assert_msg(fabs(middle(&p) / l->compute_ns - 1) < 0.01,
		      "%s: a step of %g, not %g (batch %u, %u workers, %u ahead)", what, middle(&p),
		      l->compute_ns, l->batch, l->workers, l->prefetch);
	pulse_fini(&p);
}

static const uint32_t batches[] = { 2, 3, 4, 7, 8, 16, 33, 64 };

START_TEST(workers_of_a_batch_each_come_back)
{
	for (size_t i = 0; i < ARRAY_LEN(batches); i++)
		for (uint32_t w = 1; w <= 8; w++)
			for (uint32_t ahead = 1; ahead <= 8; ahead *= 2) {
				struct line l = line_of(PULSE_WORKER, w, batches[i], ahead);

				l.batches = 12 * w + 8 * ahead;
				check_found(&l, "worker");
			}
}
END_TEST

/* The readers of a batch are several at a time, and so are batches. */
START_TEST(batches_that_overlap_come_back)
{
	for (size_t i = 0; i < ARRAY_LEN(batches); i++)
		for (uint32_t w = 2; w <= 8; w++) {
			struct line l = line_of(PULSE_WORKER, w, batches[i], 2);

			l.batches = 30 * w;
			l.jitter = 0.1;
			l.compute_ns = l.read_ns * batches[i] / w * 1.5;
			check_found(&l, "overlap");
		}
}
END_TEST

/* PyTorch's hand on their first batch through shared memory. */
START_TEST(workers_that_stall_behind_their_first_batch_are_as_far_ahead)
{
	for (uint32_t w = 2; w <= 6; w++) {
		struct line l = line_of(PULSE_WORKER, w, 4, 2);

		l.epochs = 5;
		l.compute_ns = 12e6;
		l.read_ns = 5e5;
		l.stall_ns = 40e6;
		l.late_ns = 65e6;
		check_found(&l, "stalled");
	}
}
END_TEST

START_TEST(batches_of_all_workers_come_back)
{
	for (size_t i = 2; i < ARRAY_LEN(batches); i++)
		for (uint32_t w = 2; w <= 8; w++)
			for (uint32_t ahead = 1; ahead <= 8; ahead *= 2) {
				struct line l = line_of(PULSE_SHARED, w, batches[i], ahead);

				if (batches[i] < 2 * w)
					continue;
				check_found(&l, "shared");
			}
}
END_TEST

START_TEST(a_rank_that_reads_by_itself_comes_back)
{
	for (size_t i = 0; i < ARRAY_LEN(batches); i++) {
		struct line l = line_of(PULSE_OWN, 0, batches[i], 0);

		check_found(&l, "own");
		/* Storage is no limit to what can be seen of it. */
		l.compute_ns = l.read_ns;
		l.epochs = 5;
		check_found(&l, "own, of slow storage");
	}
}
END_TEST

START_TEST(batches_of_one_sample_come_back)
{
	for (uint32_t w = 1; w <= 8; w++) {
		struct line l = line_of(PULSE_WORKER, w, 1, 2);

		l.batches = 200;
		check_found(&l, "one");
	}
}
END_TEST

/* Decoding is a pause between any two samples. */
START_TEST(time_between_samples_is_no_batch)
{
	for (size_t i = 0; i < ARRAY_LEN(batches); i++) {
		struct line l = line_of(PULSE_WORKER, 4, batches[i], 2);
		struct pulse p;

		l.think_ns = 3e6;
		l.compute_ns = 2e6 * batches[i] * 5;
		check_found(&l, "decoding");
		p = found_of(&l);
		ck_assert_double_eq_tol(p.think_ns, 3e6, 1e5);
		pulse_fini(&p);
	}
}
END_TEST

START_TEST(workers_of_each_epoch_and_a_short_last_batch_are_seen_through)
{
	struct line l = line_of(PULSE_WORKER, 3, 8, 2);

	l.last = 5;
	l.batches = 31;
	check_found(&l, "short");
	l.forks = true;
	check_found(&l, "forked");
}
END_TEST

/* A thread hands it on that has to begin, in more than a step. */
START_TEST(a_first_batch_that_is_late_is_seen_through)
{
	for (uint32_t w = 1; w <= 4; w++)
		for (double part = 1.1; part < 4; part += 0.6) {
			struct line l = line_of(PULSE_WORKER, w, 4, 3);
			struct pulse p;

			l.compute_ns = 3e7;
			l.late_ns = part * l.compute_ns;
			l.forks = true;
			check_found(&l, "late");
			p = found_of(&l);
			ck_assert_double_eq_tol(p.first_late_ns, l.late_ns, 0.1 * l.compute_ns);
			pulse_fini(&p);
		}
}
END_TEST

START_TEST(steps_that_differ_are_known_by_their_distribution)
{
	struct line l = line_of(PULSE_WORKER, 4, 8, 2);
	struct pulse p;

	l.batches = 400;
	l.uneven = 0.3;
	p = found_of(&l);
	ck_assert_uint_eq(p.batch, 8);
	ck_assert_uint_gt(p.steps, 1000);
	ck_assert_double_eq_tol(middle(&p), l.compute_ns, 0.02 * l.compute_ns);
	ck_assert_double_eq_tol(pulse_quantile(p.step_ns, p.steps, 0), 0.7 * l.compute_ns,
				0.02 * l.compute_ns);
	ck_assert_double_eq_tol(pulse_quantile(p.step_ns, p.steps, 1), 1.3 * l.compute_ns,
				0.02 * l.compute_ns);
	pulse_fini(&p);
}
END_TEST

/* Then a step is not seen, and no longer than the mean. */
START_TEST(slow_storage_leaves_a_bound)
{
	for (uint32_t w = 1; w <= 8; w *= 2) {
		struct line l = line_of(PULSE_WORKER, w, 8, 2);
		struct pulse p;

		l.batches = 100 * w;
		l.compute_ns = 1e6;
		p = found_of(&l);
		ck_assert_msg(2 * p.steps < p.in_epoch || !p.steps,
			      "%u of %" PRIu64 " steps with %u workers", p.steps, p.in_epoch, w);
		if (p.batch)
			ck_assert_double_ge(p.bound_ns, l.compute_ns);
		pulse_fini(&p);
	}
}
END_TEST

/* Storage is now and then too slow; the steps in which it is not are left. */
START_TEST(steps_that_waited_are_left_out)
{
	struct line l = line_of(PULSE_WORKER, 4, 8, 1);

	l.batches = 200;
	l.jitter = 0.9;
	l.compute_ns = l.read_ns * 8 / 4 * 1.15;
	check_found(&l, "nearly");
}
END_TEST

START_TEST(the_batch_of_busy_workers_is_what_their_counts_have_in_common)
{
	struct line l = line_of(PULSE_WORKER, 4, 6, 2);
	struct pulse p;

	l.batches = 42;
	l.compute_ns = 0;
	p = found_of(&l);
	ck_assert_uint_eq(p.batch, 6);
	pulse_fini(&p);
}
END_TEST

/* ---- ranks that are threads of one process ---- */

/* The workers of so many ranks, which step together, as one list. */
static struct played play_ranks(const struct line *l, uint32_t ranks)
{
	struct played p = { .workers = ranks * readers(l) };

	p.at = mem_array((size_t)ranks * l->epochs * l->batches * l->batch, sizeof(*p.at));
	for (uint32_t r = 0; r < ranks; r++) {
		size_t first = p.count;
		double ns = 1e9;

		for (uint32_t e = 0; e < l->epochs; e++)
			ns = play_epoch(&p, l, ns, e) + 5e6;
		for (size_t i = first; i < p.count; i++)
			p.at[i].worker += r * readers(l);
	}
	qsort(p.at, p.count, sizeof(*p.at), by_start);
	return p;
}

static void check_groups(const struct line *l, uint32_t ranks, uint32_t groups)
{
	struct played p = play_ranks(l, ranks);
	struct pulse_groups g = pulse_groups_find(p.at, p.count, p.workers);
	uint32_t by_rank[64], mixed[64];

	ck_assert_msg(g.groups == groups, "%u groups, not %u (batch %u)", g.groups, groups,
		      l->batch);
	for (uint32_t w = 0; w < p.workers; w++) {
		by_rank[w] = w / readers(l);
		mixed[w] = w % readers(l) % ranks;
	}
	if (groups > 1) {
		ck_assert_uint_eq(g.batch, l->batch);
		ck_assert_double_ge(pulse_groups_part(&g, p.at, p.count, by_rank), 0.9);
		ck_assert_double_lt(pulse_groups_part(&g, p.at, p.count, mixed), 0.8);
	}
	mem_free(p.at);
}

START_TEST(ranks_of_one_process_are_told_apart)
{
	for (size_t i = 0; i < ARRAY_LEN(batches); i++)
		for (uint32_t ranks = 2; ranks <= 4; ranks++) {
			struct line l = line_of(PULSE_WORKER, 4, batches[i], 1);

			l.compute_ns = 2e6 * batches[i] * 8;
			check_groups(&l, ranks, ranks);
			check_groups(&l, 1, 1);
			l = line_of(PULSE_SHARED, 4, batches[i] * 4, 2);
			check_groups(&l, 1, 1);
		}
}
END_TEST

START_TEST(few_reads_are_no_pipeline)
{
	struct pulse_read r[3] = { { 1, 2, 0, 0 }, { 3, 4, 0, 0 }, { 5, 6, 0, 0 } };
	struct pulse p;

	pulse_find(&p, NULL, 0, 0, PULSE_HAS_WORKERS);
	ck_assert_int_eq(p.kind, PULSE_NONE);
	pulse_fini(&p);
	pulse_find(&p, r, 3, 1, PULSE_MAY_BE_OWN);
	ck_assert_int_eq(p.kind, PULSE_NONE);
	ck_assert(isnan(p.bound_ns));
	pulse_fini(&p);
}
END_TEST

Suite *suite_distil_pipeline(void)
{
	Suite *s = suite_create("distil_pipeline");
	TCase *c = tcase_create("pulse");

	tcase_add_test(c, a_first_batch_that_is_late_is_seen_through);
	tcase_add_test(c, workers_of_a_batch_each_come_back);
	tcase_add_test(c, batches_that_overlap_come_back);
	tcase_add_test(c, workers_that_stall_behind_their_first_batch_are_as_far_ahead);
	tcase_add_test(c, batches_of_all_workers_come_back);
	tcase_add_test(c, a_rank_that_reads_by_itself_comes_back);
	tcase_add_test(c, batches_of_one_sample_come_back);
	tcase_add_test(c, time_between_samples_is_no_batch);
	tcase_add_test(c, workers_of_each_epoch_and_a_short_last_batch_are_seen_through);
	tcase_add_test(c, steps_that_differ_are_known_by_their_distribution);
	tcase_add_test(c, slow_storage_leaves_a_bound);
	tcase_add_test(c, steps_that_waited_are_left_out);
	tcase_add_test(c, the_batch_of_busy_workers_is_what_their_counts_have_in_common);
	tcase_add_test(c, ranks_of_one_process_are_told_apart);
	tcase_add_test(c, few_reads_are_no_pipeline);
	suite_add_tcase(s, c);
	return s;
}
