/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c - the tables of the JSON document, and what fills them. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "report/metrics.h"
#include "suites.h"
#include "work/workloads.h"

/* ---- the tables ---- */

static bool is_sentence(const char *help)
{
	size_t len = help ? strlen(help) : 0;

	return len > 2 && help[len - 1] == '.' && help[0] >= 'A' &&
	       help[0] <= 'Z';
}

static bool is_listed(const struct mlgen_field *table)
{
	for (const struct metrics_section *s = metrics_sections; s->table; s++)
		if (s->table == table)
			return true;
	return false;
}

START_TEST(every_key_has_a_sentence)
{
	unsigned keys = 0;

	for (const struct metrics_section *s = metrics_sections; s->table; s++)
		for (const struct mlgen_field *f = s->table; f->name; f++) {
			ck_assert_msg(is_sentence(f->help), "%s.%s", s->path,
				      f->name);
			keys++;
		}
	ck_assert_uint_gt(keys, 150);
}
END_TEST

START_TEST(no_object_has_a_key_twice)
{
	for (const struct metrics_section *s = metrics_sections; s->table; s++)
		for (const struct mlgen_field *f = s->table; f->name; f++)
			for (const struct mlgen_field *g = f + 1; g->name; g++)
				ck_assert_msg(strcmp(f->name, g->name) != 0,
					      "%s.%s", s->path, f->name);
}
END_TEST

START_TEST(every_table_inside_another_is_listed)
{
	for (const struct metrics_section *s = metrics_sections; s->table; s++)
		for (const struct mlgen_field *f = s->table; f->name; f++)
			ck_assert_msg(!f->sub || is_listed(f->sub), "%s.%s",
				      s->path, f->name);
}
END_TEST

START_TEST(what_a_dry_run_knows_is_in_the_table)
{
	for (const char *const *name = metrics_ml_planned; *name; name++)
		ck_assert_msg(field_find(metrics_ml_fields, *name) != NULL,
			      "%s", *name);
	for (const char *const *name = metrics_io_planned; *name; name++)
		ck_assert_msg(field_find(metrics_io_fields, *name) != NULL,
			      "%s", *name);
	for (const char *const *name = metrics_replay_planned; *name; name++)
		ck_assert_msg(field_find(metrics_io_fields, *name) != NULL,
			      "%s", *name);
}
END_TEST

/* ---- what fills them ---- */

static void set_option(struct job *j, const char *option, const char *raw,
		       const char *how)
{
	size_t row = 0;

	while (strcmp(job_fields[row].name, option) != 0)
		row++;
	mem_replace(&j->origins[row].raw, raw);
	mem_replace(&j->origins[row].how, how);
}

/* The value of a key, "" for null; NULL = no such key. */
static const char *value_of(const struct metric_list *map, const char *key)
{
	const struct metric_pair *pairs = map->items;

	for (size_t i = 0; i < map->count; i++)
		if (strcmp(pairs[i].key, key) == 0)
			return pairs[i].value ? pairs[i].value : "";
	return NULL;
}

static void fill(struct metrics_job *m, const struct job_result *r)
{
	struct job *jobs[1];
	struct jobset set = { .jobs = jobs, .count = 1 };

	memcpy(&jobs[0], &r->job, sizeof(jobs[0]));
	metrics_job_init(m, r, &set);
}

START_TEST(rates_are_those_of_the_measured_time)
{
	struct job *job = job_new("train");
	struct hist *lat = hist_new();
	struct job_result r = {
		.job = job,
		.work = &work_train,
		.members = 1,
		.ml.runtime_seconds = 4,
		.elapsed_seconds = 5.2,
		.read = { .io_bytes = 8192, .total_ios = 2, .lat_ns = lat },
	};
	struct metrics_job m;

	fill(&m, &r);
	ck_assert_uint_eq(m.job_runtime_ms, 4000);
	ck_assert_uint_eq(m.elapsed, 6);
	ck_assert_uint_eq(m.read.io_kbytes, 8);
	ck_assert_uint_eq(m.read.bw_bytes, 2048);
	ck_assert_uint_eq(m.read.bw, 2);
	ck_assert_double_eq(m.read.iops, 0.5);
	ck_assert_uint_eq(m.read.runtime_ms, 4000);
	ck_assert_ptr_eq(m.read.clat_ns, lat);
	ck_assert_ptr_null(m.read.slat_ns);
	ck_assert_uint_eq(m.write.runtime_ms, 0);
	ck_assert_uint_eq(m.trim.total_ios, 0);
	metrics_job_fini(&m);
	hist_free(lat);
	job_free(job);
}
END_TEST

