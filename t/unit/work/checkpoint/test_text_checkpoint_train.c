/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_checkpoint_train.c - what the report of a training says of its checkpoints. */
#include <check.h>

#include "base/mem.h"
#include "report_text.h"
#include "suites.h"
#include "text_checkpoint_rig.h"
#include "work/workloads.h"

static struct world *training_new(void)
{
	struct world *w = world_new();
	struct ml_result *ml = &w->result.ml;
	struct checkpoints_result *c = &ml->saves;

	w->job->phase = PHASE_TRAIN;
	mem_replace(&w->job->name, "unet3d");
	mem_replace(&w->job->checkpoint_every, "2 epochs");
	w->job->batch_size = 7;
	w->job->read_threads = 4;
	w->job->access = ACCESS_PLAIN;
	w->job->checkpoint_mode = CHECKPOINT_ASYNC;
	w->result.work = &work_train;
	ml->accelerators = 8;
	ml->steps = 2500;
	ml->counted_steps = 19960;
	ml->sample_bytes_per_sec = 14.86 * (double)GIB;
	ml->samples_per_sec = 108.8;
	ml->demand_bytes_per_sec = 23.67 * (double)GIB;
	ml->au_percent = 63.1;
	ml->target_au_percent = 90;
	ml->time_percent = (struct time_percent){ .compute = 50, .stall = 40, .checkpoint = 10 };
	ml->loader_percent = (struct loader_percent){ .read = 99, .idle = 1 };
	c->stall_seconds = 120.4;
	c->snapshot_seconds = 3.2;
	c->wait_seconds = 0.4;
	return w;
}

START_TEST(a_training_says_what_its_checkpoints_cost)
{
	struct world *w = training_new();

	check_line(&w->run, "checkpoints        10 of 104.7 GiB, 12.0 s each (first 12.4, later "
			    "11.9), 8.71 GiB/s");
	check_line(&w->run, "checkpoint stall   120 s of training, async: 3.20 for snapshots, "
			    "0.400 for the previous one");
	check_line(&w->run, "checkpoint time    write 37.3%  fsync 62.0%  open 0.1%  data 0.4%  "
			    "other 0.2%  = 100%");
	check_line(&w->run, "accelerator time   compute 50.0%  stall 40.0%  checkpoint 10.0%       "
			    "        = 100%");
	check_line(
		&w->run,
		"saves, ms           count    mean      p50      p90      p99    p99.9      max");
	check_line(&w->run,
		   "fsync                 160 1639      551.6   5117            -        - 7804");
	world_free(w);
}
END_TEST

/* With all that such a report can have it still fits on a screen. */
START_TEST(a_training_with_checkpoints_fits_on_a_screen)
{
	struct world *w = training_new();
	struct ml_result *ml = &w->result.ml;
	struct epoch_result epochs[20];
	struct hist *all[8];

	for (uint64_t i = 0; i < 20; i++)
		epochs[i] = (struct epoch_result){
			.epoch = i + 1, .samples = 28000, .seconds = 250, .stall_count = 4000
		};
	for (unsigned i = 0; i < 8; i++)
		all[i] = hist_of(1000, MS);
	ml->epochs = (struct metric_list){ epochs, 20 };
	ml->epochs_total = 20;
	w->result.ops.open = (struct op_result){ 1000, all[0] };
	w->result.ops.stat = (struct op_result){ 1000, all[1] };
	w->result.ops.read = (struct op_result){ 1000, all[2] };
	w->result.ops.close = (struct op_result){ 1000, all[3] };
	ml->sample_ns = all[4];
	ml->stall_ns = all[5];
	ml->step_ns = all[6];
	w->result.host.oversleep_ns = all[7];
	w->result.read.total_ios = 1000;
	w->result.read.io_bytes = 1000 * 65536;
	ml->saves.unlink_ns = hist_of(16, 20 * MS);
	ml->saves.deleted_checkpoints = 1;
	ml->saves.delete_seconds = 0.4;
	check_line(&w->run, "accelerator time   compute 50.0%  stall 40.0%  checkpoint 10.0%       "
			    "        = 100%");
	check_line(&w->run, "   20     250.0    28,000      0.000       0    0.0%          0.000   "
			    "        0.000");
	check_report_lacks(&w->run, "\n   10 ");
	for (unsigned i = 0; i < 8; i++)
		hist_free(all[i]);
	world_free(w);
}
END_TEST

START_TEST(a_training_says_that_its_checkpoints_are_not_durable)
{
	struct world *w = training_new();

	without_fsync(w);
	check_first(&w->run,
		    "unet3d: 63.1% AU, 14.86 GiB/s; NOT DURABLE: 412 of 1047 GiB in memory\n");
	world_free(w);
}
END_TEST

START_TEST(a_training_without_checkpoints_says_nothing_of_them)
{
	struct world *w = training_new();

	free_hists(&w->result.ml.saves);
	checkpoints_result_init(&w->result.ml.saves);
	check_line(&w->run, "checkpoints        none: the run ended before the first was due");
	mem_replace(&w->job->checkpoint_every, NULL);
	check_report_lacks(&w->run, "checkpoints");
	check_report_lacks(&w->run, "saves");
	check_report_lacks(&w->run, "DURABLE");
	world_free(w);
}
END_TEST

Suite *suite_text_checkpoint_train(void)
{
	Suite *s = suite_create("text_checkpoint_train");
	TCase *t = tcase_create("text_checkpoint_train");

	tcase_add_test(t, a_training_says_what_its_checkpoints_cost);
	tcase_add_test(t, a_training_with_checkpoints_fits_on_a_screen);
	tcase_add_test(t, a_training_says_that_its_checkpoints_are_not_durable);
	tcase_add_test(t, a_training_without_checkpoints_says_nothing_of_them);
	suite_add_tcase(s, t);
	return s;
}
