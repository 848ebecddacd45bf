/* SPDX-License-Identifier: Apache-2.0 */
/* test_merge.c - plain jobs of a group, and workers of a job, as one result. */
#include <check.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "run/result/result.h"
#include "suites.h"
#include "work/workloads.h"

#define NONE ((double)NAN)

static struct job *jobs[3];
static struct run_result run;

/* A result borrows its histograms. */
static struct hist *hists[16];
static unsigned hist_count;

static struct hist *hist_of(uint64_t n, uint64_t ns)
{
	struct hist *h = hists[hist_count++] = hist_new();

	for (uint64_t i = 0; i < n; i++)
		hist_add(h, ns);
	return h;
}

static void fill(struct job_result *r, struct job *j, uint64_t reads)
{
	*r = (struct job_result){
		.job = j,
		.work = &work_io,
		.members = 1,
		.elapsed_seconds = 3,
		.read = { .io_bytes = reads * 4096,
			  .total_ios = reads,
			  .lat_ns = hist_of(reads, 1000) },
		.depths.depth = { 0, 100 },
		.sync = { 2, hist_of(2, 5000) },
		.io = { .numjobs = 1,
			.files = 1,
			.file_bytes = 1 << 20,
			.rate = { { 1000, NONE, false }, { NONE, NONE, false } },
			.worker_percent = { .read = 100 } },
		.iodepth_used = 1,
		.wall_seconds = 2,
		.storage.memory_percent = 0,
		.numa = { .device_node = 0, .far_percent = NONE },
		.complete = true,
	};
	r->ops.read = (struct op_result){ reads, r->read.lat_ns };
	r->ops.fsync = r->sync;
}

static void set_up(void)
{
	static const char *const names[] = { "a", "b", "c" };

	run.jobs = mem_array(3, sizeof(*run.jobs));
	run.job_count = 3;
	for (unsigned i = 0; i < 3; i++) {
		jobs[i] = job_new(names[i]);
		jobs[i]->phase = PHASE_IO;
		fill(&run.jobs[i], jobs[i], 100 * (i + 1));
	}
}

static void tear_down(void)
{
	for (unsigned i = 0; i < 3; i++)
		job_free(jobs[i]);
	while (hist_count > 0)
		hist_free(hists[--hist_count]);
	run_result_fini(&run);
}

START_TEST(jobs_of_a_group_add_up)
{
	struct job_result *r = &run.jobs[0];

	jobs[0]->group_reporting = jobs[1]->group_reporting = true;
	run.jobs[2].group = 1;
	run.jobs[1].wall_seconds = 4;
	run.jobs[1].io.rate[0].is_missed = true;
	run.jobs[1].storage.memory_percent = 30;
	run.jobs[1].io.worker_percent = (struct loader_percent){ .write = 100 };
	run.jobs[1].depths.depth[1] = 0;
	run.jobs[1].depths.depth[2] = 100;
	run.jobs[1].complete = false;
	merge_groups(&run);
	ck_assert_uint_eq(run.job_count, 2);
	ck_assert_uint_eq(r->members, 2);
	ck_assert_uint_eq(r->io.numjobs, 2);
	ck_assert_uint_eq(r->read.total_ios, 300);
	ck_assert_uint_eq(r->read.io_bytes, 300 * 4096);
	/* One histogram in two places is added to once. */
	ck_assert_uint_eq(r->read.lat_ns->count, 300);
	ck_assert_uint_eq(r->sync.total, 4);
	ck_assert_uint_eq(r->sync.lat_ns->count, 4);
	ck_assert_double_eq(r->wall_seconds, 4);
	ck_assert_double_eq(r->io.rate[0].asked_bytes_per_sec, 2000);
	ck_assert(isnan(r->io.rate[0].asked_iops));
	ck_assert(r->io.rate[0].is_missed);
	ck_assert(!r->complete);
	ck_assert_double_eq(r->storage.memory_percent, 20);
	ck_assert_double_eq_tol(r->io.worker_percent.read, 100 / 3.0, 1e-9);
	ck_assert_double_eq_tol(r->depths.depth[2], 200 / 3.0, 1e-9);
	ck_assert_uint_eq(r->io.files, 2);
	ck_assert_uint_eq(run.jobs[1].read.total_ios, 300);
}
END_TEST