START_TEST(a_run_that_did_not_start_divides_by_nothing)
{
	struct job *job = job_new("train");
	struct job_result r = { .job = job,
				.members = 1,
				.wall_seconds = (double)NAN,
				.elapsed_seconds = (double)NAN,
				.read.io_bytes = 100 };
	struct metrics_job m;

	fill(&m, &r);
	ck_assert_uint_eq(m.job_runtime_ms, 0);
	ck_assert_uint_eq(m.elapsed, 0);
	ck_assert_uint_eq(m.read.bw_bytes, 0);
	ck_assert_double_eq(m.read.iops, 0);
	metrics_job_fini(&m);
	job_free(job);
}
END_TEST

START_TEST(errors_have_fios_sign_and_a_text)
{
	struct job *job = job_new("train");
	struct job_result r = { .job = job, .members = 1 };
	struct metrics_job m;

	fill(&m, &r);
	ck_assert_uint_eq(m.error, 0);
	ck_assert_ptr_null(m.error_text);
	metrics_job_fini(&m);
	mlgen_fail(&r.err, -EIO, "read /data/f17");
	fill(&m, &r);
	ck_assert_uint_eq(m.error, EIO);
	ck_assert_str_eq(m.error_text, "read /data/f17");
	metrics_job_fini(&m);
	job_free(job);
}
END_TEST

/* What fio 3.33 prints of a job, and its readers (fio-plot, the converter of
 * bins, pbench, lkp-tests) look for. */
static const char *const fio_keys[] = {
	"jobname",
	"groupid",
	"error",
	"elapsed",
	"job options",
	"job_runtime",
	"usr_cpu",
	"sys_cpu",
	"ctx",
	"majf",
	"minf",
	"read.io_bytes",
	"read.io_kbytes",
	"read.bw_bytes",
	"read.bw",
	"read.iops",
	"read.runtime",
	"read.total_ios",
	"read.short_ios",
	"read.drop_ios",
	"read.slat_ns",
	"read.clat_ns",
	"read.lat_ns",
	"read.bw_min",
	"read.bw_max",
	"read.bw_agg",
	"read.bw_mean",
	"read.bw_dev",
	"read.bw_samples",
	"read.iops_min",
	"read.iops_max",
	"read.iops_mean",
	"read.iops_stddev",
	"read.iops_samples",
	"write.iops",
	"trim.iops",
	"sync.total_ios",
	"sync.lat_ns",
	"iodepth_level.1",
	"iodepth_level.2",
	"iodepth_level.4",
	"iodepth_level.8",
	"iodepth_level.16",
	"iodepth_level.32",
	"iodepth_level.>=64",
	"iodepth_submit.0",
	"iodepth_submit.4",
	"iodepth_submit.8",
	"iodepth_submit.16",
	"iodepth_submit.32",
	"iodepth_submit.64",
	"iodepth_submit.>=64",
	"iodepth_complete.0",
	"iodepth_complete.>=64",
	"latency_ns.2",
	"latency_ns.1000",
	"latency_us.2",
	"latency_us.1000",
	"latency_ms.2",
	"latency_ms.2000",
	"latency_ms.>=2000",
	"latency_depth",
	"latency_target",
	"latency_percentile",
	"latency_window",
};

START_TEST(a_job_has_every_key_of_fio)
{
	const struct mlgen_field *table = metrics_job_fields, *f = NULL;

	for (const char *key = fio_keys[_i]; key; table = f->sub) {
		const char *dot = strchr(key, '.');
		size_t len = dot ? (size_t)(dot - key) : strlen(key);

		for (f = table; f->name; f++)
			if (strlen(f->name) == len &&
			    strncmp(f->name, key, len) == 0)
				break;
		ck_assert_msg(f->name != NULL, "%s", fio_keys[_i]);
		key = dot ? dot + 1 : NULL;
	}
}
END_TEST

