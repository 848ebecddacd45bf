/* SPDX-License-Identifier: Apache-2.0 */
/* test_help.c - what the tables print: help, man page lists, and jobs that read back. */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "job/job.h"
#include "temp.h"

#define TEXT_BYTES 131072

struct null_opts {
	uint64_t null_size;
};

/* clang-format off */
static const struct mlgen_field null_fields[] = {
	{ "null_size", MLGEN_F_SIZE(struct null_opts, null_size), .def = "4k", .help = "Some size.", .group = "null" },
	{ 0 },
};

/* As a table of metrics: no groups, no defaults. */
static const struct mlgen_field metrics[] = {
	{ "null_size", MLGEN_F_U64(struct null_opts, null_size), .unit = "bytes", .help = "Some figure.", .flags = MLGEN_NULLABLE },
	{ 0 },
};
/* clang-format on */

static const struct mlgen_engine psync_engine = {
	.name = "psync",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) | MLGEN_CAP_DIRECT,
};
static const struct mlgen_engine null_engine = {
	.name = "null",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP_NO_FILES,
	.opts = null_fields,
	.opts_size = sizeof(struct null_opts),
};
static const struct mlgen_engine *const engines[] = { &psync_engine, &null_engine, NULL };

static char path[TEMP_BYTES];
static char *text;
static FILE *to;

static void setup(void)
{
	close(temp_file(path));
	text = mem_zalloc(TEXT_BYTES);
	to = fmemopen(text, TEXT_BYTES, "w");
	ck_assert_ptr_nonnull(to);
}

static void teardown(void)
{
	fclose(to);
	mem_free(text);
	unlink(path);
}

static const char *printed(void)
{
	fflush(to);
	return text;
}

/* The longest line. */
static size_t width(const char *s)
{
	size_t most = 0;

	while (*s) {
		size_t len = strcspn(s, "\n");

		most = len > most ? len : most;
		s += len + (s[len] == '\n');
	}
	return most;
}

/* Lines of what was printed. */
static size_t height(const char *s)
{
	size_t lines = 0;

	for (; *s; s++)
		lines += *s == '\n';
	return lines;
}

START_TEST(help_is_a_screen_that_names_the_topics)
{
	static const char *const topics[] = { "before-a-run", "dataset", "io", "plain-io" };

	ck_assert_int_eq(help_topic(to, "", engines, NULL), 0);
	ck_assert_uint_le(width(printed()), 80);
	ck_assert_uint_le(height(text), 40);
	for (size_t i = 0; i < sizeof(topics) / sizeof(*topics); i++) {
		char want[80];

		snprintf(want, sizeof(want), "\n  %s ", topics[i]);
		ck_assert_msg(strstr(text, want), "%s", topics[i]);
	}
}
END_TEST

START_TEST(each_option_is_in_the_help_of_its_topic)
{
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		char want[80];

		rewind(to);
		ck_assert_int_eq(help_topic(to, f->group, engines, NULL), 0);
		ck_assert_uint_le(width(printed()), 80);
		snprintf(want, sizeof(want), "\n  --%s=", f->name);
		ck_assert_msg(strstr(text, want), "%s", f->name);
	}
}
END_TEST

START_TEST(help_of_an_option_is_that_of_cmdhelp)
{
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(help_topic(to, "read-threads", engines, NULL), 0);
	ck_assert_ptr_nonnull(strstr(printed(), "read_threads=INT   threads"));
	ck_assert_int_lt(help_topic(to, "dataste", engines, &err), 0);
	ck_assert_ptr_nonnull(strstr(
		err.text,
		"help=dataste: is neither a topic nor an option; topics are help before-a-run "));
	ck_assert_ptr_nonnull(strstr(err.text, " plain-io replay report, and all"));
}
END_TEST

START_TEST(help_of_all_has_every_option)
{
	ck_assert_int_eq(help_topic(to, "all", engines, NULL), 0);
	ck_assert_uint_le(width(printed()), 80);
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		char want[80];

		snprintf(want, sizeof(want), "\n  --%s=", f->name);
		ck_assert_msg(strstr(text, want), "%s", f->name);
	}
	for (const struct mlgen_field *f = settings_fields; f->name; f++) {
		char want[80];

		snprintf(want, sizeof(want), "\n  --%s", f->name);
		ck_assert_msg(strstr(text, want), "%s", f->name);
	}
}
END_TEST

