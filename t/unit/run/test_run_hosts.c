/* SPDX-License-Identifier: Apache-2.0 */
/* test_run_hosts.c - trainings of several processes, which are threads here, draw the orders of one
 * with as many accelerators. */
#include "base/util.h"
#include "data/order/order.h"
#include "star_rig.h"
#include "suites.h"
#include "train_rig.h"
#include "work/train/tier/tier.h"

#define SAMPLES 9000u
#define BATCH 64u
#define EPOCHS 3u
#define ALL 6u /* accelerators of all processes */

static const uint64_t here[RANKS] = { 1, 2, 1, 2 };

/* One process; alone it has all accelerators. */
struct member_run {
	struct job *job;
	struct dataset dataset;
	struct clock *clock;
	struct failure failure;
	_Atomic bool interrupted;
	struct stop stop;
	struct placement place;
	struct train train;
	struct mlgen_err err;
};

/* What a test is about. */
static void (*set_options)(struct job *j);
static struct member_run alone, of[RANKS];

static struct job *job_of(uint64_t accelerators, uint64_t before)
{
	struct job *j = new_job();

	j->num_files = SAMPLES;
	j->sample_size = constant(64);
	j->batch_size = BATCH;
	j->compute_time = constant(0);
	j->barrier = BARRIER_EPOCH;
	j->epochs = EPOCHS;
	j->accelerators = accelerators;
	j->accelerators_before = before;
	j->accelerators_all = ALL;
	set_options(j);
	return j;
}

static void stop_process(void *member_run)
{
	struct member_run *p = member_run;

	train_close(&p->train);
}

static void begin_process(struct member_run *p, uint64_t accelerators, uint64_t before)
{
	struct train *t = &p->train;

	memset(p, 0, sizeof(*p));
	p->job = job_of(accelerators, before);
	p->place.disk_node = -1;
	p->clock = clock_new_real();
	failure_init(&p->failure, stop_process, p);
	ck_assert_int_eq(dataset_init(&p->dataset, p->job, 0, NULL), 0);
	ck_assert_msg(train_init(t, p->job, &p->dataset, NULL, 0, p->clock, &p->failure,
				 &p->interrupted, &p->err) == 0,
		      "%s", p->err.text);
	t->place = &p->place;
	t->stop = &p->stop;
	ck_assert_int_eq(train_open_tier(t, &p->err), 0);
}

static void run_process(struct member_run *p)
{
	clock_join(p->clock);
	ck_assert_int_eq(train_start(&p->train, &p->err), 0);
	clock_leave(p->clock);
	train_join(&p->train);
}

static void end_process(struct member_run *p)
{
	train_fini(&p->train);
	failure_fini(&p->failure);
	clock_free(p->clock);
	dataset_fini(&p->dataset);
	job_free(p->job);
}

static void run_member(struct member *m)
{
	struct member_run *p = &of[m->rank];
	uint64_t before = 0;

	for (unsigned i = 0; i < m->rank; i++)
		before += here[i];
	begin_process(p, here[m->rank], before);
	p->train.hosts = m->hosts;
	peers_join(&p->train.peers, m->hosts, hosts_reserve_channels(m->hosts, 1));
	run_process(p);
	ck_assert_int_eq(hosts_barrier(m->hosts, &m->err), 0);
	hosts_channel_detach(p->train.peers.channel);
	p->train.peers.channel = NULL;
}

static void run_together(void)
{
	struct member m[RANKS] = { 0 };

	run_members(m, run_member);
	for (unsigned i = 0; i < RANKS; i++)
		ck_assert_msg(m[i].met == 0, "%s", m[i].err.text);
}

static void end_together(void)
{
	for (unsigned i = 0; i < RANKS; i++)
		end_process(&of[i]);
}