START_TEST(errors_add_up_and_too_many_in_one_are_too_many)
{
	struct job_result *r = &run.jobs[0];

	for (unsigned i = 0; i < 3; i++)
		jobs[i]->group_reporting = true;
	run.jobs[1].errors = 5;
	run.jobs[1].failed.is_too_many = true;
	snprintf(run.jobs[1].failed.first, sizeof(r->failed.first), "b");
	run.jobs[2].errors = 1;
	jobs[2]->max_errors.count = 1;
	snprintf(run.jobs[2].failed.first, sizeof(r->failed.first), "c");
	merge_groups(&run);
	ck_assert_uint_eq(run.job_count, 1);
	ck_assert_uint_eq(r->errors, 6);
	ck_assert_uint_eq(r->failed.count, 6);
	ck_assert_uint_eq(r->failed.of, 600 + 6 + 6); /* with flushes */
	ck_assert(r->failed.is_too_many);
	ck_assert_str_eq(r->failed.first, "b");
}
END_TEST

/* The AU of one is none of both. */
START_TEST(a_training_without_au_takes_it_from_those_beside_it)
{
	struct ml_result *ml = &run.jobs[0].ml;

	for (unsigned i = 0; i < 2; i++) {
		run.jobs[i].work = &work_train;
		jobs[i]->phase = PHASE_TRAIN;
		jobs[i]->group_reporting = true;
		run.jobs[i].ml.accelerators = 1;
		run.jobs[i].ml.au_percent = i ? NONE : 99;
		run.jobs[i].ml.target_au_percent = 90;
		run.jobs[i].ml.samples = 100;
		checkpoints_result_init(&run.jobs[i].ml.saves);
	}
	run.jobs[1].errors = run.jobs[1].ml.failed_samples = 28;
	run.jobs[1].failed.is_too_many = true;
	merge_groups(&run);
	ck_assert_uint_eq(ml->failed_samples, 28);
	ck_assert_uint_eq(ml->samples, 200);
	ck_assert(isnan(ml->au_percent));
	ck_assert(!ml->target_met);
	ck_assert_ptr_nonnull(ml->au_unmeasured);
}
END_TEST

START_TEST(without_group_reporting_they_stay)
{
	merge_groups(&run);
	ck_assert_uint_eq(run.job_count, 3);
}
END_TEST

START_TEST(a_training_of_the_same_group_stays_on_its_own)
{
	jobs[0]->group_reporting = jobs[2]->group_reporting = true;
	run.jobs[1].work = &work_train;
	merge_groups(&run);
	ck_assert_uint_eq(run.job_count, 2);
	ck_assert_uint_eq(run.jobs[0].read.total_ios, 400);
	ck_assert_ptr_eq(run.jobs[1].work, &work_train);
}
END_TEST

/* Workers that share their files do not have them twice. */
START_TEST(workers_of_one_job_share_what_filename_names)
{
	struct job_result *r = &run.jobs[0];

	run.jobs[1].job = jobs[0];
	mem_replace(&jobs[0]->filename, "/data/x");
	merge_workers(r, &run.jobs[1]);
	ck_assert_uint_eq(r->io.files, 1);
	ck_assert_uint_eq(r->io.file_bytes, 1 << 20);
	ck_assert_uint_eq(r->io.numjobs, 2);
	ck_assert_uint_eq(r->members, 1);
}
END_TEST

/* Without a pace the total is the latency, and there is no delay. */
START_TEST(a_paced_job_and_one_without_keep_all_latencies)
{
	struct job_result *paced = &run.jobs[1];

	jobs[0]->group_reporting = jobs[1]->group_reporting = true;
	run.jobs[2].group = 1;
	paced->read.slat_ns = hist_of(200, 7000);
	paced->read.total_ns = hist_of(200, 8000);
	merge_groups(&run);
	const struct direction_result *d = &run.jobs[0].read;
	ck_assert_uint_eq(d->lat_ns->count, 300);
	ck_assert_uint_eq(d->total_ns->count, 300);
	ck_assert_uint_eq(d->total_ns->sum_ns, 100 * 1000 + 200 * 8000);
	ck_assert_uint_eq(d->slat_ns->count, 200);
}
END_TEST

