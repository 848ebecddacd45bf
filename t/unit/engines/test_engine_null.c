/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_null.c - the null engine takes no time, or exactly what its model of storage says. */
#include <pthread.h>

#include "engine_rig.h"
#include "suites.h"

#define WORKERS 8

/* A worker of a job, on a thread and with an io layer of its own. */
struct member {
	struct rig *rig;
	pthread_t thread;
	enum mlgen_op kind;
	uint64_t seed, bytes;
	uint64_t ops;      /* to do; UINT64_MAX: until stop_ns */
	uint64_t stop_ns;  /* begins none from then on */
	uint64_t done;     /* operations */
	uint64_t end_ns;   /* of the last one */
	uint64_t took[64]; /* of the first ones */
};

static void work(struct member *m, struct io *io)
{
	struct mlgen_file file = { .path = "/no/such/file", .fd = -1 };

	for (; m->done < m->ops && clock_now(m->rig->clock) < m->stop_ns; m->done++) {
		struct io_op op = { .io = { .op = m->kind, .file = &file, .len_bytes = m->bytes } };

		ck_assert_int_ge(io_do(io, &op), 0);
		m->end_ns = op.end_ns;
		if (m->done < 64)
			m->took[m->done] = op.end_ns - op.start_ns;
	}
}

static void *member_main(void *arg)
{
	struct member *m = arg;
	struct rig *r = m->rig;
	struct opstat stat;
	struct io_config cfg = { .job = &r->job,
				 .clock = r->clock,
				 .stat = &stat,
				 .iodepth = 1,
				 .buf_bytes = 4096,
				 .seed = m->seed };
	struct io *io;

	clock_join(r->clock);
	opstat_init(&stat);
	ck_assert_int_eq(io_new(&io, &cfg, NULL), 0);
	work(m, io);
	io_free(io);
	opstat_fini(&stat);
	clock_leave(r->clock);
	return NULL;
}

static struct member member(enum mlgen_op kind, uint64_t bytes, uint64_t ops)
{
	return (struct member){ .kind = kind, .bytes = bytes, .ops = ops, .stop_ns = UINT64_MAX };
}

/* All of them begin at time 1000. */
static void run(struct rig *r, struct member *members, unsigned count)
{
	clock_expect(r->clock, count);
	for (unsigned i = 0; i < count; i++) {
		members[i].rig = r;
		ck_assert_int_eq(pthread_create(&members[i].thread, NULL, member_main, &members[i]),
				 0);
	}
	clock_leave(r->clock);
	for (unsigned i = 0; i < count; i++)
		pthread_join(members[i].thread, NULL);
	clock_join(r->clock);
}

/* clang-format off */
static const struct time_case {
	const char *options[RIG_OPTIONS];
	uint64_t metadata_ns, transfer_ns; /* of 5000 bytes */
} time_cases[] = {
	{ { NULL }, 0, 0 },
	{ { "latency=0", NULL }, 0, 0 },
	{ { "latency=0", "bandwidth=0", NULL }, 0, 0 },
	{ { "latency=250us", NULL }, 250000, 250000 },
	{ { "latency=2", NULL }, 2000000000, 2000000000 },
	{ { "latency=uniform:3us:3us", NULL }, 3000, 3000 },
	{ { "bandwidth=5000", NULL }, 0, 1000000000 },
	{ { "bandwidth=3000", NULL }, 0, 1666666667 },
	{ { "bandwidth=50m", NULL }, 0, 95367 },
	{ { "bandwidth=1t", NULL }, 0, 5 },
	{ { "bandwidth=5000", "latency=1ms", NULL }, 1000000, 1001000000 },
};
/* clang-format on */

START_TEST(every_operation_takes_its_time_and_moves_its_bytes)
{
	const struct time_case *c = &time_cases[_i];
	uint64_t end_ns = 1000;
	struct rig r;

	ck_assert(rig_start(&r, "null", c->options, 1, 4096));
	r.file = (struct mlgen_file){ .path = "/no/such/file", .fd = -1 };
	for (unsigned kind = 0; kind < MLGEN_OPS; kind++) {
		struct io_op op = rig_op(&r, (enum mlgen_op)kind, 0, 5000);
		bool moves = kind == MLGEN_READ || kind == MLGEN_WRITE;
		uint64_t each = moves ? c->transfer_ns : c->metadata_ns;

		ck_assert_int_eq(io_do(r.io, &op), moves ? 5000 : 0);
		ck_assert_uint_eq(op.end_ns - op.start_ns, each);
		end_ns += each;
	}
	ck_assert_uint_eq(clock_now(r.clock), end_ns);
	rig_end(&r);
}
END_TEST

START_TEST(several_at_a_time_are_done_one_after_the_other)
{
	static const char *const options[] = { "latency=1ms", NULL };
	struct io_op ops[8], *done[8];
	struct rig r;

	ck_assert(rig_start(&r, "null", options, 8, 8 * 4096));
	for (unsigned i = 0; i < 8; i++) {
		ops[i] = rig_op(&r, MLGEN_READ, i * 4096, 4096);
		io_submit(r.io, &ops[i]);
	}
	rig_reap(&r, done, 8);
	ck_assert_uint_eq(clock_now(r.clock), 1000 + 8000000);
	ck_assert_uint_eq(r.stat.lat[MLGEN_READ]->max_ns, 1000000);
	rig_end(&r);
}
END_TEST

