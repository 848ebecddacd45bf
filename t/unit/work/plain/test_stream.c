/* SPDX-License-Identifier: Apache-2.0 */
/* test_stream.c - plain jobs on the virtual clock: counts, pace and pauses exact to the
 * nanosecond. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "run/run.h"
#include "run/slot/slot.h"
#include "work/workloads.h"

#define MS 1000000ull
#define REQUEST 4096ull

/*
 * An engine without files: every read, write and sync takes op_ns of virtual time; read number
 * fail_at fails.
 */
struct mock {
	uint64_t op_ns;
	uint64_t fail_at;
};

static const struct mlgen_field mock_fields[] = {
	{ "op_ns", MLGEN_F_U64(struct mock, op_ns), .def = "0" },
	{ "fail_at", MLGEN_F_U64(struct mock, fail_at), .def = "1t" },
	{ 0 },
};

static _Atomic uint64_t reads;

static int mock_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	const struct mock *m = ctx->opts;
	enum mlgen_op op = io[0]->op;

	(void)n;
	io[0]->result = 0;
	if (op == MLGEN_OPEN || op == MLGEN_CLOSE)
		return 1;
	if (m->op_ns)
		ctx->sleep_until(ctx, ctx->now_ns(ctx) + m->op_ns);
	if (op == MLGEN_READ && atomic_fetch_add(&reads, 1) == m->fail_at)
		io[0]->result = -EIO;
	else if (op == MLGEN_READ || op == MLGEN_WRITE)
		io[0]->result = (int64_t)io[0]->len_bytes;
	return 1;
}

static const struct mlgen_engine mock_engine = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "mock",
	.help = "takes its time",
	.caps = ((1u << MLGEN_OPS) - 1) | MLGEN_CAP_NO_FILES,
	.opts = mock_fields,
	.opts_size = sizeof(struct mock),
	.submit = mock_submit,
};

static struct mock *mock_of(struct job *j)
{
	return j->engine_opts;
}

/* So many requests of 4 KiB, each of 1 ms. */
static struct job *new_job(int rw, uint64_t requests)
{
	struct job *j = job_new("plain");

	job_set_engine(j, &mock_engine);
	mock_of(j)->op_ns = MS;
	j->phase = PHASE_IO;
	j->rw = rw;
	j->bs = (struct u64_pair){ REQUEST, REQUEST };
	j->size.bytes = requests * REQUEST;
	return j;
}

struct ran {
	struct clock *clock;
	struct run *run;
	struct run_result *result;
	const struct job_result *job;
};

static const struct host host = {
	.cpus = 2, .cpus_online = 2, .memory_bytes = 1ull << 30, .open_files = 1024
};

static struct ran go(struct job *j)
{
	struct ran r = { .clock = clock_new_virtual(1000 * MS) };
	struct job *jobs[] = { j };
	struct run_config cfg = { .jobs = jobs, .count = 1, .host = &host, .clock = r.clock };
	struct mlgen_err err = { 0 };

	atomic_store(&reads, 0);
	ck_assert_msg(run_new(&r.run, &cfg, &err) == 0, "%s", err.text);
	run_execute(r.run);
	r.result = run_collect(r.run);
	r.job = &r.result->jobs[0];
	return r;
}

static void end(struct ran *r, struct job *j)
{
	run_free(r->run);
	clock_free(r->clock);
	job_free(j);
}

static void assert_near(double got, double want)
{
	ck_assert_msg(fabs(got - want) < 1e-9, "got %.9f, want %.9f", got, want);
}

static const struct {
	int rw;
	uint64_t requests, loops, reads, writes;
} counts[] = {
	{ RW_READ, 10, 1, 10, 0 },     { RW_WRITE, 10, 1, 0, 10 },    { RW_RANDREAD, 64, 1, 64, 0 },
	{ RW_RANDWRITE, 7, 3, 0, 21 }, { RW_RANDREAD, 10, 4, 40, 0 },
};