/* Counted of this host and of one disk, in seconds: half a CPU, and a byte that storage delivers of
 * two that are read, until second 4; then neither. */
static struct mark mark_at(uint64_t seconds)
{
	uint64_t busy = seconds < 4 ? seconds : 4;

	return (struct mark){ .ns = seconds * UINT64_C(1000000000),
			      .cpu = { .cpus = 1, .busy_ns = 1 + busy * 500000000 },
			      .noise = { .cpus = 1 },
			      .storage = { busy * 1000, UINT64_MAX },
			      .jobs_read_bytes = busy * 2000 };
}

static void measure(struct job_result *r, uint64_t begin, uint64_t end)
{
	static const struct memsource disk = { .kind = MEMSOURCE_DEVICE,
					       .name = "device counters",
					       .is_sure = true };

	r->marks = (struct marks){ .begin = mark_at(begin), .end = mark_at(end), .storage = &disk };
	r->host.cpu_percent = 7; /* its own */
	r->storage.source = "device counters";
}

START_TEST(jobs_of_a_group_have_one_window)
{
	for (unsigned i = 0; i < 3; i++)
		jobs[i]->group_reporting = true;
	measure(&run.jobs[0], 2, 3);
	measure(&run.jobs[1], 1, 2);
	measure(&run.jobs[2], 3, 6);
	merge_groups(&run);
	ck_assert_uint_eq(run.job_count, 1);
	ck_assert_double_eq(run.jobs[0].window.begin_seconds, 1);
	ck_assert_double_eq(run.jobs[0].window.seconds, 5);
	ck_assert_double_eq_tol(run.jobs[0].host.cpu_percent, 30, 1e-9);
	ck_assert_uint_eq(run.jobs[0].storage.device_read_bytes, 3000);
	ck_assert_uint_eq(run.jobs[0].storage.jobs_read_bytes, 6000);
	ck_assert_double_eq_tol(run.jobs[0].storage.memory_percent, 50, 1e-9);
	ck_assert_str_eq(run.jobs[0].storage.source, "device counters");
}
END_TEST

START_TEST(trainings_of_a_group_have_one_window)
{
	struct hist *late = hist_of(10, 1000);

	run.jobs[2].group = 1;
	for (unsigned i = 0; i < 2; i++) {
		run.jobs[i].work = &work_train;
		jobs[i]->phase = PHASE_TRAIN;
		jobs[i]->group_reporting = true;
		checkpoints_result_init(&run.jobs[i].ml.saves);
		measure(&run.jobs[i], 1 + i, 3 + 3 * i);
	}
	run.jobs[0].host.oversleep_ns = late;
	merge_groups(&run);
	ck_assert_double_eq(run.jobs[0].window.seconds, 5);
	ck_assert_double_eq_tol(run.jobs[0].host.cpu_percent, 30, 1e-9);
	ck_assert_ptr_eq(run.jobs[0].host.oversleep_ns, late);
	ck_assert_double_eq_tol(run.jobs[0].storage.memory_percent, 50, 1e-9);
}
END_TEST

/* There is no share of all where that of some is not known. */
START_TEST(a_share_of_several_sources_is_a_mean_or_unknown)
{
	struct storage_result *a = &run.jobs[0].storage;
	struct storage_result *b = &run.jobs[1].storage;
	struct storage_result *c = &run.jobs[2].storage;

	for (unsigned i = 0; i < 3; i++)
		jobs[i]->group_reporting = true;
	a->source = "files lie in memory";
	a->is_memory = true;
	a->memory_percent = 100;
	a->device_read_bytes = UINT64_MAX;
	b->source = c->source = "device counters";
	b->device_read_bytes = c->device_read_bytes = 500;
	c->memory_percent = _i ? NONE : 40;
	merge_groups(&run);
	ck_assert_uint_eq(a->device_read_bytes, UINT64_MAX);
	ck_assert(!a->is_memory);
	if (_i) {
		ck_assert(isnan(a->memory_percent));
		ck_assert_str_eq(a->source, "unknown");
		return;
	}
	ck_assert_double_eq_tol(a->memory_percent, (100 + 3 * 40) / 6.0, 1e-9);
	ck_assert_str_eq(a->source, "several sources");
}
END_TEST