START_TEST(a_plain_job_has_fios_three_latencies)
{
	struct job *job = job_new("rr");
	struct hist *h[4];
	struct job_result r = { .job = job,
				.work = &work_io,
				.members = 1,
				.wall_seconds = 2,
				.iodepth_used = 8,
				.depths = { .depth = { 0, 10, 20, 30, 40 },
					    .submit = { 1, 2, 3, 4, 5, 6,
							79 } },
				.read = { .io_bytes = 8192, .total_ios = 2 } };
	struct metrics_job m;

	for (unsigned i = 0; i < 4; i++)
		h[i] = hist_new();
	r.read.lat_ns = h[0];
	r.sync = (struct op_result){ 7, h[3] };
	fill(&m, &r);
	ck_assert_uint_eq(m.job_runtime_ms, 2000);
	ck_assert_uint_eq(m.read.bw_bytes, 4096);
	ck_assert_ptr_null(m.read.slat_ns);
	ck_assert_ptr_eq(m.read.clat_ns, h[0]);
	ck_assert_ptr_eq(m.read.lat_ns, h[0]);
	ck_assert_uint_eq(m.sync.total_ios, 7);
	ck_assert_ptr_eq(m.sync.lat_ns, h[3]);
	ck_assert_uint_eq(m.latency_depth, 8);
	ck_assert_double_eq(m.iodepth_level.percent[0], 10);
	ck_assert_double_eq(m.iodepth_level.percent[3], 40);
	ck_assert_double_eq(m.iodepth_submit.percent[0], 1);
	ck_assert_double_eq(m.iodepth_submit.percent[1], 2);
	ck_assert_double_eq(m.iodepth_submit.percent[6], 79);
	metrics_job_fini(&m);
	r.read.slat_ns = h[1];
	r.read.total_ns = h[2];
	fill(&m, &r);
	ck_assert_ptr_eq(m.read.slat_ns, h[1]);
	ck_assert_ptr_eq(m.read.clat_ns, h[0]);
	ck_assert_ptr_eq(m.read.lat_ns, h[2]);
	metrics_job_fini(&m);
	for (unsigned i = 0; i < 4; i++)
		hist_free(h[i]);
	job_free(job);
}
END_TEST

/* Also the time of what was begun and not completed. */
START_TEST(a_save_is_measured_while_checkpoints_are_under_way)
{
	struct job *job = job_new("save");
	struct checkpoint_result items[] = {
		{ .complete = true, .seconds = 1 },
		{ .complete = true, .seconds = 3 },
		{ .complete = false, .seconds = 4 },
		{ .complete = false, .seconds = (double)NAN },
	};
	struct job_result r = {
		.job = job,
		.work = &work_checkpoint,
		.members = 1,
		.elapsed_seconds = 60,
		.write = { .io_bytes = 80000, .total_ios = 80 },
		.ml.saves = { .count = 4,
			      .completed = 2,
			      .seconds_mean = 2,
			      .items = { items, 4 } },
	};
	struct metrics_job m;

	job->phase = PHASE_CHECKPOINT;
	fill(&m, &r);
	ck_assert_uint_eq(m.job_runtime_ms, 8000);
	ck_assert_uint_eq(m.write.bw_bytes, 10000);
	ck_assert_double_eq(m.write.iops, 10);
	ck_assert_uint_eq(m.read.runtime_ms, 0);
	metrics_job_fini(&m);
	r.ml.saves = (struct checkpoints_result){ .seconds_mean = (double)NAN };
	fill(&m, &r);
	ck_assert_uint_eq(m.job_runtime_ms, 0);
	ck_assert_uint_eq(m.write.bw_bytes, 0);
	metrics_job_fini(&m);
	job_free(job);
}
END_TEST

START_TEST(only_what_makes_sense_stands_in_ml)
{
	struct job *job = job_new("save");
	struct job_result r = { .job = job, .work = &work_checkpoint };

	job->phase = PHASE_CHECKPOINT;
	ck_assert(metrics_ml_has(&r, "checkpoints"));
	ck_assert(metrics_ml_has(&r, "saves"));
	ck_assert(metrics_ml_has(&r, "storage"));
	ck_assert(!metrics_ml_has(&r, "restores"));
	ck_assert(!metrics_ml_has(&r, "au_percent"));
	job->phase = PHASE_RESTORE;
	ck_assert(metrics_ml_has(&r, "restores"));
	ck_assert(!metrics_ml_has(&r, "saves"));
	job->phase = PHASE_TRAIN;
	r.work = &work_train;
	ck_assert(metrics_ml_has(&r, "au_percent"));
	ck_assert(metrics_ml_has(&r, "checkpoints"));
	ck_assert(!metrics_ml_has(&r, "saves"));
	r.ml.saves.count = 1;
	ck_assert(metrics_ml_has(&r, "saves"));
	job_free(job);
}
END_TEST