START_TEST(a_job_moves_its_size_once_a_loop)
{
	struct job *j = new_job(counts[_i].rw, counts[_i].requests);

	j->loops = counts[_i].loops;
	struct ran r = go(j);
	uint64_t all = counts[_i].reads + counts[_i].writes;

	ck_assert_int_eq(r.result->err.code, 0);
	ck_assert_ptr_eq(r.job->work, &work_io);
	ck_assert_uint_eq(r.job->read.total_ios, counts[_i].reads);
	ck_assert_uint_eq(r.job->write.total_ios, counts[_i].writes);
	ck_assert_uint_eq(r.job->read.io_bytes, counts[_i].reads * REQUEST);
	ck_assert_uint_eq(r.job->write.io_bytes, counts[_i].writes * REQUEST);
	ck_assert(r.job->complete);
	assert_near(r.job->wall_seconds, (double)all * 1e-3);
	ck_assert_ptr_null(r.job->read.slat_ns);
	end(&r, j);
}
END_TEST

START_TEST(a_rate_that_storage_can_meet_is_kept_to_the_nanosecond)
{
	struct job *j = new_job(RW_READ, 100);

	j->rate_iops.read = 100;
	struct ran r = go(j);

	/* Due at 0, 10, ... 990 ms; the last takes 1 ms. */
	assert_near(r.job->wall_seconds, 0.991);
	ck_assert_uint_eq(r.job->read.slat_ns->max_ns, 0);
	ck_assert_uint_eq(r.job->read.slat_ns->count, 100);
	ck_assert_uint_eq(r.job->read.total_ns->max_ns, MS);
	ck_assert(!r.job->io.rate[0].is_missed);
	assert_near(r.job->io.rate[0].asked_iops, 100);
	ck_assert(isnan(r.job->io.rate[0].asked_bytes_per_sec));
	ck_assert(isnan(r.job->io.rate[1].asked_iops));
	end(&r, j);
}
END_TEST

START_TEST(latency_of_a_missed_rate_counts_from_the_intended_start)
{
	struct job *j = new_job(RW_READ, 100);

	j->rate_iops.read = 2000;
	struct ran r = go(j);

	assert_near(r.job->wall_seconds, 0.1);
	ck_assert(r.job->io.rate[0].is_missed);
	/* Request k is due at k x 0.5 ms and starts at k x 1 ms. */
	ck_assert_uint_eq(r.job->read.slat_ns->max_ns, 99 * MS / 2);
	ck_assert_uint_eq(r.job->read.total_ns->max_ns, 99 * MS / 2 + MS);
	ck_assert_uint_eq(r.job->read.lat_ns->max_ns, MS);
	end(&r, j);
}
END_TEST

START_TEST(a_rate_in_bytes_and_one_in_requests_hold_both)
{
	struct job *j = new_job(RW_WRITE, 20);

	j->rate.write = 100 * REQUEST;
	j->rate_iops.write = 50;
	struct ran r = go(j);

	assert_near(r.job->wall_seconds, 19 * 0.02 + 0.001);
	ck_assert(!r.job->io.rate[1].is_missed);
	end(&r, j);
}
END_TEST

START_TEST(the_pace_of_a_mix_keeps_its_order)
{
	struct job *j = new_job(RW_RW, 10);
	struct pace p;

	j->rate_iops = (struct u64_pair){ 100, 1000 };
	pace_init(&p, j);
	ck_assert(p.is_paced);
	ck_assert_uint_eq(pace_due(&p, 0), 0);
	pace_advance(&p, 0, REQUEST);
	ck_assert_uint_eq(pace_due(&p, 1), 0);
	pace_advance(&p, 1, REQUEST);
	ck_assert_uint_eq(pace_due(&p, 0), 10 * MS);
	pace_advance(&p, 0, REQUEST);
	/* Writes behind it are not due before it, and make up for it. */
	for (unsigned i = 0; i < 10; i++) {
		ck_assert_uint_eq(pace_due(&p, 1), 10 * MS);
		pace_advance(&p, 1, REQUEST);
	}
	ck_assert_uint_eq(pace_due(&p, 1), 11 * MS);
	job_free(j);
}
END_TEST

static const struct {
	uint64_t blocks, requests;
	double seconds;
} thinks[] = {
	{ 1, 10, 0.010 + 10 * 0.005 },
	{ 4, 10, 0.010 + 2 * 0.005 },
	{ 100, 10, 0.010 },
};

START_TEST(thinktime_is_a_pause_after_so_many_requests)
{
	struct job *j = new_job(RW_READ, thinks[_i].requests);

	j->thinktime_ns = 5 * MS;
	j->thinktime_blocks = thinks[_i].blocks;
	struct ran r = go(j);

	assert_near(r.job->wall_seconds, thinks[_i].seconds);
	ck_assert_uint_eq(r.job->read.lat_ns->max_ns, MS);
	end(&r, j);
}
END_TEST