/* The order of its ranks' last epoch, and what all have learnt before it. */
static void check_process(const struct member_run *p)
{
	const struct sampler *s = &p->train.stages.train.sampler;
	struct sampler_epoch mine, want;
	uint64_t first = p->job->accelerators_before;

	ck_assert_msg(!atomic_load(&p->failure.is_set), "%s", p->failure.err.text);
	sampler_epoch(&mine, s, EPOCHS - 1);
	sampler_epoch(&want, &alone.train.stages.train.sampler, EPOCHS - 1);
	for (uint64_t r = first; r < first + p->job->accelerators; r++)
		for (uint64_t i = 0; i < s->rank_extents; i++)
			ck_assert_uint_eq(sampler_at(&mine, r, i), sampler_at(&want, r, i));
	for (uint64_t i = 0; i < p->job->num_files && p->train.importance; i++)
		ck_assert_double_eq(importance_weight(p->train.importance, i),
				    importance_weight(alone.train.importance, i));
}

static uint64_t hits_of(const struct member_run *p)
{
	uint64_t accesses = 0, hits = 0;

	if (p->train.tier)
		tier_read_counters(p->train.tier, &accesses, &hits);
	return hits;
}

static void importance(struct job *j)
{
	j->shuffle.kind = SHUFFLE_IMPORTANCE;
	j->importance_rep = 1.5;
	j->importance_difficulty = (struct dist){ .kind = DIST_UNIFORM, .a = 1, .b = 9 };
	j->importance_decay = (struct dist){ .kind = DIST_UNIFORM, .a = 0.5, .b = 1 };
}

/* There are 3 turns in what they say of an epoch. */
static void large(struct job *j)
{
	importance(j);
	j->num_files = 70000;
}

static void relaxed(struct job *j)
{
	importance(j);
	j->importance_mode = IMPORTANCE_RELAXED;
}

static void of_ranks(struct job *j, int policy)
{
	j->cache = policy;
	j->cache_scope = CACHE_SCOPE_RANK;
	j->cache_size.percent = 5;
	j->cache_latency = constant(1);
}

static void cached(struct job *j)
{
	importance(j);
	of_ranks(j, CACHE_IMPORTANCE);
}

/* What was trained on is not what stands in the order, and follows from caches that the others do
 * not know. */
static void substituted(struct job *j)
{
	importance(j);
	of_ranks(j, CACHE_MINIO);
	j->cache_substitute = CACHE_SUBSTITUTE_ANY;
}

static void hits_first(struct job *j)
{
	j->shuffle.kind = SHUFFLE_SAMPLE;
	of_ranks(j, CACHE_LRU);
	j->cache_hits_first = true;
}

static void cut_off(struct job *j)
{
	large(j);
	j->num_files = 40000; /* and 2 turns here */
	j->drop_last = false;
	j->barrier = BARRIER_NONE;
}

static void (*const jobs[])(struct job *j) = {
	large, relaxed, cached, substituted, hits_first, cut_off,
};

START_TEST(orders_and_hits_are_those_of_one_process)
{
	uint64_t hits = 0;

	set_options = jobs[_i];
	begin_process(&alone, ALL, 0);
	run_process(&alone);
	run_together();
	for (unsigned i = 0; i < RANKS; i++) {
		check_process(&of[i]);
		hits += hits_of(&of[i]);
	}
	ck_assert_uint_eq(hits, hits_of(&alone));
	ck_assert_int_eq(hits > 0, alone.job->cache != CACHE_NONE);
	end_together();
	end_process(&alone);
}
END_TEST

static uint64_t fails_at;

static void failing(struct job *j)
{
	importance(j);
	mock_of(j)->fail_at = fails_at;
}

/* A read fails in one of them, early, late, or where epochs meet. */
START_TEST(a_failure_in_one_of_them_ends_all)
{
	unsigned failed = 0;

	set_options = failing;
	fails_at = (uint64_t)_i * SAMPLES / 4;
	atomic_store(&reads, 0);
	run_together();
	for (unsigned i = 0; i < RANKS; i++)
		failed += atomic_load(&of[i].failure.is_set);
	ck_assert_uint_eq(failed, 1);
	end_together();
}
END_TEST

Suite *suite_run_hosts(void)
{
	Suite *s = suite_create("run_hosts");
	TCase *t = tcase_create("several processes");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, orders_and_hits_are_those_of_one_process, 0, ARRAY_LEN(jobs));
	tcase_add_loop_test(t, a_failure_in_one_of_them_ends_all, 0, 12);
	suite_add_tcase(s, t);
	return s;
}