START_TEST(cmdhelp_fits_eighty_columns)
{
	ck_assert_int_eq(help_option(to, "all", engines, NULL), 0);
	ck_assert_uint_le(width(printed()), 80);
	for (const struct mlgen_field *f = job_fields; f->name; f++)
		ck_assert_msg(strstr(text, f->name), "%s", f->name);
}
END_TEST

START_TEST(cmdhelp_of_one_option_is_as_shown_in_the_manual)
{
	ck_assert_int_eq(help_option(to, "read-threads", engines, NULL), 0);
	ck_assert_str_eq(
		printed(),
		"read_threads=INT   threads that read for one accelerator  default 4, 0 to 1024\n"
		"                   With 0 the accelerator reads each batch itself, and this time\n"
		"                   counts as stall.\n"
		"                   PyTorch: num_workers. MLPerf Storage: reader.read_threads (up\n"
		"                   to 32).\n");
}
END_TEST

START_TEST(cmdhelp_knows_aliases_engines_and_the_program)
{
	ck_assert_int_eq(help_option(to, "blocksize", engines, NULL), 0);
	ck_assert_int_eq(help_option(to, "null_size", engines, NULL), 0);
	ck_assert_int_eq(help_option(to, "dry_run", engines, NULL), 0);
	ck_assert_int_eq(strncmp(printed(), "bs=SIZE[,SIZE]", 14), 0);
	ck_assert_ptr_nonnull(strstr(text, "\nnull_size=SIZE "));
	ck_assert_ptr_nonnull(strstr(text, "\n--dry-run=0|1|show "));
}
END_TEST

START_TEST(cmdhelp_of_no_option_names_the_nearest)
{
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(help_option(to, "epoch", engines, &err), -ENOENT);
	ck_assert_str_eq(err.text, "epoch: unknown option; did you mean 'epochs'?");
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(help_option(to, "bsrange", engines, &err), -ENOENT);
	ck_assert_str_eq(err.text, "bsrange: fio option, not in mlgen: use bssplit");
}
END_TEST

START_TEST(cmdhelp_says_what_changes_nothing)
{
	ck_assert_int_eq(help_option(to, "thread", engines, NULL), 0);
	ck_assert_str_eq(
		printed(),
		"thread: fio option without effect in mlgen: workers are always threads\n");
}
END_TEST

START_TEST(lists_for_man_pages_are_balanced)
{
	size_t begun = 0, ended = 0;

	help_mdoc(to, job_fields, false);
	help_mdoc(to, settings_fields, true);
	ck_assert_uint_le(width(printed()), 80);
	for (const char *c = text; (c = strstr(c, ".Bl ")); c++)
		begun++;
	for (const char *c = text; (c = strstr(c, ".El\n")); c++)
		ended++;
	ck_assert_uint_gt(begun, 0);
	ck_assert_uint_eq(begun, ended);
	ck_assert_ptr_nonnull(strstr(text, ".It Cm bs Ns = Ns Ar SIZE[,SIZE]\n"));
	ck_assert_ptr_nonnull(strstr(text, ".It Fl -quiet\n"));
}
END_TEST

START_TEST(a_metric_has_no_default)
{
	help_mdoc(to, metrics, false);
	ck_assert_str_eq(printed(), ".Bl -tag -width Ds\n"
				    ".It Va null_size\n"
				    "Some figure.\n"
				    "(bytes, or null)\n"
				    ".El\n");
}
END_TEST

/* "In" is a macro of mdoc, for the names of C headers. */
START_TEST(a_heading_is_text)
{
	const struct mlgen_field table[] = {
		{ "epochs", MLGEN_F_U64(struct job, epochs), .group = "In a training",
		  .help = "How many." },
		{ 0 },
	};

	help_mdoc(to, table, false);
	ck_assert_ptr_nonnull(strstr(printed(), ".Ss \"In a training\"\n"));
}
END_TEST

static void load(struct jobset *set, struct diag *d, const char *line)
{
	const struct jobset_env env = { .engines = engines };
	char *words = mem_strdup(line), *at = words;
	char *argv[64] = { words };
	int argc = 1;

	while (*at && argc < 63) {
		argv[argc++] = at;
		at += strcspn(at, " ");
		if (*at)
			*at++ = '\0';
	}
	diag_init(d);
	jobset_load(set, argc, argv, &env, d);
	ck_assert_msg(!d->errors, "%s", d->count ? d->entries[0].text : "");
	mem_free(words);
}