START_TEST(bandwidth_has_its_share_of_the_group)
{
	struct job *job = job_new("rr");
	struct job_result r[3] = {
		{ .job = job,
		  .work = &work_io,
		  .wall_seconds = 1,
		  .members = 1,
		  .read.io_bytes = 3000 },
		{ .job = job,
		  .work = &work_io,
		  .wall_seconds = 1,
		  .members = 1,
		  .read.io_bytes = 1000 },
		{ .job = job,
		  .work = &work_io,
		  .wall_seconds = 1,
		  .members = 1,
		  .read.io_bytes = 9000,
		  .group = 1 },
	};
	struct run_result run = { .jobs = r, .job_count = 3 };
	struct metrics_job m;

	fill(&m, &r[0]);
	metrics_job_share(&m, &run);
	ck_assert_double_eq(m.read.bw_agg, 75);
	ck_assert_double_eq(m.write.bw_agg, 0);
	metrics_job_fini(&m);
	job_free(job);
}
END_TEST

static const struct {
	uint64_t ns;
	char unit;   /* n, u or m */
	unsigned at; /* row of that table */
	const char *limit;
} shares[] = {
	{ 1, 'n', 0, "2" },
	{ 2, 'n', 1, "4" },
	{ 49, 'n', 4, "50" },
	{ 50, 'n', 5, "100" },
	{ 5000, 'u', 2, "10" },
	{ 120000, 'u', 6, "250" },
	{ 5500000, 'm', 2, "10" },
	{ 1400000000, 'm', 10, "2000" },
	{ 5000000000, 'm', 11, ">=2000" },
};

START_TEST(latencies_fall_into_fios_buckets)
{
	struct job *job = job_new("train");
	struct hist *lat = hist_new();
	struct job_result r = { .job = job, .members = 1, .read.lat_ns = lat };
	struct metrics_job m;

	hist_add(lat, shares[_i].ns);
	fill(&m, &r);
	char unit = shares[_i].unit;
	const char *table = unit == 'n'   ? "latency_ns"
			    : unit == 'u' ? "latency_us"
					  : "latency_ms";
	const struct metrics_shares *s = unit == 'n'   ? &m.latency_ns
					 : unit == 'u' ? &m.latency_us
						       : &m.latency_ms;
	const struct mlgen_field *f = field_find(metrics_job_fields, table);
	ck_assert_ptr_nonnull(f);
	ck_assert_str_eq(f->sub[shares[_i].at].name, shares[_i].limit);
	ck_assert_double_eq(s->percent[shares[_i].at], 100);
	metrics_job_fini(&m);
	hist_free(lat);
	job_free(job);
}
END_TEST

START_TEST(options_are_echoed_raw_resolved_and_with_origin)
{
	struct job *job = job_new("train");
	struct job_result r = { .job = job, .members = 1 };
	struct metrics_job m;

	set_option(job, "bs", "1024k", "command line");
	job->bs.read = 1 << 20;
	fill(&m, &r);
	ck_assert_str_eq(value_of(&m.options, "bs"), "1024k");
	ck_assert_ptr_null(value_of(&m.options, "epochs"));
	ck_assert_str_eq(value_of(&m.options_resolved, "bs"), "1m");
	ck_assert_str_eq(value_of(&m.options_resolved, "cpus_allowed"), "");
	ck_assert_str_eq(value_of(&m.options_origin, "bs"), "command line");
	ck_assert_str_eq(value_of(&m.options_origin, "epochs"), "default");
	metrics_job_fini(&m);
	job_free(job);
}
END_TEST

START_TEST(what_global_says_to_all_stands_at_the_top)
{
	struct job *jobs[] = { job_new("a"), job_new("b") };
	struct jobset set = { .jobs = jobs, .count = 2 };
	struct run_result r = { 0 };
	struct job_result result = { .job = jobs[0], .members = 1 };
	struct metrics_top top;
	struct metrics_job m;

	set_option(jobs[0], "epochs", "3", "[global]");
	set_option(jobs[1], "epochs", "3", "[global]");
	set_option(jobs[0], "bs", "4k", "[global]");
	metrics_top_init(&top, &r, &set);
	metrics_job_init(&m, &result, &set);
	ck_assert_str_eq(value_of(&top.global_options, "epochs"), "3");
	ck_assert_ptr_null(value_of(&top.global_options, "bs"));
	ck_assert_str_eq(value_of(&m.options, "bs"), "4k");
	ck_assert_ptr_null(value_of(&m.options, "epochs"));
	metrics_job_fini(&m);
	metrics_top_fini(&top);
	job_free(jobs[0]);
	job_free(jobs[1]);
}
END_TEST

