/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_checkpoint.c - the options of checkpoints, and what follows from them. */
#include "job_options.h"
#include "reap_rig.h"
#include "suites.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "job/job.h"

static const struct mlgen_engine files_engine = {
	.name = "files",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) | MLGEN_CAP_DIRECT,
};
static const struct mlgen_engine cached_engine = {
	.name = "cached",
	.caps = MLGEN_CAP(MLGEN_READ),
};
static const struct mlgen_engine writes_engine = {
	.name = "writes",
	.caps = MLGEN_CAP(MLGEN_WRITE),
};

static const struct mlgen_engine libaio_engine = {
	.name = "libaio",
	.reap = no_reap,
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) | MLGEN_CAP_DIRECT,
};

#define SAVE "phase=checkpoint checkpoint_size=1m"
#define RESTORE "phase=restore checkpoint_size=1m"
#define SAVES "checkpoint_size=1m checkpoint_every=1s"

/* Options set one after the other, and the fault that follows; NULL = none. */
static const struct {
	const char *options;
	const struct mlgen_engine *engine;
	const char *fault;
} checks[] = {
	/* who can */
	{ SAVE, &files_engine, NULL },
	{ RESTORE, &files_engine, NULL },
	{ SAVE, &writes_engine, NULL },
	{ SAVE, &cached_engine, "ioengine: cached cannot write; phase=check" },
	{ RESTORE, &cached_engine, NULL },
	{ RESTORE, &writes_engine, "ioengine: writes cannot read; phase=rest" },
	{ SAVES, &files_engine, NULL },
	{ SAVES, &cached_engine, "ioengine: cached cannot write; checkpoint_" },
	{ SAVE " direct=1", &writes_engine, "direct: ioengine=writes cannot" },
	{ SAVE " iodepth=8", &files_engine,
	  "iodepth: ioengine=files does one request at a time; mlgen uses 1, and more "
	  "checkpoint_threads" },
	{ SAVE " iodepth=8 direct=1", &libaio_engine, NULL },
	/* of what */
	{ "phase=checkpoint", &files_engine, "model_layers: no option defines" },
	{ "phase=restore", &files_engine, "model_layers: no option defines" },
	{ "checkpoint_every=1s", &files_engine, "model_layers: no option defines" },
	{ SAVE " model_layers=1", &files_engine, "checkpoint_size: replaces" },
	{ SAVE " ranks=3 tensor_parallel=2", &files_engine, "ranks: 3 is not" },
	{ SAVE " checkpoint_ranks=1", &files_engine,
	  "checkpoint_ranks: 1 is not among the 1 ranks" },
	{ SAVE " ranks=1000000 checkpoint_threads=5", &files_engine,
	  "checkpoint_threads: 5 for each of 1000000 ranks" },
	{ SAVE " ranks=1000000 checkpoint_threads=4", &files_engine, NULL },
	{ SAVE " ranks=1000000 checkpoint_threads=1024 checkpoint_ranks=0-4095", &files_engine,
	  NULL },
	{ SAVE " model_hidden=64", &files_engine,
	  "model_hidden: has an effect only with model_layers" },
	{ SAVE " zero_stage=1", &files_engine, "zero_stage: has an effect only with model_layers" },
	{ SAVE " tensor_parallel=2", &files_engine, NULL },
	{ "phase=checkpoint checkpoint_layout=pattern", &files_engine, NULL },
	{ "phase=checkpoint checkpoint_layout=pattern model_layers=1", &files_engine,
	  "model_layers: has an effect only with checkpoint_layout=torch" },
	{ "phase=checkpoint checkpoint_layout=pattern tensor_sizes=x", &files_engine,
	  "tensor_sizes: has an effect only with checkpoint_layout=torch" },
	{ "phase=checkpoint checkpoint_layout=pattern model_bytes=4", &files_engine,
	  "model_bytes: has an effect only with checkpoint_layout=torch" },
	{ "phase=checkpoint checkpoint_layout=pattern checkpoint_pattern=bert", &files_engine,
	  NULL },
	{ SAVE " checkpoint_pattern=bert", &files_engine,
	  "checkpoint_pattern: has an effect only with checkpoint_layout=pattern" },
	/* in which phase */
	{ SAVE " checkpoint_every=1s", &files_engine,
	  "checkpoint_every: has an effect only with phase=train" },
	{ SAVE " checkpoint_mode=async", &files_engine,
	  "checkpoint_mode: has an effect only with phase=train" },
	{ SAVE " snapshot_bandwidth=1g", &files_engine,
	  "snapshot_bandwidth: has an effect only with phase=train" },
	{ SAVE " restore_shift=1", &files_engine,
	  "restore_shift: has an effect only with phase=restore" },
	{ SAVE " verify=crc32c", &files_engine, "verify: has an effect only with phase=restore" },
	{ SAVE " ramp_time=1", &files_engine,
	  "ramp_time: has an effect only with phase=train and phase=io" },
	{ RESTORE " time_based=1 runtime=1", &files_engine,
	  "time_based: has an effect only with phase=train and phase=io" },
	{ SAVE " continue_on_error=all", &files_engine,
	  "continue_on_error: has an effect only with phase=train and phase=io" },
	{ SAVE " max_errors=3", &files_engine,
	  "max_errors: has an effect only with phase=train and phase=io" },
	{ SAVE " numa=device", &files_engine, "numa: has an effect only with phase=train" },
	{ SAVE " checkpoints=10 pause=5s checkpoint_keep=3 rename_commit=1 checkpoint_fsync=end "
	       "checkpoint_directory=/d drop_caches=run",
	  &files_engine, NULL },
	{ RESTORE " checkpoints=10 pause=5s verify=crc32c drop_caches=run", &files_engine, NULL },
	{ RESTORE " checkpoint_keep=3", &files_engine,
	  "checkpoint_keep: has an effect only with phase=checkpoint and phase=train" },
	{ RESTORE " checkpoint_fsync=none", &files_engine,
	  "checkpoint_fsync: has an effect only with phase=checkpoint and" },
	{ RESTORE " rename_commit=1", &files_engine,
	  "rename_commit: has an effect only with phase=checkpoint and" },
	{ SAVES " checkpoints=2", &files_engine,
	  "checkpoints: has an effect only with phase=checkpoint and phase=restore" },
	{ SAVES " pause=2", &files_engine,
	  "pause: has an effect only with phase=checkpoint and phase=restore" },
	{ SAVES " verify=crc32c", &files_engine, "verify: has an effect only with" },
	{ SAVES " checkpoint_mode=async snapshot_bandwidth=1g", &files_engine, NULL },
	{ SAVES " snapshot_bandwidth=1g", &files_engine,
	  "snapshot_bandwidth: has an effect only with checkpoint_mode=async" },
	{ SAVES " checkpoint_every=5", &files_engine, "checkpoint_every: '5' is not an interval" },
	{ SAVES " dataset=scan", &files_engine,
	  "checkpoint_directory: by default checkpoints are within" },
	{ SAVES " dataset=scan directory=/d checkpoint_directory=/d/c", &files_engine,
	  "checkpoint_directory: /d/c is within" },
	{ SAVES " dataset=scan directory=/d/ checkpoint_directory=/d", &files_engine,
	  "checkpoint_directory: /d is within" },
	{ SAVES " dataset=scan directory=/d checkpoint_directory=/dc", &files_engine, NULL },
	{ SAVES " directory=/d checkpoint_directory=/d/c", &files_engine, NULL },
	/* a training without them, and one that turns them off */
	{ "checkpoint_keep=3", &files_engine,
	  "checkpoint_keep: has an effect only with checkpoint_every" },
	{ "model_layers=3", &files_engine,
	  "model_layers: has an effect only with checkpoint_every" },
	{ "checkpoint_every=0 model_layers=3 model_hidden=63", &files_engine, NULL },
	{ "phase=prepare model_layers=3 checkpoint_keep=3", &files_engine, NULL },
	/* calls */
	{ SAVE " bs=4k", &files_engine, NULL },
	{ SAVE " bs=1000", &files_engine, "bs: 1000 is not a multiple of 4096" },
	{ SAVE " bs=1000 direct=1", &files_engine, "bs: 1000 is not a multiple of 4096" },
	{ SAVES " bs=1000 direct=1", &files_engine, "bs: 1000 is not a multiple of 4096" },
	{ SAVE " bs=4k,8k", &files_engine, "bs: 4096 and 8192: checkpoints" },
	{ SAVE " access=framework bs=1000", &files_engine,
	  "bs: access=framework uses its own sizes" },
	{ SAVE " access=framework iodepth=2 direct=1 checkpoint_layout=stream", &libaio_engine,
	  "iodepth: access=framework makes one call" },
	{ SAVE " access=framework direct=1", &files_engine,
	  "direct: with access=framework only checkpoint_layout=stream" },
	{ SAVE " access=framework direct=1 checkpoint_layout=deepspeed", &files_engine,
	  "direct: with access=framework only" },
	{ SAVES " access=framework direct=1", &files_engine, "direct: with access=framework only" },
	{ SAVE " access=framework direct=1 checkpoint_layout=stream", &files_engine, NULL },
	{ SAVE " access=framework checkpoint_threads=2", &files_engine,
	  "checkpoint_threads: with access=framework a thread handles" },
	{ SAVE " access=framework checkpoint_threads=2 checkpoint_layout=deepspeed", &files_engine,
	  NULL },
	{ SAVE " checkpoint_threads=2", &files_engine, NULL },
	{ RESTORE " invalidate=epoch", &files_engine, "invalidate: there are no epochs" },
	{ SAVES " invalidate=epoch", &files_engine, NULL },
	/* ranks that read each other's */
	{ RESTORE " ranks=8 restore_shift=0", &files_engine, NULL },
	{ RESTORE " ranks=8 restore_shift=7", &files_engine,
	  "restore_shift: shifts among the 8 ranks of this host" },
	{ RESTORE " ranks=8 checkpoint_ranks=2-3 restore_shift=1", &files_engine,
	  "restore_shift: shifts among the 2 ranks of this host" },
	{ RESTORE " ranks=8 restore_shift=8", &files_engine,
	  "restore_shift: 8 is not less than the 8 ranks" },
	{ RESTORE " ranks=8 checkpoint_ranks=2-3 restore_shift=2", &files_engine,
	  "restore_shift: 2 is not less than the 2 ranks" },
	{ RESTORE " restore_shift=1", &files_engine, "restore_shift: the only rank" },
};