static void assert_same(const struct job *a, const struct job *b)
{
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		struct buf x = { 0 }, y = { 0 };

		field_format(&x, f, a);
		field_format(&y, f, b);
		ck_assert_msg(strcmp(buf_str(&x), buf_str(&y)) == 0, "%s: %s, %s", f->name,
			      buf_str(&x), buf_str(&y));
		buf_fini(&x);
		buf_fini(&y);
	}
	ck_assert_str_eq(a->name, b->name);
	ck_assert_ptr_eq(a->engine, b->engine);
	if (a->engine_opts)
		ck_assert_int_eq(memcmp(a->engine_opts, b->engine_opts, a->engine->opts_size), 0);
}

/* Between them every option stands away from its default. */
static const char *const jobs[] = {
	"--name=x",
	"--name=x --phase=prepare --directory=/d/x --startdelay=1500ms --stonewall --runtime=1h "
	"--time_based --ramp_time=90 --randseed=7 --cpus_allowed=0-3,8 --numa_cpu_nodes=0,2-3 "
	"--numa=device --memory_limit=1g --memory_limit_required=0 --continue_on_error=read "
	"--ignore_error=EAGAIN,EIO:5 --max_errors=0.5% --format=raw --num_files=12345 "
	"--samples_per_file=3 --subfolders=5",
	"--name=x --sample_size=dlio:114660.07:0 --scale=2.5% --dataset_ratio=0.1 --shared=0 "
	"--distinct_files=8 --accelerator=h100 --accelerators=8 --batch_size=400 "
	"--compute_time=1360.4ms --barrier=epoch --epochs=5 --access=framework --steps=9 "
	"--target_au=90 --loader=plain --read_threads=9 --prefetch=1",
	"--name=x --shuffle=file --shard=contiguous --drop_last=0 --ioengine=null --null_size=12k "
	"--bs=252k --iodepth=8 --direct --invalidate=epoch --percentile_list=1:99.999 "
	"--group_reporting --write_iolog=/d/x.iolog",
	("--name=x --kb_base=1000 --bs=64kib --sample_size=uniform:1m:2mib --ioengine=null "
	 "--null_size=8kib --invalidate=0"),
	"--name=x --compute_time=lognormal:0.323:1ns --sample_size=gamma:2:1k",
	"--name=x --rw=randrw --rwmixread=70 --bssplit=4k/60:8k,64k --size=20% --io_size=1.5m "
	"--offset=1m --filename=/d/a:/d/b --filesize=1g --numjobs=3 --loops=2 --norandommap "
	"--mem=mmaphuge --buffered=0 --bs=,64k",
	"--name=x --rw=write --iodepth=16 --iodepth_batch_submit=8 --iodepth_batch_complete_min=2 "
	"--iodepth_batch_complete_max=9 --rate=1m,2m --rate_iops=,500 --thinktime=20 "
	"--thinktime_blocks=5 --fsync=8 --fdatasync=9 --end_fsync --create_only",
	"--name=x --format=parquet --columns=a_0..9:int8,b:float32[7] --read_columns=a_3..5,b "
	"--row_group_size=288 --eval_files=8 --eval_batch_size=2 --eval_time=uniform:1s:2s "
	"--eval_every=2 --eval_after=3 --guess=compute_time,batch_size --loader=tfdata "
	"--access=framework --shuffle=buffer:64 --shard=file --decode_threads=8 --deterministic=0 "
	"--preprocess_time=normal:5ms:1ms --preprocess=burn --hold_samples --fresh_memory=128k",
	"--name=x --dataset=scan --format=npz --scan_key=image --preprocess_time=1ms "
	"--preprocess_at=reads --preprocess_split=1/20:4/50 --first_sample_time=normal:9ms:1ms "
	"--first_sample_split=2/70 --worker_start=3ms",
	"--name=x --dataset=scan --format=npy --scan_pair=_x.npy:_y.npy",
	"--name=x --dataset=scan --format=parquet --access=framework --decompress=sleep "
	"--decompress_rate=100m",
	"--name=x --access=recorded --recorded_calls=/d/x.calls",
	"--name=x --dataset=scan --format=hdf5 --hdf5_dataset=train/x",
	"--name=x --dataset=scan --scan_errors=skip --format=jpeg --scan_depth=3 "
	"--file_list=/d/list --scan_cache=/d/kept",
	"--name=x --format=npy --label_size=2k",
	"--name=x --phase=io --kb_base=1000 --bs=64kib,1k --size=1m --rate=1mib --rwmixwrite=20",
	"--name=x --phase=checkpoint --model=m --model_layers=4 --model_hidden=64 --model_ffn=128 "
	"--model_heads=4 --model_kv_heads=2 --model_vocabulary=100 --model_bytes=4 "
	"--optimizer_bytes=8 --ranks=8 --tensor_parallel=2 --pipeline_parallel=2 --data_parallel=2 "
	"--zero_stage=1 --checkpoints=10 --pause=1500ms --checkpoint_threads=2 "
	"--checkpoint_ranks=0-3,7 --checkpoint_keep=3 --checkpoint_fsync=end "
	"--checkpoint_directory=/d/x --checkpoint_layout=deepspeed --rename_commit "
	"--drop_caches=run",
	"--name=x --phase=restore --kb_base=1000 --checkpoint_size=1mib --ranks=4 "
	"--restore_shift=1 --verify=crc32c --scale=1%",
	"--name=x --phase=restore --tensor_sizes=/d/x --access=framework",
	"--name=x --phase=checkpoint --checkpoint_size=1m --checkpoint_archive=model",
	"--name=x --phase=checkpoint --checkpoint_layout=pattern --checkpoint_pattern=dlrm",
	"--name=x --replay_trace=/t/a.mlt --replay_files=traced --replay_time=fixed "
	"--replay_order=file --replay_speed=2 --replay_threads=4 --replay_span=1g",
	"--name=x --cache=clock --cache_size=5000samples --cache_scope=rank --cache_unit=page:64k "
	"--cache_directory=/d/tier --cache_fill=async --cache_queue=8 --cache_layout=files "
	"--cache_persist --cache_substitute=any --cache_hits_first --cache_prefetch=64 "
	"--cache_warm=50% --cache_stage=decoded --cache_decoded_factor=4.5 --cache_verify",
	"--name=x --shuffle=importance --importance_mode=relaxed --importance_rep=2.5 "
	"--importance_difficulty=uniform:1:2 --importance_decay=0.5",
	"--name=x --kb_base=1000 --cache=lru --cache_size=20gib --cache_latency=gamma:2:1ms "
	"--cache_bandwidth=2g",
	"--name=x --cache=hot --cache_size=12.5%",
	"--name=x --checkpoint_every=10m --checkpoint_mode=async --snapshot_bandwidth=1g "
	"--checkpoint_size=1g",
};

