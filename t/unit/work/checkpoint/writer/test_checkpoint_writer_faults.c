/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint_writer_faults.c - a checkpoint that fails or is interrupted leaves nothing, and
 * time is accounted for. */
#include "suites.h"

#include <math.h>

#include "run/slot/slot.h"
#include "writer_rig.h"
#include "work/workloads.h"

static bool is_empty(void)
{
	return rmdir(directory) == 0 && mkdir(directory, 0700) == 0;
}

/* Operation number n fails: of the second checkpoint, or of the first. */
struct fault {
	int rc;
	uint64_t completed;
	size_t left; /* as another job finds it */
	struct mlgen_err err;
};

static struct fault fail_at(unsigned number, const char *options)
{
	struct fault out;
	char text[64];
	struct rig r;

	make_directory();
	snprintf(text, sizeof(text), "fail_after=%u", number);
	rig_open(&r, engines_find("fault"), options, text);
	rig_start(&r, clock_new_real());
	out.rc = rig_save(&r, 2);
	rig_finish(&r);
	out.completed = r.result.completed;
	out.err = r.err;
	for (size_t i = 0; i < r.result.items.count; i++)
		if (!rig_record(&r, i)->complete)
			ck_assert_str_eq(rig_record(&r, i)->error, r.failure.err.text);
	checkpoints_fini(&r.checkpoints);
	ck_assert_int_eq(checkpoints_open(&r.checkpoints, directory, &r.set, NULL), 0);
	out.left = r.checkpoints.count;
	for (size_t i = 0; i < out.left; i++)
		ck_assert(r.checkpoints.items[i].is_complete || out.completed == 2);
	ck_assert_uint_eq(r.checkpoints.foreign_count, 0);
	if (out.left == 0)
		ck_assert(is_empty());
	rig_end(&r);
	remove_directory();
	return out;
}

static const char *const words[] = {
	".pt: open: Input/output error",
	".pt: write at ", /* of several threads any may be the one */
	".pt: fsync: Input/output error",
	".pt: close: Input/output error",
	"rename to global_epoch1_step1: Input/output error",
	"unlink: Input/output error",
};

#define WORDS (sizeof(words) / sizeof(words[0]))

static const char *const fault_ways[] = {
	"access=plain bs=4m",
	"access=framework",
	"access=framework checkpoint_layout=stream checkpoint_fsync=end",
	"access=plain bs=1m checkpoint_threads=2",
};

/* Whatever fails, what was whole before is whole, and nothing else is there. */
START_TEST(each_operation_that_fails_is_told_and_cleared_away)
{
	bool seen[WORDS] = { false };
	char options[128];
	unsigned quiet = 0;
	struct fault f;

	snprintf(options, sizeof(options), "%s ranks=1 rename_commit=1 checkpoint_keep=1",
		 fault_ways[_i]);
	/* Advice that fails is no failure, and is not the last operation. */
	for (unsigned n = 1; quiet < 2; n++) {
		ck_assert_uint_lt(n, 100);
		f = fail_at(n, options);
		quiet = f.rc == 0 && f.err.code == 0 ? quiet + 1 : 0;
		if (quiet)
			continue;
		ck_assert_msg(strncmp(f.err.text, "checkpoint ", 11) == 0, "%s", f.err.text);
		ck_assert_int_eq(f.err.code, -EIO);
		ck_assert_uint_eq(f.left, f.completed);
		for (unsigned i = 0; i < WORDS; i++)
			seen[i] |= strstr(f.err.text, words[i]) != NULL;
	}
	ck_assert_uint_eq(f.left, 1); /* the older one was deleted */
	for (unsigned i = 0; i < WORDS; i++)
		ck_assert_msg(seen[i], "nothing failed with '%s'", words[i]);
}
END_TEST

/* Saves at one step: by `engine`, of which operation `fail_after` fails. */
static int save_there(const struct mlgen_engine *engine, const char *options, unsigned fail_after)
{
	char text[64] = "";
	struct rig r;
	int rc;

	if (fail_after)
		snprintf(text, sizeof(text), "fail_after=%u", fail_after);
	rig_open(&r, engine, options, text);
	rig_start(&r, clock_new_real());
	rc = writer_begin_save(r.writer, 1, 5, &r.err);
	if (rc == 0)
		rc = writer_await(r.writer);
	rig_finish(&r);
	if (rc == 0 && atomic_load(&r.failure.is_set))
		rc = r.failure.err.code;
	rig_end(&r);
	return rc;
}