/* clang-format off */
static const struct shared_case {
	const char *options[RIG_OPTIONS];
	unsigned workers;
	uint64_t ops, bytes;
	uint64_t all_ns; /* of all of them */
} shared_cases[] = {
	{ { "bandwidth=1000000", NULL }, 1, 40, 1000, 40000000 },
	{ { "bandwidth=1000000", NULL }, 2, 20, 1000, 40000000 },
	{ { "bandwidth=1000000", NULL }, 8, 5, 1000, 40000000 },
	{ { "bandwidth=1m", NULL }, 4, 16, 1 << 20, 64000000000 },
	/* While there is another one, a worker's latency holds nobody up. */
	{ { "bandwidth=1000000", "latency=1ms", NULL }, 1, 40, 1000, 80000000 },
	{ { "bandwidth=1000000", "latency=1ms", NULL }, 2, 20, 1000, 41000000 },
	{ { "bandwidth=1000000", "latency=7ms", NULL }, 8, 5, 1000, 47000000 },
	{ { "bandwidth=1000000", "latency=3ms", NULL }, 2, 20, 1000, 81000000 },
	{ { "latency=3ms", NULL }, 8, 5, 1000, 15000000 },
};
/* clang-format on */

START_TEST(all_workers_together_take_bytes_by_bandwidth)
{
	const struct shared_case *c = &shared_cases[_i];
	struct member members[WORKERS];
	uint64_t end_ns = 0;
	struct rig r;

	ck_assert_int_eq(rig_job(&r, "null", c->options), 0);
	for (unsigned i = 0; i < c->workers; i++)
		members[i] = member(i % 2 ? MLGEN_WRITE : MLGEN_READ, c->bytes, c->ops);
	run(&r, members, c->workers);
	for (unsigned i = 0; i < c->workers; i++)
		if (members[i].end_ns > end_ns)
			end_ns = members[i].end_ns;
	ck_assert_uint_eq(end_ns, 1000 + c->all_ns);
	rig_end(&r);
}
END_TEST

/* Large requests of others are waited for once each, and no more. */
START_TEST(each_worker_has_its_turn_whatever_it_asks_for)
{
	static const char *const options[] = { "bandwidth=1000000000", NULL };
	struct member members[WORKERS];
	struct rig r;

	ck_assert_int_eq(rig_job(&r, "null", options), 0);
	for (unsigned i = 0; i < WORKERS; i++) {
		members[i] = member(MLGEN_READ, i < 2 ? 4096 : 1 << 20, UINT64_MAX);
		members[i].stop_ns = 1000000000;
	}
	run(&r, members, WORKERS);
	for (unsigned i = 0; i < WORKERS; i++) {
		ck_assert_uint_gt(members[i].done, 100);
		ck_assert_uint_le(members[i].done, members[0].done + 1);
		ck_assert_uint_ge(members[i].done + 1, members[0].done);
		/* from the second round on, each waits for one round */
		ck_assert_uint_le(members[i].took[9], (6 * (1 << 20) + 2 * 4096) + 8);
	}
	rig_end(&r);
}
END_TEST

START_TEST(metadata_does_not_wait_for_bytes)
{
	static const char *const options[] = { "bandwidth=5000", "latency=2ms", NULL };
	struct member members[] = { member(MLGEN_READ, 5000, 2), member(MLGEN_STAT, 5000, 10) };
	struct rig r;

	ck_assert_int_eq(rig_job(&r, "null", options), 0);
	run(&r, members, 2);
	ck_assert_uint_eq(members[0].end_ns, 1000 + 2 * 1002000000);
	ck_assert_uint_eq(members[1].end_ns, 1000 + 10 * 2000000);
	rig_end(&r);
}
END_TEST

static void draw_64(struct member *m, const char *const *options, uint64_t seed)
{
	struct rig r;

	*m = member(MLGEN_READ, 4096, 64);
	m->seed = seed;
	ck_assert_int_eq(rig_job(&r, "null", options), 0);
	run(&r, m, 1);
	rig_end(&r);
}

/* clang-format off */
static const char *const drawn_cases[] = {
	"latency=normal:1ms:200us", "latency=lognormal:1ms:500us",
	"latency=uniform:500us:1500us", "latency=exponential:1ms",
	"latency=gamma:4:250us",
};
/* clang-format on */