START_TEST(a_time_based_job_goes_on_until_runtime_is_over)
{
	struct job *j = new_job(RW_RANDREAD, 10);

	j->time_based = true;
	j->runtime_ns = 500 * MS;
	struct ran r = go(j);

	ck_assert_uint_eq(r.job->read.total_ios, 500);
	assert_near(r.job->wall_seconds, 0.5);
	ck_assert(r.job->complete);
	end(&r, j);
}
END_TEST

START_TEST(runtime_ends_a_job_that_is_larger)
{
	struct job *j = new_job(RW_READ, 1000);

	j->runtime_ns = 100 * MS;
	struct ran r = go(j);

	ck_assert_uint_eq(r.job->read.total_ios, 100);
	ck_assert(r.job->complete);
	end(&r, j);
}
END_TEST

START_TEST(ramp_time_only_delays_what_is_counted)
{
	struct job *j = new_job(RW_READ, 10);

	j->time_based = true;
	j->runtime_ns = 500 * MS;
	j->ramp_time_ns = 200 * MS;
	struct ran r = go(j);

	ck_assert_uint_eq(r.job->read.total_ios, 500);
	ck_assert_uint_eq(atomic_load(&reads), 700);
	assert_near(r.job->wall_seconds, 0.5);
	end(&r, j);
}
END_TEST

static const struct {
	uint64_t fsync, fdatasync;
	bool end_fsync;
	uint64_t syncs;
} syncs[] = {
	{ 0, 0, false, 0 }, { 4, 0, false, 2 }, { 1, 0, false, 10 },
	{ 0, 3, false, 3 }, { 0, 0, true, 1 },  { 4, 5, true, 5 },
};

START_TEST(syncs_come_after_so_many_writes)
{
	struct job *j = new_job(RW_WRITE, 10);

	j->fsync = syncs[_i].fsync;
	j->fdatasync = syncs[_i].fdatasync;
	j->end_fsync = syncs[_i].end_fsync;
	struct ran r = go(j);

	ck_assert_uint_eq(r.job->write.total_ios, 10);
	ck_assert_uint_eq(r.job->sync.total, syncs[_i].syncs);
	assert_near(r.job->wall_seconds, (double)(10 + syncs[_i].syncs) * 1e-3);
	end(&r, j);
}
END_TEST

START_TEST(reads_are_never_followed_by_a_sync)
{
	struct job *j = new_job(RW_READ, 10);

	j->fsync = 1;
	j->end_fsync = true;
	struct ran r = go(j);

	ck_assert_uint_eq(r.job->sync.total, 0);
	end(&r, j);
}
END_TEST

START_TEST(the_first_error_ends_the_job_and_says_where)
{
	struct job *j = new_job(RW_READ, 10);

	mock_of(j)->fail_at = 3;
	struct ran r = go(j);

	ck_assert_int_eq(r.result->err.code, -EIO);
	ck_assert_msg(strstr(r.result->err.text, "read at 12288"), "%s", r.result->err.text);
	ck_assert(!r.job->complete);
	ck_assert_uint_eq(r.job->read.total_ios, 3);
	end(&r, j);
}
END_TEST

static const struct {
	int how;
	bool goes_on;
} continues[] = {
	{ CONTINUE_NONE, false }, { CONTINUE_READ, true },   { CONTINUE_IO, true },
	{ CONTINUE_ALL, true },   { CONTINUE_WRITE, false },
};

/* One of the 20 requests of two workers: the job has one error, not each. */
START_TEST(what_may_fail_is_of_the_job)
{
	struct job *j = new_job(RW_READ, 10);

	mock_of(j)->fail_at = 3;
	j->numjobs = 2;
	j->continue_on_error = CONTINUE_ALL;
	j->max_errors.percent = _i ? 5 : 4.9;
	struct ran r = go(j);
	const struct job_result *io[] = { &r.result->jobs[0], &r.result->jobs[1] };
	const struct job_result *met = io[0]->errors ? io[0] : io[1];

	ck_assert_uint_eq(r.result->job_count, 2);
	ck_assert_uint_eq(io[0]->errors + io[1]->errors, 1);
	ck_assert_uint_eq(io[0]->failed.is_too_many + io[1]->failed.is_too_many, !_i);
	ck_assert_uint_eq(met->failed.is_too_many, !_i);
	ck_assert_double_eq(met->failed.percent, 10);
	ck_assert_ptr_nonnull(strstr(met->failed.first, "read at "));
	end(&r, j);
}
END_TEST