START_TEST(what_read_nothing_needs_no_share)
{
	struct storage_result *a = &run.jobs[0].storage;

	run.jobs[2].group = 1;
	jobs[0]->group_reporting = jobs[1]->group_reporting = true;
	a->source = run.jobs[1].storage.source = "device counters";
	a->memory_percent = NONE;
	run.jobs[0].read.io_bytes = 0;
	run.jobs[1].storage.memory_percent = 40;
	merge_groups(&run);
	ck_assert_double_eq(a->memory_percent, 40);
	ck_assert_str_eq(a->source, "device counters");
}
END_TEST

START_TEST(files_that_were_cached_before_are_those_of_all)
{
	struct storage_result *a = &run.jobs[0].storage;
	struct storage_result *b = &run.jobs[1].storage;

	run.jobs[2].group = 1;
	jobs[0]->group_reporting = jobs[1]->group_reporting = true;
	a->resident_before_percent = 100;
	a->resident_files = 1;
	a->caches_dropped = true;
	b->resident_before_percent = 0;
	b->resident_files = 3;
	b->cache_drops = 2;
	merge_groups(&run);
	ck_assert_double_eq(a->resident_before_percent, 25);
	ck_assert_uint_eq(a->resident_files, 4);
	ck_assert_uint_eq(a->cache_drops, 2);
	ck_assert(!a->caches_dropped);
}
END_TEST

START_TEST(workers_of_one_job_have_one_window_and_its_caches_once)
{
	run.jobs[1].job = jobs[0];
	measure(&run.jobs[0], 1, 2);
	measure(&run.jobs[1], 1, 6);
	run.jobs[0].storage.cache_drops = run.jobs[1].storage.cache_drops = 1;
	for (unsigned i = 0; i < 2; i++) {
		run.jobs[i].marks.end.energy.package_uj = 30000000;
		run.jobs[i].read.io_bytes = (1 + 2ULL * i) << 30;
		run.jobs[i].write.io_bytes = (2 + 2ULL * i) << 30;
	}
	merge_workers(&run.jobs[0], &run.jobs[1]);
	ck_assert_double_eq_tol(run.jobs[0].energy.joules_per_gib, 3, 1e-9);
	ck_assert_double_eq(run.jobs[0].window.seconds, 5);
	ck_assert_uint_eq(run.jobs[0].storage.device_read_bytes, 3000);
	ck_assert_uint_eq(run.jobs[0].storage.cache_drops, 1);
}
END_TEST

static struct checkpoint_result *one_checkpoint(double seconds)
{
	struct checkpoint_result *k = mem_zalloc(sizeof(*k));

	k->seconds = seconds;
	k->complete = true;
	return k;
}

static void fill_saves(struct job_result *r, double seconds)
{
	struct checkpoints_result *c = &r->ml.saves;

	r->work = &work_train;
	checkpoints_result_init(c);
	c->items = (struct metric_list){ one_checkpoint(seconds), 1 };
	c->count = c->completed = 1;
	c->bytes = 1000;
	c->threads = 1;
	c->seconds_mean = c->seconds_min = c->seconds_max = c->first_seconds = seconds;
	c->bytes_per_sec = c->slowest_rank_bytes_per_sec = 1000 / seconds;
	c->rank_percent = (struct rank_percent){ .write = 100 };
	c->durable = true;
	c->write_ns = hist_of(10, 1000);
}