START_TEST(options_that_do_not_fit_are_found)
{
	check_options(checks[_i].engine, checks[_i].options, checks[_i].fault);
}
END_TEST

static const struct {
	const char *text;
	int unit;
	uint64_t count;
	bool is_bad;
} everies[] = {
	{ "500 steps", EVERY_STEPS, 500, false },
	{ "500steps", EVERY_STEPS, 500, false },
	{ "1 step", EVERY_STEPS, 1, false },
	{ "1k steps", EVERY_STEPS, 1024, false },
	{ "2 epochs", EVERY_EPOCHS, 2, false },
	{ "1\tepoch", EVERY_EPOCHS, 1, false },
	{ "90s", EVERY_TIME, 90000000000, false },
	{ "10m", EVERY_TIME, 600000000000, false },
	{ "10 minutes", EVERY_TIME, 600000000000, false },
	{ "1 minute", EVERY_TIME, 60000000000, false },
	{ "1.5 hours", EVERY_TIME, 5400000000000, false },
	{ "2 days", EVERY_TIME, 172800000000000, false },
	{ "30 seconds", EVERY_TIME, 30000000000, false },
	{ "250 ms", EVERY_TIME, 250000000, false },
	{ "0", EVERY_TIME, 0, false },
	{ "0 steps", EVERY_STEPS, 0, false },
	{ "500", 0, 0, true },
	{ "", 0, 0, true },
	{ "steps", 0, 0, true },
	{ "1.5 steps", 0, 0, true },
	{ "-1 steps", 0, 0, true },
	{ "5 stps", 0, 0, true },
	{ "5 steps 6", 0, 0, true },
	{ "5 Steps", 0, 0, true },
	{ "99999999999999999999 steps", 0, 0, true },
	{ "5 10 m", 0, 0, true },
};