START_TEST(continue_on_error_counts_what_it_names)
{
	struct job *j = new_job(RW_READ, 10);

	mock_of(j)->fail_at = 3;
	j->continue_on_error = continues[_i].how;
	struct ran r = go(j);

	ck_assert_uint_eq(r.job->errors, continues[_i].goes_on);
	ck_assert_int_eq(r.result->err.code, continues[_i].goes_on ? 0 : -EIO);
	ck_assert_uint_eq(r.job->read.total_ios, continues[_i].goes_on ? 9 : 3);
	end(&r, j);
}
END_TEST

START_TEST(each_of_numjobs_has_a_record)
{
	struct job *j = new_job(RW_RANDREAD, 10);

	j->numjobs = 3;
	struct ran r = go(j);

	ck_assert_uint_eq(r.result->job_count, 3);
	for (size_t i = 0; i < 3; i++) {
		const struct job_result *job = &r.result->jobs[i];

		ck_assert_uint_eq(job->io.jobnum, i);
		ck_assert_uint_eq(job->io.numjobs, 1);
		ck_assert_uint_eq(job->read.total_ios, 10);
		assert_near(job->wall_seconds, 0.01);
	}
	end(&r, j);
}
END_TEST

START_TEST(a_group_reports_as_one)
{
	struct job *j = new_job(RW_RANDREAD, 10);

	j->numjobs = 3;
	j->group_reporting = true;
	j->rate_iops.read = 100;
	struct ran r = go(j);

	ck_assert_uint_eq(r.result->job_count, 1);
	ck_assert_uint_eq(r.job->io.numjobs, 3);
	ck_assert_uint_eq(r.job->read.total_ios, 30);
	assert_near(r.job->io.rate[0].asked_iops, 300);
	ck_assert(!r.job->io.rate[0].is_missed);
	end(&r, j);
}
END_TEST

START_TEST(create_only_moves_nothing)
{
	struct job *j = new_job(RW_READ, 10);

	j->create_only = true;
	struct ran r = go(j);

	ck_assert_int_eq(r.result->err.code, 0);
	ck_assert_uint_eq(atomic_load(&reads), 0);
	ck_assert_uint_eq(r.result->job_count, 1);
	end(&r, j);
}
END_TEST

START_TEST(startdelay_is_no_part_of_the_wall_time)
{
	struct job *j = new_job(RW_READ, 10);

	j->startdelay_ns = 3000 * MS;
	struct ran r = go(j);

	assert_near(r.job->wall_seconds, 0.01);
	assert_near(r.job->elapsed_seconds, 3.01);
	end(&r, j);
}
END_TEST

Suite *suite_stream(void);

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_stream(void)
{
	Suite *s = suite_create("stream");
	TCase *c = tcase_create("stream");

	tcase_add_loop_test(c, a_job_moves_its_size_once_a_loop, 0, COUNT(counts));
	tcase_add_test(c, a_rate_that_storage_can_meet_is_kept_to_the_nanosecond);
	tcase_add_test(c, latency_of_a_missed_rate_counts_from_the_intended_start);
	tcase_add_test(c, a_rate_in_bytes_and_one_in_requests_hold_both);
	tcase_add_test(c, the_pace_of_a_mix_keeps_its_order);
	tcase_add_loop_test(c, thinktime_is_a_pause_after_so_many_requests, 0, COUNT(thinks));
	tcase_add_test(c, a_time_based_job_goes_on_until_runtime_is_over);
	tcase_add_test(c, runtime_ends_a_job_that_is_larger);
	tcase_add_test(c, ramp_time_only_delays_what_is_counted);
	tcase_add_loop_test(c, syncs_come_after_so_many_writes, 0, COUNT(syncs));
	tcase_add_test(c, reads_are_never_followed_by_a_sync);
	tcase_add_test(c, the_first_error_ends_the_job_and_says_where);
	tcase_add_loop_test(c, continue_on_error_counts_what_it_names, 0, COUNT(continues));
	tcase_add_loop_test(c, what_may_fail_is_of_the_job, 0, 2);
	tcase_add_test(c, each_of_numjobs_has_a_record);
	tcase_add_test(c, a_group_reports_as_one);
	tcase_add_test(c, create_only_moves_nothing);
	tcase_add_test(c, startdelay_is_no_part_of_the_wall_time);
	suite_add_tcase(s, c);
	return s;
}