START_TEST(checkpoints_of_trainings_add_up)
{
	struct checkpoints_result *c = &run.jobs[0].ml.saves;

	jobs[0]->group_reporting = jobs[1]->group_reporting = true;
	run.jobs[2].group = 1;
	fill_saves(&run.jobs[0], 1);
	fill_saves(&run.jobs[1], 4);
	run.jobs[1].ml.saves.durable = false;
	run.jobs[1].ml.saves.slowest_rank = 5;
	run.jobs[1].ml.saves.rank_percent = (struct rank_percent){ .fsync = 100 };
	merge_groups(&run);
	ck_assert_uint_eq(run.job_count, 2);
	ck_assert_uint_eq(c->count, 2);
	ck_assert_uint_eq(c->items.count, 2);
	ck_assert_uint_eq(c->bytes, 2000);
	ck_assert_double_eq(c->seconds_mean, 2.5);
	ck_assert_double_eq(c->seconds_min, 1);
	ck_assert_double_eq(c->seconds_max, 4);
	ck_assert_double_eq(c->bytes_per_sec, 1250);
	ck_assert_double_eq(c->slowest_rank_bytes_per_sec, 250);
	ck_assert_uint_eq(c->slowest_rank, 5);
	ck_assert_double_eq(c->rank_percent.write, 20);
	ck_assert_double_eq(c->rank_percent.fsync, 80);
	ck_assert_uint_eq(c->write_ns->count, 20);
	ck_assert(!c->durable);
	ck_assert(isnan(c->stall_seconds));
}
END_TEST

/* One without checkpoints has those of the others. */
START_TEST(checkpoints_of_one_training_are_the_sum)
{
	struct checkpoints_result *c = &run.jobs[0].ml.saves;
	struct job_result *r = &run.jobs[0];

	jobs[0]->group_reporting = jobs[1]->group_reporting = true;
	run.jobs[2].group = 1;
	r->work = &work_train;
	checkpoints_result_init(c);
	/* Of threads that only read. */
	r->write.lat_ns = r->ops.write.lat_ns = hist_of(0, 0);
	fill_saves(&run.jobs[1], 4);
	run.jobs[1].write.lat_ns = run.jobs[1].ml.saves.write_ns;
	merge_groups(&run);
	ck_assert_uint_eq(r->ops.write.lat_ns->count, 0);
	ck_assert_uint_eq(r->write.lat_ns->count, 10);
	ck_assert_uint_eq(c->write_ns->count, 10);
	ck_assert_uint_eq(c->count, 1);
	ck_assert_uint_eq(c->items.count, 1);
	ck_assert_double_eq(c->seconds_mean, 4);
}
END_TEST

/* Checkpoints are scored one by one: what saves is never merged. */
START_TEST(jobs_that_save_stay_on_their_own)
{
	jobs[0]->group_reporting = jobs[1]->group_reporting = true;
	run.jobs[0].work = run.jobs[1].work = &work_checkpoint;
	merge_groups(&run);
	ck_assert_uint_eq(run.job_count, 3);
}
END_TEST

Suite *suite_merge(void)
{
	Suite *s = suite_create("merge");
	TCase *t = tcase_create("merge");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, jobs_of_a_group_add_up);
	tcase_add_test(t, errors_add_up_and_too_many_in_one_are_too_many);
	tcase_add_test(t, a_training_without_au_takes_it_from_those_beside_it);
	tcase_add_test(t, without_group_reporting_they_stay);
	tcase_add_test(t, a_training_of_the_same_group_stays_on_its_own);
	tcase_add_test(t, workers_of_one_job_share_what_filename_names);
	tcase_add_test(t, a_paced_job_and_one_without_keep_all_latencies);
	tcase_add_test(t, jobs_of_a_group_have_one_window);
	tcase_add_test(t, trainings_of_a_group_have_one_window);
	tcase_add_loop_test(t, a_share_of_several_sources_is_a_mean_or_unknown, 0, 2);
	tcase_add_test(t, what_read_nothing_needs_no_share);
	tcase_add_test(t, files_that_were_cached_before_are_those_of_all);
	tcase_add_test(t, workers_of_one_job_have_one_window_and_its_caches_once);
	tcase_add_test(t, checkpoints_of_trainings_add_up);
	tcase_add_test(t, checkpoints_of_one_training_are_the_sum);
	tcase_add_test(t, jobs_that_save_stay_on_their_own);
	suite_add_tcase(s, t);
	return s;
}
