/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_null.c - a training on modelled storage reaches what arithmetic says, to the
 * nanosecond. */
#include "field/fields.h"
#include "io/engines.h"
#include "suites.h"
#include "train_rig.h"

static void set(struct job *j, const char *option, const char *value)
{
	const struct mlgen_field *f = field_find(j->engine->opts, option);
	struct mlgen_err err = { 0 };

	ck_assert_ptr_nonnull(f);
	ck_assert_msg(field_parse(f, j->engine_opts, value, 1024, &err) == 0, "%s", err.text);
}

static struct job *null_job(const char *bandwidth, const char *latency)
{
	struct job *j = new_job();

	job_set_engine(j, engines_find("null"));
	set(j, "bandwidth", bandwidth);
	set(j, "latency", latency);
	return j;
}

/* clang-format off */
/* One request a sample; bytes per second are a share of what they ask for. */
static const struct training {
	uint64_t accelerators, batch, sample_bytes, compute_ns;
	double share; /* > 1: storage keeps up */
} trainings[] = {
	{ 1, 7, 146600628, 323 * MS, 0.5 },
	{ 8, 7, 146600628, 323 * MS, 0.9 },
	{ 2, 400, 114660, 224 * MS, 0.25 },
	{ 4, 1, 2828486, 3500000, 0.8 },
	{ 3, 48, 2500, 340 * MS, 1.25 },
	{ 2, 8, 2097152, 100 * MS, 0.03125 },
};
/* clang-format on */

static double au(const struct rank *k)
{
	return (double)k->counted_compute_ns / (double)k->counted_wall_ns;
}

START_TEST(utilisation_is_bandwidth_over_demand)
{
	const struct training *w = &trainings[_i];
	double demand = (double)(w->accelerators * w->batch * w->sample_bytes) * 1e9 /
			(double)w->compute_ns;
	struct rig r = { .job = null_job("0", "0") };
	struct job *j = r.job;
	char bandwidth[32];

	snprintf(bandwidth, sizeof(bandwidth), "%.0f", demand * w->share);
	set(j, "bandwidth", bandwidth);
	j->accelerators = w->accelerators;
	j->batch_size = w->batch;
	j->sample_size = constant(w->sample_bytes);
	j->bs.read = w->sample_bytes;
	j->compute_time = constant(w->compute_ns);
	j->num_files = 12 * w->accelerators * w->batch;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	for (uint64_t i = 0; i < w->accelerators; i++) {
		double got = au(&r.train.ranks[i]);
		double want = w->share < 1 ? w->share : 1;

		/* a request is a whole number of ns */
		ck_assert_msg(fabs(got - want) < 1e-4, "got %.6f, want %.6f", got, want);
	}
	rig_end(&r);
}
END_TEST

static uint64_t elapsed_with(uint64_t seed, uint64_t threads)
{
	struct rig r = { .job = null_job("0", "lognormal:5ms:5ms") };
	uint64_t ns;

	r.job->randseed = seed;
	r.job->shuffle.kind = SHUFFLE_NONE;
	r.job->read_threads = threads;
	r.job->compute_time = constant(0);
	r.job->num_files = 64;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	ns = r.elapsed_ns;
	rig_end(&r);
	return ns;
}

START_TEST(the_same_seed_draws_the_same_latencies)
{
	uint64_t threads = _i ? 3 : 1, first = elapsed_with(1, threads);

	ck_assert_uint_eq(elapsed_with(1, threads), first);
	ck_assert_uint_ne(elapsed_with(2, threads), first);
}
END_TEST

START_TEST(each_reader_draws_its_own)
{
	struct rig r = { .job = null_job("0", "exponential:1ms") };

	r.job->read_threads = 2;
	r.job->compute_time = constant(0);
	r.job->num_files = 64;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	const struct loader *l = r.train.ranks[0].loaders;
	ck_assert_uint_ne(l[0].worker.stat.lat[MLGEN_READ]->max_ns,
			  l[1].worker.stat.lat[MLGEN_READ]->max_ns);
	rig_end(&r);
}
END_TEST

START_TEST(checkpoints_take_their_bytes_from_the_same_storage)
{
	struct rig r = { .job = null_job("4096000", "0") };
	struct job *j = r.job;

	j->compute_time = constant(0);
	j->num_files = 32;
	j->checkpoint_every = mem_strdup("8 steps");
	j->checkpoint_mode = CHECKPOINT_ASYNC;
	j->checkpoint_layout = LAYOUT_STREAM;
	j->checkpoint_size_bytes = UINT64_C(8) * 4096;
	j->bs.write = 4096;
	rig_go(&r);
	ck_assert_msg(r.err.code == 0, "%s", r.err.text);
	ck_assert_uint_ge(r.saves.items.count, 3);
	/* 1 ms a block: 32 samples, and three that were saved in between. */
	ck_assert_uint_ge(r.elapsed_ns, (32 + 3 * 8) * MS);
	rig_end(&r);
}
END_TEST

Suite *suite_run_null(void)
{
	Suite *s = suite_create("run_null");
	TCase *t = tcase_create("trainings on modelled storage");

	tcase_add_loop_test(t, utilisation_is_bandwidth_over_demand, 0,
			    sizeof(trainings) / sizeof(trainings[0]));
	tcase_add_loop_test(t, the_same_seed_draws_the_same_latencies, 0, 2);
	tcase_add_test(t, each_reader_draws_its_own);
	tcase_add_test(t, checkpoints_take_their_bytes_from_the_same_storage);
	suite_add_tcase(s, t);
	return s;
}