START_TEST(a_job_that_is_shown_reads_back)
{
	struct jobset set, again;
	struct diag d, d_again;
	FILE *f = fopen(path, "w");

	load(&set, &d, jobs[_i]);
	ck_assert_uint_eq(set.count, 1);
	ck_assert_ptr_nonnull(f);
	showjob_print(f, &set);
	fclose(f);
	load(&again, &d_again, path);
	ck_assert_uint_eq(again.count, 1);
	assert_same(set.jobs[0], again.jobs[0]);
	diag_fini(&d);
	diag_fini(&d_again);
	jobset_fini(&set);
	jobset_fini(&again);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

START_TEST(the_jobs_of_this_test_set_every_option)
{
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		char want[80];
		bool is_set = false;

		snprintf(want, sizeof(want), " --%s", f->name);
		for (int i = 0; i < ROWS(jobs); i++)
			is_set |= strstr(jobs[i], want) != NULL;
		ck_assert_msg(is_set, "%s", f->name);
	}
}
END_TEST

Suite *suite_help(void)
{
	Suite *s = suite_create("help");
	TCase *t = tcase_create("help");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, help_is_a_screen_that_names_the_topics);
	tcase_add_test(t, each_option_is_in_the_help_of_its_topic);
	tcase_add_test(t, help_of_an_option_is_that_of_cmdhelp);
	tcase_add_test(t, help_of_all_has_every_option);
	tcase_add_test(t, cmdhelp_fits_eighty_columns);
	tcase_add_test(t, cmdhelp_of_one_option_is_as_shown_in_the_manual);
	tcase_add_test(t, cmdhelp_knows_aliases_engines_and_the_program);
	tcase_add_test(t, cmdhelp_of_no_option_names_the_nearest);
	tcase_add_test(t, cmdhelp_says_what_changes_nothing);
	tcase_add_test(t, lists_for_man_pages_are_balanced);
	tcase_add_test(t, a_metric_has_no_default);
	tcase_add_test(t, a_heading_is_text);
	tcase_add_loop_test(t, a_job_that_is_shown_reads_back, 0, ROWS(jobs));
	tcase_add_test(t, the_jobs_of_this_test_set_every_option);
	suite_add_tcase(s, t);
	return s;
}