START_TEST(a_merged_record_lists_members_and_what_they_share)
{
	struct job *jobs[] = { job_new("a"), job_new("b"), job_new("alone") };
	struct jobset set = { .jobs = jobs, .count = 3 };
	struct job_result result = { .job = jobs[0], .members = 2 };
	struct metrics_job m;

	jobs[0]->group_reporting = jobs[1]->group_reporting = true;
	set_option(jobs[0], "epochs", "3", "[a]");
	set_option(jobs[1], "epochs", "3", "[b]");
	set_option(jobs[0], "bs", "4k", "[a]");
	set_option(jobs[1], "bs", "8k", "[b]");
	metrics_job_init(&m, &result, &set);
	const struct metric_pair *members = m.members.items;
	ck_assert_uint_eq(m.members.count, 2);
	ck_assert_str_eq(members[1].key, "b");
	ck_assert_str_eq(value_of(&m.options, "epochs"), "3");
	ck_assert_ptr_null(value_of(&m.options, "bs"));
	metrics_job_fini(&m);
	for (unsigned i = 0; i < 3; i++)
		job_free(jobs[i]);
}
END_TEST

START_TEST(a_plan_of_a_plain_job_asks_for_all_workers)
{
	struct job *job = job_new("rr");
	struct plan_report p = { .job = job };
	struct job_result r = { 0 };
	const struct io_result *io = &r.io;

	job->phase = PHASE_IO;
	job->numjobs = 4;
	job->rate.read = 1000;
	job->rate_iops.write = 10;
	p.io = (struct plan_io){ .files = 4, .file_bytes = 4096 };
	metrics_planned_io(&r, &p);
	ck_assert_uint_eq(io->numjobs, 4);
	ck_assert_uint_eq(io->file_bytes, 4096);
	ck_assert_double_eq(io->rate[0].asked_bytes_per_sec, 4000);
	ck_assert(isnan(io->rate[0].asked_iops));
	ck_assert_double_eq(io->rate[1].asked_iops, 40);
	ck_assert(r.storage.read_ahead_bytes == UINT64_MAX);
	job_free(job);
}
END_TEST

START_TEST(a_plan_until_runtime_has_no_samples)
{
	struct job *job = job_new("train");
	struct plan_report p = { .job = job, .total_steps = UINT64_MAX };
	struct job_result r = { 0 };

	metrics_planned(&r, &p);
	ck_assert_uint_eq(r.ml.samples, 0);
	ck_assert_uint_eq(r.ml.accelerators, job->accelerators);
	ck_assert_ptr_null(r.storage.filesystem);
	ck_assert(r.storage.read_ahead_bytes == UINT64_MAX);
	job_free(job);
}
END_TEST

Suite *suite_metrics(void)
{
	Suite *s = suite_create("metrics");
	TCase *t = tcase_create("metrics");

	tcase_add_test(t, every_key_has_a_sentence);
	tcase_add_test(t, no_object_has_a_key_twice);
	tcase_add_test(t, every_table_inside_another_is_listed);
	tcase_add_test(t, what_a_dry_run_knows_is_in_the_table);
	tcase_add_test(t, rates_are_those_of_the_measured_time);
	tcase_add_test(t, a_run_that_did_not_start_divides_by_nothing);
	tcase_add_loop_test(t, a_job_has_every_key_of_fio, 0,
			    (int)(sizeof(fio_keys) / sizeof(fio_keys[0])));
	tcase_add_test(t, a_plain_job_has_fios_three_latencies);
	tcase_add_test(t, a_save_is_measured_while_checkpoints_are_under_way);
	tcase_add_test(t, only_what_makes_sense_stands_in_ml);
	tcase_add_test(t, bandwidth_has_its_share_of_the_group);
	tcase_add_test(t, errors_have_fios_sign_and_a_text);
	tcase_add_loop_test(t, latencies_fall_into_fios_buckets, 0,
			    (int)(sizeof(shares) / sizeof(shares[0])));
	tcase_add_test(t, options_are_echoed_raw_resolved_and_with_origin);
	tcase_add_test(t, what_global_says_to_all_stands_at_the_top);
	tcase_add_test(t, a_merged_record_lists_members_and_what_they_share);
	tcase_add_test(t, a_plan_of_a_plain_job_asks_for_all_workers);
	tcase_add_test(t, a_plan_until_runtime_has_no_samples);
	suite_add_tcase(s, t);
	return s;
}