/* The one that is to be replaced, or the one that has replaced it. */
static void check_whole(const char *options, unsigned *newer)
{
	struct checkpoint k;
	struct rig r;

	rig_open(&r, engines_find("psync"), options, "");
	ck_assert_msg(checkpoints_to_restore(&r.checkpoints, 1, &k, &r.err) == 0, "%s", r.err.text);
	ck_assert_str_eq(k.name, "global_epoch1_step5");
	for (size_t i = 0; i < r.checkpoints.count; i++)
		ck_assert_int_ne(r.checkpoints.items[i].place, CHECKPOINT_PART);
	*newer += k.number > 1;
	rig_end(&r);
}

START_TEST(what_is_to_be_replaced_is_whole_until_that_is_done)
{
	const char *options = _i ? "ranks=1 bs=4m rename_commit=1" : "ranks=1 bs=4m";
	unsigned n = 0, newer = 0, rc;

	do {
		make_directory();
		ck_assert_int_eq(save_there(engines_find("psync"), options, 0), 0);
		rc = save_there(engines_find("fault"), options, ++n) != 0;
		check_whole(options, &newer);
		/* The next one finds nothing in its way. */
		ck_assert_int_eq(save_there(engines_find("psync"), options, 0), 0);
		remove_directory();
	} while (rc && n < 50);
	/* open, write, fsync, close, two renames, the unlink */
	ck_assert_uint_gt(n, 7);
	ck_assert_uint_lt(n, 50);
	ck_assert_uint_eq(newer, 2); /* where the unlink failed, and at last */
}
END_TEST

START_TEST(a_full_filesystem_says_what_is_missing)
{
	struct rig r;

	make_directory();
	rig_open(&r, engines_find("fault"), "model_layers=0 checkpoint_size=1m bs=64k ranks=1",
		 "fail_after=10 fail_errno=ENOSPC");
	rig_start(&r, clock_new_real());
	ck_assert_int_lt(rig_save(&r, 1), 0);
	rig_finish(&r);
	ck_assert_msg(strstr(r.err.text, "No space left on device; ") != NULL, "%s", r.err.text);
	ck_assert_ptr_nonnull(strstr(r.err.text, "of this checkpoint were still to be written"));
	rig_end(&r);
	ck_assert(is_empty());
	remove_directory();
}
END_TEST

/*
 * An engine of the test's own: each operation takes op_ns of virtual time and touches no file; at
 * write or read number stop_at the run is interrupted.
 */
struct mock {
	uint64_t op_ns, stop_at;
};

static const struct mlgen_field mock_fields[] = {
	{ "op_ns", MLGEN_F_U64(struct mock, op_ns), .def = "0" },
	{ "stop_at", MLGEN_F_U64(struct mock, stop_at), .def = "1t" },
	{ 0 },
};

static struct rig *scene;
static _Atomic uint64_t moves;

static int mock_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	const struct mock *m = ctx->opts;
	bool is_move = io[0]->op == MLGEN_WRITE || io[0]->op == MLGEN_READ;

	(void)n;
	ctx->sleep_until(ctx, ctx->now_ns(ctx) + m->op_ns);
	io[0]->result = is_move ? (int64_t)io[0]->len_bytes : 0;
	if (is_move && atomic_fetch_add(&moves, 1) + 1 == m->stop_at) {
		atomic_store(&scene->interrupted, true);
		writer_wake(scene->writer);
	}
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

static void open_scene(struct rig *r, const char *options, const char *engine_options)
{
	scene = r;
	atomic_store(&moves, 0);
	rig_open(r, &mock_engine, options, engine_options);
	rig_start(r, clock_new_virtual(1000 * MS));
}

static void assert_near(double got, double want)
{
	ck_assert_msg(fabs(got - want) < 1e-9, "got %.9f, want %.9f", got, want);
}

static double sum_of(const struct rank_percent *p)
{
	return p->data + p->open + p->write + p->read + p->fsync + p->close + p->other;
}

/* 2 ranks x 2 threads, each with its half of one file: one thread makes it, the other opens it,
 * half of it in requests of 16 KiB, fsync by the last, close. */