START_TEST(drawn_latencies_are_the_worker_s_own_and_the_same_in_every_run)
{
	const char *const options[] = { drawn_cases[_i], NULL };
	struct member first, again, other;
	uint64_t sum = 0;
	unsigned alike = 0;

	draw_64(&first, options, 7);
	draw_64(&again, options, 7);
	draw_64(&other, options, 8);
	for (unsigned i = 0; i < 64; i++) {
		ck_assert_uint_eq(first.took[i], again.took[i]);
		alike += first.took[i] == other.took[i];
		sum += first.took[i];
	}
	ck_assert_uint_lt(alike, 4);
	ck_assert_uint_eq(first.end_ns, 1000 + sum);
	/* of mean 1 ms and a deviation of at most that: 5 of its errors */
	ck_assert_uint_gt(sum / 64, 1000000 - 625000);
	ck_assert_uint_lt(sum / 64, 1000000 + 625000);
}
END_TEST

START_TEST(checkpoints_beside_a_training_have_no_storage_of_their_own)
{
	static const char *const options[] = { "bandwidth=1000000", NULL };
	struct mlgen_engine_job saver;
	struct rig r, other;

	ck_assert(rig_start(&r, "null", options, 1, 4096));
	ck_assert_int_eq(rig_job(&other, "null", options), 0);
	ck_assert_ptr_ne(other.job.priv, r.job.priv);
	saver = r.job;
	saver.priv = NULL;
	saver.beside = &r.job;
	ck_assert_int_eq(saver.engine->job_init(&saver, NULL), 0);
	ck_assert_ptr_eq(saver.priv, r.job.priv);
	/* In either order. */
	io_free(r.io);
	r.io = NULL;
	r.job.engine->job_fini(&r.job);
	ck_assert_ptr_null(r.job.priv);
	saver.engine->job_fini(&saver);
	ck_assert_ptr_null(saver.priv);
	rig_end(&other);
	rig_end(&r);
}
END_TEST

/* clang-format off */
static const struct {
	const char *option, *value, *message;
} bad_cases[] = {
	{ "latency", "normal:1ms", "incomplete distribution" },
	{ "latency", "-1ms", "latency: " },
	{ "latency", "2h", "above the maximum" },
	{ "latency", "normal:2h:1s", "above the maximum" },
	{ "latency", "dlio:1ms:1ms", "only for sizes" },
	{ "latency", "pareto:1ms", "is not a distribution" },
	{ "bandwidth", "fast", "bandwidth: " },
	{ "bandwidth", "-1", "bandwidth: " },
};
/* clang-format on */

START_TEST(a_model_that_makes_no_sense_is_refused)
{
	const struct mlgen_engine *e = engines_find("null");
	void *opts = mem_zalloc(e->opts_size);
	const struct mlgen_field *f = field_find(e->opts, bad_cases[_i].option);
	struct mlgen_err err = { 0 };

	field_defaults(e->opts, opts);
	ck_assert_ptr_nonnull(f);
	ck_assert_int_lt(field_parse(f, opts, bad_cases[_i].value, 1024, &err), 0);
	ck_assert_msg(strstr(err.text, bad_cases[_i].message) != NULL, "%s", err.text);
	field_fini(e->opts, opts);
	mem_free(opts);
}
END_TEST

START_TEST(a_forgotten_unit_is_no_storage)
{
	static const struct {
		const char *options[RIG_OPTIONS];
		int rc;
	} rows[] = {
		{ { "bandwidth=1", NULL }, -EINVAL },
		{ { "bandwidth=50", "latency=1ms", NULL }, -EINVAL },
		{ { "bandwidth=1023", NULL }, -EINVAL },
		{ { "bandwidth=1024", NULL }, 0 },
		{ { "bandwidth=0", "latency=1ms", NULL }, 0 },
	};
	struct mlgen_err err = { 0 };
	struct bare_rig b;

	bare_prepare(&b, "null", rows[_i].options, 1);
	ck_assert_int_eq(b.engine->job_init(&b.job, &err), rows[_i].rc);
	ck_assert(rows[_i].rc == 0 ||
		  strstr(err.text, "is below the minimum 1k; for MiB per second write ") != NULL);
	b.engine->job_fini(&b.job);
	bare_end(&b);
}
END_TEST

#define LOOP(tcase, test, cases)                                                                   \
	tcase_add_loop_test(tcase, test, 0, (int)(sizeof(cases) / sizeof((cases)[0])))

Suite *suite_engine_null(void)
{
	Suite *s = suite_create("engine_null");
	TCase *t = tcase_create("one worker");

	LOOP(t, every_operation_takes_its_time_and_moves_its_bytes, time_cases);
	tcase_add_test(t, several_at_a_time_are_done_one_after_the_other);
	LOOP(t, a_model_that_makes_no_sense_is_refused, bad_cases);
	tcase_add_loop_test(t, a_forgotten_unit_is_no_storage, 0, 5);
	suite_add_tcase(s, t);

	t = tcase_create("several workers");
	LOOP(t, all_workers_together_take_bytes_by_bandwidth, shared_cases);
	tcase_add_test(t, each_worker_has_its_turn_whatever_it_asks_for);
	tcase_add_test(t, metadata_does_not_wait_for_bytes);
	LOOP(t, drawn_latencies_are_the_worker_s_own_and_the_same_in_every_run, drawn_cases);
	tcase_add_test(t, checkpoints_beside_a_training_have_no_storage_of_their_own);
	suite_add_tcase(s, t);
	return s;
}
