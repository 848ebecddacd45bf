/* SPDX-License-Identifier: Apache-2.0 */
/* test_text_checkpoint_place.c - where the bytes of a checkpoint were, as its report says it. */
#include <check.h>
#include <errno.h>

#include "base/mem.h"
#include "report_text.h"
#include "suites.h"
#include "text_checkpoint_rig.h"

/* ---- what is not durable ---- */

START_TEST(without_fsync_the_first_line_says_it)
{
	struct world *w = world_new();

	without_fsync(w);
	check_first(
		&w->run,
		"save: 8.71 GiB/s; NOT DURABLE: 412 of 1047 GiB were still in memory at the end\n");
	mem_replace(&w->job->name, "a_long_name");
	check_first(&w->run, "a_long_name: 8.71 GiB/s; NOT DURABLE: 412 of 1047 GiB in memory\n");
	mem_replace(&w->job->name, "a_name_that_is_longer_than_others");
	check_first(&w->run, "a_name_that_is_longer_than_others: 8.71 GiB/s; NOT DURABLE: 412 of "
			     "1047 GiB in memory\n");
	check_line(&w->run, "  fsync           none (checkpoint_fsync=none): 412 of 1047 GiB were "
			    "still in this host's");
	check_line(&w->run, "  NOT A STORAGE RESULT   checkpoint_fsync=none: this is how fast "
			    "memory accepted the bytes");
	check_line(&w->run,
		   "  try next        --checkpoint_fsync=file : until the bytes are on storage");
	world_free(w);
}
END_TEST

START_TEST(a_little_in_memory_leaves_a_storage_result)
{
	struct world *w = world_new();

	without_fsync(w)->in_memory_bytes = GIB;
	check_first(
		&w->run,
		"save: 8.71 GiB/s; NOT DURABLE: 1 of 1047 GiB were still in memory at the end\n");
	check_line(
		&w->run,
		"  STORAGE-BOUND   storage accepted 8.71 GiB/s from 8 ranks; nothing was flushed");
	check_line(&w->run, "                  (checkpoint_fsync=none)");
	world_free(w);
}
END_TEST

START_TEST(what_nobody_knows_is_unknown)
{
	struct world *w = world_new();

	without_fsync(w)->in_memory_bytes = UINT64_MAX;
	check_first(&w->run,
		    "save: 8.71 GiB/s; NOT DURABLE: an unknown part of 1.02 TiB in memory\n");
	world_free(w);
}
END_TEST

START_TEST(o_direct_leaves_the_cache_of_the_device)
{
	struct world *w = world_new();

	without_fsync(w)->in_memory_bytes = 0;
	w->job->direct = true;
	check_first(
		&w->run,
		"save: 8.71 GiB/s; NOT DURABLE: 0 of 1047 GiB were still in memory at the end\n");
	check_line(&w->run, "  fsync           none (checkpoint_fsync=none): bytes in the device's "
			    "own cache are not");
	check_line(
		&w->run,
		"  STORAGE-BOUND   storage accepted 8.71 GiB/s from 8 ranks; nothing was flushed");
	world_free(w);
}
END_TEST

/* ---- what is no storage ---- */

START_TEST(a_restore_from_memory_is_no_storage_result)
{
	struct world *w = restore_new();

	w->result.storage.memory_percent = 96;
	w->result.ml.restores.caches_dropped = false;
	check_line(&w->run, "restore: 8.71 GiB/s, 12.0 s per checkpoint      MEMORY, NOT STORAGE");
	check_line(&w->run,
		   "  NOT A STORAGE RESULT   96.0% of the bytes came from this host's page cache");
	check_line(
		&w->run,
		"from memory        96.0% of the bytes read, 1005 of 1047 GiB (NFS mountstats);");
	w->result.storage.jobs_read_bytes = 2 * w->result.read.io_bytes;
	check_line(&w->run, "from memory        96.0% of the bytes that mlgen read there,");
	check_line(&w->run, "  try next        --drop_caches=run : the same with empty caches");
	w->result.storage.memory_percent = 10;
	check_report_lacks(&w->run, "NOT STORAGE");
	world_free(w);
}
END_TEST

START_TEST(what_came_before_the_first_one_is_in_the_window)
{
	struct world *w = restore_new();

	w->result.members = 1;
	w->result.window = (struct window_result){ "start", 1, 141 };
	w->result.wall_seconds = 140;
	check_report_lacks(&w->run, "window ");
	w->result.wall_seconds = 120;
	check_line(&w->run, "window             from memory, host: 2m21s, start to end of job; "
			    "rates over 2m00s of it");
	world_free(w);
}
END_TEST

START_TEST(caches_that_were_not_emptied_are_said)
{
	struct world *w = restore_new();

	w->result.ml.restores.caches_dropped = false;
	check_line(&w->run, "  caches          NOT EMPTIED (drop_caches=no): only the files were "
			    "dropped from this host's page cache");
	w->job->direct = true;
	check_line(&w->run, "  caches          NOT EMPTIED (drop_caches=no); direct=1 bypasses "
			    "this host's page cache");
	world_free(w);
}
END_TEST

START_TEST(what_was_verified_is_said)
{
	struct world *w = restore_new();

	w->result.ml.restores.verified = true;
	check_line(&w->run, "  verified        every byte is what was saved (verify=crc32c)");
	world_free(w);
}
END_TEST

static const struct mlgen_engine null_engine = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "null",
	.caps = MLGEN_CAP_NO_FILES,
};

START_TEST(without_storage_nothing_is_said_of_it)
{
	struct world *w = world_new();

	w->job->engine = &null_engine;
	w->result.ml.saves.durable = false;
	check_line(&w->run, "storage   none: ioengine=null touches no file");
	check_line(&w->run, "  try next        --ioengine=psync : the same with storage");
	check_report_lacks(&w->run, "NOT DURABLE");
	check_report_lacks(&w->run, "STORAGE-BOUND");
	w->job->engine = NULL;
	world_free(w);
}
END_TEST

Suite *suite_text_checkpoint_place(void)
{
	Suite *s = suite_create("text_checkpoint_place");
	TCase *t = tcase_create("text_checkpoint_place");

	tcase_add_test(t, without_fsync_the_first_line_says_it);
	tcase_add_test(t, a_little_in_memory_leaves_a_storage_result);
	tcase_add_test(t, what_nobody_knows_is_unknown);
	tcase_add_test(t, o_direct_leaves_the_cache_of_the_device);
	tcase_add_test(t, a_restore_from_memory_is_no_storage_result);
	tcase_add_test(t, what_came_before_the_first_one_is_in_the_window);
	tcase_add_test(t, caches_that_were_not_emptied_are_said);
	tcase_add_test(t, what_was_verified_is_said);
	tcase_add_test(t, without_storage_nothing_is_said_of_it);
	suite_add_tcase(s, t);
	return s;
}