START_TEST(seconds_are_those_of_the_slowest_rank)
{
	const struct checkpoint_result *k;
	struct rig r;
	struct shard f;
	uint64_t n, half;

	open_scene(&r, "checkpoint_threads=2", "op_ns=1m");
	ck_assert_int_eq(rig_save(&r, 3), 0);
	writer_note_stall(r.writer, 5 * MS, 7 * MS, 12 * MS);
	rig_finish(&r);
	shard_init(&f, &r.set, 0, 0, 1);
	n = (f.bytes + 16383) / 16384;
	ck_assert_uint_eq(n % 2, 0); /* whoever is first */
	half = n / 2;
	k = rig_record(&r, 1);
	assert_near(k->seconds, (double)(2 + half + 1 + 1) * 1.048576e-3);
	ck_assert_uint_eq(k->number, 2);
	ck_assert_uint_eq(k->ranks, 2);
	ck_assert_uint_eq(k->bytes, 2 * f.bytes);
	ck_assert_uint_eq(k->files, 2);
	ck_assert(k->complete);
	assert_near(k->bytes_per_sec, (double)k->bytes / k->seconds);
	assert_near(k->slowest_rank_bytes_per_sec, (double)f.bytes / k->seconds);
	ck_assert(isnan(k->stall_seconds));
	assert_near(rig_record(&r, 2)->stall_seconds, 0.012);
	assert_near(r.result.stall_seconds, 0.012);
	assert_near(r.result.wait_seconds, 0.007);
	assert_near(r.result.snapshot_seconds, 0.005);
	ck_assert_uint_eq(r.result.count, 3);
	ck_assert_uint_eq(r.result.bytes, 3 * k->bytes);
	assert_near(r.result.seconds_mean, k->seconds);
	assert_near(r.result.later_seconds, k->seconds);
	assert_near(r.result.wall_seconds, 3 * k->seconds);
	ck_assert(r.result.durable);
	ck_assert_uint_eq(r.result.threads, 4);
	ck_assert_uint_eq(r.result.open_ns->count, 3 * 4);
	ck_assert_uint_eq(r.result.write_ns->count, 3 * 2 * n);
	ck_assert_uint_eq(r.result.fsync_ns->count, 3 * 2);
	assert_near(sum_of(&r.result.rank_percent), 100);
	ck_assert(r.result.rank_percent.write > 50);
	ck_assert_uint_eq(r.result.write_ns->max_ns, 1048576);
	rig_end(&r);
}
END_TEST

START_TEST(files_stay_open_until_all_are_written)
{
	struct rig r;

	open_scene(&r,
		   "checkpoint_threads=3 checkpoint_fsync=end checkpoint_layout=deepspeed "
		   "access=framework",
		   "op_ns=1m");
	ck_assert_int_eq(rig_save(&r, 1), 0);
	rig_finish(&r);
	ck_assert_uint_eq(r.result.fsync_ns->count, r.result.open_ns->count);
	ck_assert_uint_eq(r.result.close_ns->count, r.result.open_ns->count);
	/* and the directory in each thread */
	ck_assert_uint_eq(writer_open_files(r.job, &r.set), 6 + 6);
	rig_end(&r);
}
END_TEST

START_TEST(without_fsync_it_is_not_durable)
{
	struct rig r;

	open_scene(&r, "checkpoint_fsync=none", "");
	ck_assert_int_eq(rig_save(&r, 1), 0);
	rig_finish(&r);
	ck_assert_uint_eq(r.result.fsync_ns->count, 0);
	ck_assert(!r.result.durable);
	rig_end(&r);
}
END_TEST

START_TEST(an_interruption_gives_the_checkpoint_up)
{
	struct writer_progress look;
	struct rig r;

	open_scene(&r, "checkpoint_threads=2", "op_ns=1m stop_at=5");
	ck_assert_int_eq(rig_save(&r, 1), -ECANCELED);
	writer_progress(r.writer, &look);
	ck_assert_uint_eq(look.number, 1);
	ck_assert_uint_eq(look.count, 1);
	ck_assert_uint_gt(look.bytes_done, 0);
	ck_assert_uint_lt(look.bytes_done, look.bytes_total);
	ck_assert(!look.is_busy);
	rig_finish(&r);
	ck_assert_uint_eq(r.result.count, 1);
	ck_assert_uint_eq(r.result.completed, 0);
	ck_assert_str_eq(rig_record(&r, 0)->error, "interrupted");
	ck_assert_uint_lt(atomic_load(&moves), 10);
	ck_assert(!atomic_load(&r.failure.is_set));
	ck_assert_uint_eq(r.checkpoints.count, 0);
	rig_end(&r);
}
END_TEST

/* It moves files of its own, through another engine. */
static const struct mlgen_engine *psync;

/* The other thread does not get ahead while this one stops. */
static int stopping_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	pthread_mutex_lock(&lock);
	if (io[0]->op == MLGEN_WRITE && atomic_fetch_add(&moves, 1) == 3) {
		atomic_store(&scene->interrupted, true);
		stop_set(&scene->stop, scene->clock);
		writer_wake(scene->writer);
	}
	pthread_mutex_unlock(&lock);
	return psync->submit(ctx, io, n);
}

