/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_checkpoint.c - the report of saves and restores, to the column, from results filled by
 * hand. */
#include <check.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "config.h"
#include "report_text.h"
#include "suites.h"
#include "text_checkpoint_rig.h"

/* ---- goldens ---- */

START_TEST(a_save)
{
	struct world *w = world_new();

	/* clang-format off */
	check_report(&w->run,
		"save: 8.71 GiB/s, 12.0 s per checkpoint (10 of 104.7 GiB, 8 ranks)\n"
		"  write: IOPS=892, BW=8920MiB/s (9353MB/s)(1047GiB/120199msec)\n"
		"  slowest rank    1.055 GiB/s (rank 5, checkpoint 7); MLPerf scores this rank\n"
		"  spread          checkpoints 11.8 to 12.4 s; first 12.4, later 11.9\n"
		"  fsync           62.0% of the time: most bytes were still in memory when write() returned\n"
		"  STORAGE-BOUND   storage accepted 8.71 GiB/s from 8 ranks\n"
		"  because         ranks spent 99.4% of their time in I/O calls, write 37.3%, fsync 62.0%;\n"
		"                  host CPU 11.2%\n"
		"  try next        --direct=1 : is it storage, or this host writing back its page cache?\n"
		"\n"
		"job       10 checkpoints, 5 s between them, layout deepspeed, fsync of each file,\n"
		"          the newest 10 kept\n"
		"state     104.7 GiB per checkpoint = 0.41 x this host's memory, in 16 files,\n"
		"          in /mnt/array/ckpt\n"
		"writers   8 threads (1 per rank), ioengine=psync, direct=0, 1 MiB requests\n"
		"storage   nfs4 192.0.2.1:/ai at /mnt/array (vers=4.2,proto=tcp,nconnect=16,rsize=1m)\n"
		"host      client01, 64 CPUs, 256 GiB, Linux 6.8.0, mlgen " MLGEN_VERSION ", 2026-11-21 14:02:11 UTC\n"
		"\n"
		"checkpoint   seconds       GiB   GiB/s   slowest rank, GiB/s\n"
		"         1     12.40     104.7    8.44     1.055 (rank 0)\n"
		"         2     11.82     104.7    8.86     1.107 (rank 1)\n"
		"         3     11.84     104.7    8.84     1.105 (rank 2)\n"
		"         4     11.86     104.7    8.83     1.104 (rank 3)\n"
		"         5     11.88     104.7    8.81     1.102 (rank 4)\n"
		"         6     11.90     104.7    8.80     1.100 (rank 5)\n"
		"         7     11.92     104.7    8.78     1.098 (rank 5)\n"
		"         8     11.94     104.7    8.77     1.096 (rank 7)\n"
		"         9     11.96     104.7    8.75     1.094 (rank 0)\n"
		"        10     11.98     104.7    8.74     1.092 (rank 1)\n"
		"\n"
		"latency, ms         count    mean      p50      p90      p99    p99.9      max\n"
		"open                  160    8.197    2.761   25.62         -        -   39.02\n"
		"write             107,220    0.624    0.216    1.978    2.875    2.990    3.000\n"
		"fsync                 160 1639      551.6   5117            -        - 7804\n"
		"close                 160    0.020    0.007    0.064        -        -    0.098\n"
		"\n"
		"rank time          write 37.3%  fsync 62.0%  open 0.1%  data 0.4%  other 0.2%  = 100%\n"
		"host               CPU 11.2% (mlgen: usr 1.1, sys 10.1), 50,780 switches/s\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

START_TEST(a_restore)
{
	struct world *w = restore_new();

	w->result.ml.restores.count = w->result.ml.restores.completed = 1;
	w->result.ml.restores.later_seconds = NONE;
	w->result.ml.restores.items.count = 1;
	/* clang-format off */
	check_report(&w->run,
		"restore: 8.71 GiB/s, 12.0 s per checkpoint (1 of 104.7 GiB, 8 ranks)\n"
		"  read: IOPS=8920, BW=87.1GiB/s (93.5GB/s)(1047GiB/12020msec)\n"
		"  slowest rank    1.055 GiB/s (rank 5, checkpoint 7); MLPerf scores this rank\n"
		"  caches          its files were dropped on this host before the first one (drop_caches=run)\n"
		"  verified        no: the bytes were read but not checked (verify=none)\n"
		"  STORAGE-BOUND   storage delivered 8.71 GiB/s to 8 ranks\n"
		"  because         ranks spent 99.6% of their time in I/O calls, read 99.5%; host CPU 11.2%\n"
		"  try next        --checkpoint_threads=2 : is it bandwidth,\n"
		"                  or too few reads in flight (8 now)?\n"
		"\n"
		"job       the newest 10 checkpoints, layout deepspeed\n"
		"state     104.7 GiB per checkpoint = 0.41 x this host's memory, in 16 files,\n"
		"          in /mnt/array/ckpt\n"
		"readers   8 threads (1 per rank), ioengine=psync, direct=0, 1 MiB requests\n"
		"storage   nfs4 192.0.2.1:/ai at /mnt/array (vers=4.2,proto=tcp,nconnect=16,rsize=1m)\n"
		"host      client01, 64 CPUs, 256 GiB, Linux 6.8.0, mlgen " MLGEN_VERSION ", 2026-11-21 14:02:11 UTC\n"
		"\n"
		"latency, ms         count    mean      p50      p90      p99    p99.9      max\n"
		"open                  160    8.197    2.761   25.62         -        -   39.02\n"
		"read              107,220    0.624    0.216    1.978    2.875    2.990    3.000\n"
		"close                 160    0.020    0.007    0.064        -        -    0.098\n"
		"\n"
		"rank time          read 99.5%  open 0.1%  other 0.4%                          = 100%\n"
		"from memory        0.2% of the bytes read, 2.09 of 1047 GiB (NFS mountstats);\n"
		"                   caches inside the array cannot be seen\n"
		"host               CPU 11.2% (mlgen: usr 1.1, sys 10.1), 50,780 switches/s;\n"
		"                   bond0 1 of 200 Gb/s\n");
	/* clang-format on */
	world_free(w);
}
END_TEST

/* ---- what is less than asked ---- */

START_TEST(a_part_of_the_ranks_and_of_the_bytes_is_said_early)
{
	struct world *w = world_new();

	w->result.ml.saves.job_ranks = 64;
	w->job->scale = 1;
	check_line(&w->run, "save: 8.71 GiB/s, 12.0 s per checkpoint (10 of 104.7 GiB)");
	check_line(&w->run, "  part of it      8 of 64 ranks are simulated by this host;");
	check_line(&w->run, "                  scale=1%: each tensor has this part of its bytes");
	check_line(&w->run, "  slowest rank    1.055 GiB/s (rank 5, checkpoint 7); MLPerf scores "
			    "the slowest of all");
	world_free(w);
}
END_TEST

static void fail_fourth(struct world *w)
{
	struct checkpoints_result *c = &w->result.ml.saves;

	w->result.complete = false;
	c->completed = 3;
	c->count = 4;
	c->items.count = 4;
	w->items[3].complete = false;
	snprintf(w->items[3].error, sizeof(w->items[3].error),
		 "/mnt/array/ckpt/x: fsync: Input/output error");
}

START_TEST(a_failed_checkpoint_is_said_early)
{
	struct world *w = world_new();

	fail_fourth(w);
	mlgen_fail(&w->result.err, -EIO, "fsync");
	check_line(&w->run, "save: 8.71 GiB/s, 12.0 s per checkpoint; stopped by an error");
	check_line(&w->run, "  error           /mnt/array/ckpt/x: fsync: Input/output error");
	check_line(&w->run,
		   "         4   not complete: /mnt/array/ckpt/x: fsync: Input/output error");
	world_free(w);
}
END_TEST

START_TEST(an_interrupted_one_is_said_early)
{
	struct world *w = world_new();

	fail_fourth(w);
	snprintf(w->items[3].error, sizeof(w->items[3].error), "interrupted");
	w->result.interrupted = true;
	check_line(&w->run,
		   "save: 8.71 GiB/s, 12.0 s per checkpoint; interrupted in checkpoint 4 of 10");
	check_line(&w->run, "         4   not complete: interrupted");
	check_report_lacks(&w->run, "  error  ");
	world_free(w);
}
END_TEST

START_TEST(none_is_said_to_be_none)
{
	struct world *w = world_new();
	struct checkpoints_result *c = &w->result.ml.saves;

	fail_fourth(w);
	w->items[0] = w->items[3];
	w->items[0].number = 1;
	c->items.count = c->count = 1;
	c->completed = 0;
	c->bytes_per_sec = c->seconds_mean = NONE;
	mlgen_fail(&w->result.err, -EIO, "fsync");
	check_first(&w->run,
		    "save: no checkpoint was saved (stopped by an error in checkpoint 1 of 10)\n");
	check_line(&w->run, "  error           /mnt/array/ckpt/x: fsync: Input/output error");
	check_report_lacks(&w->run, "nan");
	world_free(w);
}
END_TEST

/* ---- the table, and what stands below ---- */

START_TEST(of_many_checkpoints_the_first_and_the_last_stay)
{
	struct world *w = world_new();
	struct checkpoints_result *c = &w->result.ml.saves;

	for (uint64_t i = 0; i < 1000; i++)
		fill_item(&w->items[i], i);
	c->count = c->completed = c->items.count = 1000;
	check_line(&w->run, "       ...");
	check_line(&w->run, "         2     11.82     104.7    8.86     1.107 (rank 1)");
	check_report_lacks(&w->run, "\n         3 ");
	check_report_lacks(&w->run, "\n       900 ");
	c->count = c->completed = 5000;
	check_report_lacks(&w->run, "\n      1000 ");
	world_free(w);
}
END_TEST

START_TEST(renames_and_deletions_have_their_columns)
{
	struct world *w = world_new();
	struct checkpoints_result *c = &w->result.ml.saves;

	w->job->rename_commit = true;
	for (unsigned i = 0; i < COUNT; i++)
		w->items[i].commit_seconds = 0.004;
	w->items[9].deleted_checkpoints = c->deleted_checkpoints = 1;
	w->items[9].deleted_files = c->deleted_files = 16;
	w->items[9].delete_seconds = c->delete_seconds = 0.412;
	c->rename_ns = hist_of(10, MS);
	c->unlink_ns = hist_of(16, 20 * MS);
	check_line(&w->run, "checkpoint   seconds       GiB   GiB/s   slowest rank, GiB/s  commit, "
			    "s  delete, s");
	check_line(&w->run, "        10     11.98     104.7    8.74     1.092 (rank 1)         "
			    "0.004      0.412");
	check_line(
		&w->run,
		"deleted            1 older checkpoint, 16 files, in 0.412 s (checkpoint_keep=10)");
	check_line(
		&w->run,
		"rename                 10   16.18         -        -        -        -   65.95");
	check_line(&w->run,
		   "unlink                 16  356.7          -        -        -        - 1550");
	world_free(w);
}
END_TEST

Suite *suite_text_checkpoint(void)
{
	Suite *s = suite_create("text_checkpoint");
	TCase *t = tcase_create("text_checkpoint");

	tcase_add_test(t, a_save);
	tcase_add_test(t, a_restore);
	tcase_add_test(t, a_part_of_the_ranks_and_of_the_bytes_is_said_early);
	tcase_add_test(t, a_failed_checkpoint_is_said_early);
	tcase_add_test(t, an_interrupted_one_is_said_early);
	tcase_add_test(t, none_is_said_to_be_none);
	tcase_add_test(t, of_many_checkpoints_the_first_and_the_last_stay);
	tcase_add_test(t, renames_and_deletions_have_their_columns);
	suite_add_tcase(s, t);
	return s;
}