START_TEST(checkpoint_every_has_a_unit)
{
	struct job *j = job_new("x");
	struct mlgen_err err = { 0 };
	struct checkpoint_every e = { 0 };
	bool is_bad = everies[_i].is_bad;

	mem_replace(&j->checkpoint_every, everies[_i].text);
	ck_assert_int_eq(job_checkpoint_every(j, &e, &err), is_bad ? -EINVAL : 0);
	ck_assert_int_eq(job_has_checkpoints(j), is_bad || e.count);
	if (is_bad) {
		ck_assert_int_eq(strncmp(err.text, "checkpoint_every: '", 19), 0);
	} else {
		ck_assert_int_eq((int)e.unit, everies[_i].unit);
		ck_assert_uint_eq(e.count, everies[_i].count);
	}
	job_free(j);
}
END_TEST

START_TEST(a_job_saves_by_its_phase_or_every_so_often)
{
	static const struct {
		const char *options;
		bool has;
		const char *directory;
	} rows[] = {
		{ "", false, "mlgen-data/x/checkpoints" },
		{ "checkpoint_every=1s", true, "mlgen-data/x/checkpoints" },
		{ "checkpoint_every=1s directory=/d", true, "/d/checkpoints" },
		{ "checkpoint_every=1s checkpoint_directory=/e", true, "/e" },
		{ "phase=prepare checkpoint_every=1s", false, "mlgen-data/x" },
		{ "phase=io", false, "mlgen-data/x" },
		{ "phase=checkpoint", true, "mlgen-data/x" },
		{ "phase=restore directory=/d", true, "/d" },
		{ "phase=restore checkpoint_directory=/e", true, "/e" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct job *j = job_new("x");
		char *directory;

		set_options(j, rows[i].options);
		directory = job_checkpoint_directory(j);
		ck_assert_int_eq(job_has_checkpoints(j), rows[i].has);
		ck_assert_str_eq(directory, rows[i].directory);
		mem_free(directory);
		job_free(j);
	}
}
END_TEST

/* A file may describe the model once, for several kinds of jobs; a command line speaks to all of
 * them. */
START_TEST(what_is_said_of_several_jobs_is_not_noted)
{
	static const struct {
		const char *how, *job_file, *option_file;
		unsigned notes;
	} rows[] = {
		{ "[x]", "a.job", "a.job", 1 },       { "[global]", "a.job", "a.job", 0 },
		{ "[model=m]", "a.job", "a.job", 0 }, { "command line", "a.job", NULL, 0 },
		{ "command line", NULL, NULL, 1 },
	};
	const struct mlgen_field *f = field_find(job_fields, "checkpoint_keep");

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct job *j = job_new("x");
		struct job_origin *origin = &j->origins[f - job_fields];
		struct diag d;

		diag_init(&d);
		job_set_engine(j, &files_engine);
		set_options(j, RESTORE " checkpoint_keep=3");
		mem_replace(&origin->how, rows[i].how);
		j->at.file = rows[i].job_file;
		origin->at.file = rows[i].option_file;
		job_check(j, &d);
		ck_assert_msg(d.count == rows[i].notes, "%s", rows[i].how);
		diag_fini(&d);
		job_free(j);
	}
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_job_checkpoint(void)
{
	Suite *s = suite_create("job_checkpoint");
	TCase *t = tcase_create("job_checkpoint");

	tcase_add_loop_test(t, options_that_do_not_fit_are_found, 0, ROWS(checks));
	tcase_add_loop_test(t, checkpoint_every_has_a_unit, 0, ROWS(everies));
	tcase_add_test(t, a_job_saves_by_its_phase_or_every_so_often);
	tcase_add_test(t, what_is_said_of_several_jobs_is_not_noted);
	suite_add_tcase(s, t);
	return s;
}