/* No call is begun for it, be it to take it away. */
START_TEST(an_interrupted_one_stays_and_is_known_to_be_broken)
{
	struct mlgen_engine stopping;
	struct rig r;

	psync = engines_find("psync");
	stopping = *psync;
	stopping.submit = stopping_submit;
	scene = &r;
	make_directory();
	atomic_store(&moves, 0);
	rig_open(&r, &stopping, _i ? "rename_commit=1" : "", "");
	rig_start(&r, clock_new_real());
	ck_assert_int_eq(rig_save(&r, 1), -ECANCELED);
	rig_finish(&r);
	ck_assert(!is_empty());
	ck_assert_int_eq(r.err.code, 0);
	ck_assert_str_eq(rig_record(&r, 0)->error, "interrupted");
	ck_assert(!rig_record(&r, 0)->complete);
	/* the one that was under way in each of two threads, and no other */
	ck_assert_uint_le(atomic_load(&moves), 4 + 1);
	rig_end(&r);
	rig_open(&r, psync, "", "");
	ck_assert_uint_eq(r.checkpoints.count, 1);
	ck_assert(!r.checkpoints.items[0].is_complete);
	rig_start(&r, clock_new_real());
	rig_finish(&r);
	rig_end(&r);
	remove_directory();
}
END_TEST

/* A run that is given up elsewhere leaves nothing either, and nobody waits. */
START_TEST(a_closed_saver_begins_nothing)
{
	struct rig r;

	make_directory();
	rig_open(&r, engines_find("psync"), "", "");
	rig_start(&r, clock_new_real());
	writer_close(r.writer);
	ck_assert_int_eq(writer_await(r.writer), -EPIPE);
	ck_assert_int_eq(rig_save(&r, 1), -EPIPE);
	ck_assert(is_empty());
	rig_finish(&r);
	ck_assert_uint_eq(r.result.count, 0);
	rig_end(&r);
	remove_directory();
}
END_TEST

START_TEST(each_rank_reads_what_another_one_wrote)
{
	struct checkpoint k = { .number = 1, .name = "global_epoch1_step1" };
	struct rig r;

	scene = &r;
	rig_open(&r, &mock_engine, "zero_stage=1 restore_shift=3", "op_ns=1m");
	r.job->phase = PHASE_RESTORE;
	rig_start(&r, clock_new_virtual(1000 * MS));
	writer_begin_restore(r.writer, &k);
	ck_assert_int_eq(writer_await(r.writer), 0);
	rig_finish(&r);
	/* Rank 0 has the model besides its optimizer, and rank 1 reads it. */
	ck_assert_uint_eq(rig_record(&r, 0)->slowest_rank, 1);
	ck_assert(r.result.is_restore);
	ck_assert_uint_gt(r.result.read_ns->count, 0);
	ck_assert_uint_eq(r.result.write_ns->count, 0);
	assert_near(sum_of(&r.result.rank_percent), 100);
	rig_end(&r);
}
END_TEST

START_TEST(ranks_that_save_nothing_are_refused)
{
	struct writer_config cfg = { 0 };
	struct writer *s;
	struct rig r;

	rig_open(&r, &mock_engine,
		 "checkpoint_layout=pattern checkpoint_pattern=unet3d checkpoint_ranks=1", "");
	cfg = (struct writer_config){ .job = r.job,
				      .set = &r.set,
				      .checkpoints = &r.checkpoints,
				      .interrupted = &r.interrupted };
	ck_assert_int_eq(writer_new(&s, &cfg, &r.err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(r.err.text, "checkpoint_ranks"));
	ck_assert_ptr_null(s);
	rig_end(&r);
}
END_TEST

Suite *suite_checkpoint_writer_faults(void)
{
	Suite *s = suite_create("checkpoint_writer_faults");
	TCase *t = tcase_create("checkpoint_writer_faults");

	tcase_add_loop_test(t, each_operation_that_fails_is_told_and_cleared_away, 0,
			    sizeof(fault_ways) / sizeof(fault_ways[0]));
	tcase_add_loop_test(t, what_is_to_be_replaced_is_whole_until_that_is_done, 0, 2);
	tcase_add_test(t, a_full_filesystem_says_what_is_missing);
	tcase_add_test(t, seconds_are_those_of_the_slowest_rank);
	tcase_add_test(t, files_stay_open_until_all_are_written);
	tcase_add_test(t, without_fsync_it_is_not_durable);
	tcase_add_test(t, an_interruption_gives_the_checkpoint_up);
	tcase_add_loop_test(t, an_interrupted_one_stays_and_is_known_to_be_broken, 0, 2);
	tcase_add_test(t, a_closed_saver_begins_nothing);
	tcase_add_test(t, each_rank_reads_what_another_one_wrote);
	tcase_add_test(t, ranks_that_save_nothing_are_refused);
	suite_add_tcase(s, t);
	return s;
}
