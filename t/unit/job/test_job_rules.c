/* SPDX-License-Identifier: Apache-2.0 */
/* test_job_rules.c - options that do not fit one another, and what is told of one that was
 * guessed. */

#include "base/mem.h"
#include "base/util.h"
#include "job/job.h"
#include "job_options.h"
#include "reap_rig.h"
#include "suites.h"

static const struct mlgen_engine files_engine = {
	.name = "files",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) | MLGEN_CAP_DIRECT,
};
static const struct mlgen_engine cached_engine = {
	.name = "cached",
	.caps = MLGEN_CAP(MLGEN_READ),
};
static const struct mlgen_engine no_files_engine = {
	.name = "none",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP_NO_FILES,
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

/* Options set one after the other, and the fault that follows; NULL = none. */
static const struct {
	const char *options;
	const struct mlgen_engine *engine;
	const char *fault;
} checks[] = {
	{ "", &files_engine, NULL },
	{ "time_based=1", &files_engine, "time_based: needs runtime=" },
	{ "time_based=1 runtime=1", &files_engine, NULL },
	/* runtime begins when ramp_time is over, as in fio */
	{ "runtime=10 ramp_time=10", &files_engine, NULL },
	{ "ramp_time=10", &files_engine, NULL },
	{ "num_files=8 subfolders=9", &files_engine, "subfolders: 9 folders" },
	{ "num_files=8 subfolders=8", &files_engine, NULL },
	{ "num_files=10000000000 sample_size=1t", &files_engine, "sample_size: the dataset would" },
	{ "num_files=1000000000", &files_engine, NULL },
	{ "accelerators=65536 read_threads=65", &files_engine, "read_threads: 65 for each" },
	{ "accelerators=65536 read_threads=64 prefetch=1", &files_engine, NULL },
	{ "read_threads=0 prefetch=0", &files_engine, NULL },
	{ "read_threads=0 loader=tfdata shuffle=none", &files_engine,
	  "read_threads: with 0 the accelerator itself reads" },
	{ "read_threads=0 prefetch=1", &files_engine, "prefetch: 1 needs a thread" },
	{ "read_threads=1 prefetch=0", &files_engine, "prefetch: 0 prefetches nothing" },
	{ "prefetch=1024 batch_size=16777216", &files_engine, "prefetch: " },
	{ "prefetch=128 batch_size=16777216 loader=plain", &files_engine, NULL },
	{ "direct=1", &files_engine, NULL },
	{ "direct=1 bs=1000", &files_engine, "bs: 1000 is not a multiple" },
	{ "direct=1", &cached_engine, "direct: ioengine=cached cannot" },
	{ "direct=1 bs=1000", &no_files_engine, NULL },
	{ "direct=1 bs=1000 access=framework", &files_engine,
	  "bs: access=framework uses its own sizes" },
	{ "access=framework", &files_engine, NULL },
	{ "access=framework format=raw", &files_engine, "access: framework means the calls" },
	{ "phase=prepare", &cached_engine, "ioengine: cached cannot write" },
	{ "phase=prepare", &files_engine, NULL },
	{ "percentile_list=50:99:50", &files_engine, "percentile_list: 50 is in" },
	{ "cpus_allowed=0-3,8", &files_engine, NULL },
	{ "cpus_allowed=3-1", &files_engine, "cpus_allowed: '3-1'" },
	{ "cpus_allowed=1,", &files_engine, "cpus_allowed: '1,'" },
	{ "cpus_allowed=a", &files_engine, "cpus_allowed: 'a'" },
	{ "numa_cpu_nodes=0,2-3", &files_engine, NULL },
	{ "numa_cpu_nodes=all", &files_engine, NULL },
	{ "numa_cpu_nodes=all,1", &files_engine, "numa_cpu_nodes: 'all,1'" },
	{ "numa_cpu_nodes=2-1", &files_engine, "numa_cpu_nodes: '2-1'" },
	{ "cpus_allowed=99999999999", &files_engine, "cpus_allowed: " },
	{ "max_errors=5", &files_engine,
	  "max_errors: 5 may fail, but continue_on_error=none ends" },
	{ "max_errors=5 continue_on_error=read", &files_engine, NULL },
	{ "max_errors=2% continue_on_error=write", &files_engine,
	  "max_errors: 2% may fail, but continue_on_error=write ends" },
	{ "target_au=90", &files_engine, "compute_time: 0 leaves" },
	{ "target_au=90 compute_time=1ms", &files_engine, NULL },
	{ "target_au=90 compute_time=1ms guess=compute_time", &files_engine, NULL },
	{ "guess=compute_time,batch-size", &files_engine, NULL },
	{ "guess=compute_tme", &files_engine,
	  "guess: 'compute_tme': unknown option; did you mean 'compute_time'" },
	{ "guess=colour_of_the_box", &files_engine, "guess: 'colour_of_the_box': unknown option" },
	{ "guess=compute_time,", &files_engine, "guess: 'compute_time,': a" },
	/* the dataset's own */
	{ "num_files=9000000000 eval_files=2000000000 sample_size=1g", &files_engine,
	  "sample_size: the dataset would" },
	{ "num_files=9000000000 label_size=1g sample_size=1k format=npy", &files_engine,
	  "sample_size: the dataset would" },
	{ "dataset=scan", &files_engine, NULL },
	{ "dataset=scan scan_errors=skip", &files_engine, NULL },
	{ "dataset=scan phase=prepare", &files_engine, "dataset: scan reads" },
	{ "scan_errors=skip", &files_engine, "scan_errors: has an effect only with dataset=scan" },
	{ "dataset=scan format=npz scan_key=x", &files_engine, NULL },
	{ "dataset=scan scan_key=x format=npy", &files_engine,
	  "scan_key: has an effect only with format=npz" },
	{ "dataset=scan format=npy scan_pair=_x:_y", &files_engine, NULL },
	{ "dataset=scan format=auto scan_pair=_x:_y", &files_engine, NULL },
	{ "dataset=scan format=raw scan_pair=_x:_y", &files_engine, NULL },
	{ "dataset=scan format=raw scan_pair=none", &files_engine, NULL },
	{ "format=npy scan_pair=_x:_y", &files_engine,
	  "scan_pair: has an effect only with dataset=scan" },
	{ "dataset=scan format=npy scan_pair=_x", &files_engine,
	  "scan_pair: '_x': is neither none nor FROM:TO, two different parts of paths" },
	{ "dataset=scan format=npy scan_pair=_x:_x", &files_engine,
	  "scan_pair: '_x:_x': is neither none nor FROM:TO" },
	{ "format=parquet columns=a:int8 read_columns=a row_group_size=2 access=framework",
	  &files_engine, NULL },
	{ "format=parquet columns=a:int8 row_group_size=2", &files_engine, NULL },
	{ "format=parquet columns=a:int8,b:int8 read_columns=a", &files_engine,
	  "read_columns: access=plain reads whole rows" },
	{ "columns=a:int8", &files_engine, "columns: has an effect only with format=parquet" },
	{ "read_columns=a", &files_engine, "read_columns: has an effect only with format=parquet" },
	{ "format=hdf5 dataset=scan hdf5_dataset=x", &files_engine, NULL },
	{ "format=hdf5 hdf5_dataset=x", &files_engine,
	  "hdf5_dataset: has an effect only with format=hdf5 and dataset=scan" },
	{ "row_group_size=2", &files_engine,
	  "row_group_size: has an effect only with format=parquet" },
	{ "row_group_size=1024", &files_engine, NULL },
	{ "format=npy label_size=1k", &files_engine, NULL },
	{ "label_size=1k", &files_engine, "label_size: has an effect only with format=npy" },
	/* tf.data's loader */
	{ "loader=tfdata shuffle=none", &files_engine, NULL },
	{ "loader=tfdata shuffle=file", &files_engine, NULL },
	{ "loader=tfdata shuffle=buffer:64", &files_engine, NULL },
	{ "loader=tfdata", &files_engine, "shuffle: sample is not an order of" },
	{ "shuffle=buffer:1", &files_engine, "shuffle: only loader=tfdata" },
	{ "loader=plain shuffle=buffer:64", &files_engine, "shuffle: only loader=tfdata" },
	{ "loader=tfdata shuffle=importance", &files_engine,
	  "shuffle: importance is not an order of" },
	{ "loader=tfdata shuffle=pages:8m", &files_engine, "shuffle: pages:8m is not an order of" },
	{ "shard=file shuffle=replacement", &files_engine,
	  "shard: file gives every accelerator its own files" },
	{ "shard=contiguous shuffle=importance", &files_engine,
	  "shard: contiguous divides one order" },
	{ "shard=contiguous shuffle=chunks:8:4", &files_engine, NULL },
	{ "shuffle=importance importance_rep=1.5", &files_engine, NULL },
	{ "shuffle=importance importance_rep=1.3", &files_engine,
	  "importance_rep: 1.3 is not a multiple of 0.5" },
	{ "loader=tfdata shuffle=buffer:1000000000 accelerators=2", &files_engine, NULL },
	{ "loader=tfdata shuffle=buffer:1000000000 accelerators=3", &files_engine,
	  "shuffle: 3000000006 samples would be ready" },
	{ "loader=tfdata shuffle=none decode_threads=8", &files_engine, NULL },
	{ "loader=tfdata shuffle=none deterministic=0", &files_engine, NULL },
	{ "deterministic=0", &files_engine,
	  "deterministic: has an effect only with loader=tfdata" },
	{ "decode_threads=8", &files_engine,
	  "decode_threads: has an effect only with loader=tfdata" },
	{ "decode_threads=1", &files_engine, NULL },
	{ "loader=tfdata shuffle=none access=framework format=tfrecord", &files_engine, NULL },
	{ "loader=tfdata shuffle=none access=framework format=npz", &files_engine, NULL },
	{ "access=framework format=tfrecord", &files_engine,
	  "access: framework reads format=tfrecord from the beginning" },
	{ "access=framework format=tar loader=plain", &files_engine,
	  "access: framework reads format=tar from the beginning" },
	{ "format=tfrecord", &files_engine, NULL },
	/* more ranks than files */
	{ "shard=file num_files=8 accelerators=8", &files_engine, NULL },
	{ "shard=file num_files=8 accelerators=9", &files_engine,
	  "shard: file gives every accelerator" },
	{ "shard=strided num_files=8 accelerators=9", &files_engine, NULL },
	{ "shard=file num_files=8 accelerators=9 dataset_ratio=5", &files_engine, NULL },
	{ "shard=file num_files=8 accelerators=9 phase=prepare", &files_engine, NULL },
	/* what takes time, or memory */
	{ "preprocess=burn preprocess_time=1ms", &files_engine, NULL },
	{ "preprocess=burn", &files_engine, "preprocess: has an effect only with preprocess_time" },
	{ "preprocess=burn first_sample_time=1ms", &files_engine, NULL },
	{ "preprocess_at=reads first_sample_time=1ms", &files_engine, NULL },
	{ "preprocess_at=reads first_sample_time=1ms first_sample_split=2/70", &files_engine,
	  NULL },
	{ "preprocess_at=reads first_sample_time=1ms first_sample_split=2/170", &files_engine,
	  "first_sample_split: 170 is not between 0% and 100%" },
	{ "first_sample_time=1ms first_sample_split=2/70", &files_engine,
	  "first_sample_split: has an effect only with preprocess_at=reads" },
	{ "preprocess_at=reads preprocess_time=1ms first_sample_split=2/70", &files_engine,
	  "first_sample_split: has an effect only with first_sample_time" },
	{ "first_sample_time=1ms phase=prepare", &files_engine,
	  "first_sample_time: has an effect only with phase=train" },
	{ "first_sample_time=1ms loader=tfdata shuffle=none", &files_engine,
	  "first_sample_time: with loader=tfdata some threads read, and other threads decode; use "
	  "loader=pytorch or plain, or first_sample_time=0" },
	{ "fresh_memory=128k format=raw", &files_engine, NULL },
	{ "fresh_memory=128k hold_samples=1", &files_engine, NULL },
	{ "fresh_memory=128k", &files_engine,
	  "fresh_memory: arrays of NumPy, which are new each time, exist only with "
	  "hold_samples=1" },
	{ "fresh_memory=128k phase=prepare", &files_engine,
	  "fresh_memory: has an effect only with phase=train" },
	{ "hold_samples=1", &files_engine, NULL },
	{ "hold_samples=1 phase=prepare", &files_engine,
	  "hold_samples: has an effect only with phase=train" },
	/* evaluation */
	{ "eval_files=8 eval_batch_size=2 eval_time=1s eval_every=2", &files_engine, NULL },
	{ "eval_files=8 eval_after=2", &files_engine, NULL },
	{ "eval_batch_size=2", &files_engine,
	  "eval_batch_size: has an effect only with eval_files" },
	{ "eval_time=1s", &files_engine, "eval_time: has an effect only with eval_files" },
	{ "eval_every=2", &files_engine, "eval_every: has an effect only with eval_files" },
	{ "eval_after=2", &files_engine, "eval_after: has an effect only with eval_files" },
	{ "eval_files=8 prefetch=1024 eval_batch_size=16777216", &files_engine, "prefetch: " },
	/* plain jobs */
	{ "phase=io", &files_engine, NULL },
	{ "phase=io", &writes_engine, "ioengine: writes cannot read" },
	{ "phase=io rw=randwrite", &writes_engine, NULL },
	{ "phase=io rw=randwrite", &cached_engine, "ioengine: cached cannot write" },
	{ "phase=io rw=rw", &cached_engine, "ioengine: cached cannot write" },
	{ "phase=io", &no_files_engine, "size: ioengine=none has no files" },
	{ "phase=io size=20%", &no_files_engine, "size: ioengine=none has no files" },
	{ "phase=io size=1m", &no_files_engine, NULL },
	{ "phase=io size=50% filesize=1m", &no_files_engine, NULL },
	{ "phase=io size=1m create_only=1", &no_files_engine,
	  "create_only: ioengine=none creates no files" },
	{ "phase=io direct=1 bs=4k,1000", &files_engine, NULL },
	{ "phase=io rw=rw direct=1 bs=4k,1000", &files_engine, "bs: 1000 is not a multiple" },
	{ "phase=io rw=write direct=1 bs=1000,4k", &files_engine, NULL },
	{ "phase=io direct=1 bssplit=4k/50:1000/50", &files_engine,
	  "bssplit: 1000 is not a multiple" },
	{ "phase=io direct=1 bs=1000 bssplit=4k", &files_engine, NULL },
	{ "phase=io bs=1000", &files_engine, NULL },
	{ "phase=io direct=1", &cached_engine, "direct: ioengine=cached" },
	{ "phase=io bssplit=4k/60:8k/60", &files_engine, "bssplit: the percentages sum to 120" },
	{ "phase=io bssplit=4k/60:8k", &files_engine, NULL },
	{ "phase=io rwmixread=70", &files_engine, "rwmixread: has an effect only with" },
	{ "phase=io rw=randwrite rwmixwrite=70", &files_engine,
	  "rwmixwrite: has an effect only with" },
	{ "phase=io rw=randrw rwmixread=70", &files_engine, NULL },
	{ "phase=io norandommap=1", &files_engine, "norandommap: has an effect only with" },
	{ "phase=io rate=1m rate_iops=100", &files_engine, NULL },
	{ "phase=io direct=1 iodepth=8 iodepth_batch_complete_min=4 iodepth_batch_complete_max=2",
	  &libaio_engine, "iodepth_batch_complete_max: 2 is less" },
	{ "phase=io numjobs=65536", &files_engine, NULL },
	{ "phase=io direct=1 numjobs=65536 iodepth=65", &libaio_engine,
	  "numjobs: 65536 of iodepth=65 are 4259840" },
	{ "phase=io fsync=1", &files_engine, "fsync: this job writes" },
	{ "phase=io fdatasync=1", &files_engine, "fdatasync: this job writes" },
	{ "phase=io end_fsync=1", &files_engine, "end_fsync: this job writes" },
	{ "phase=io rw=rw fsync=1 fdatasync=1 end_fsync=1", &files_engine, NULL },
	{ "phase=io", &libaio_engine, "ioengine: libaio without direct=1" },
	{ "phase=io direct=1", &libaio_engine, NULL },
	{ "phase=io thinktime_blocks=2", &files_engine, "thinktime_blocks: " },
	{ "phase=io thinktime_blocks=2 thinktime=1", &files_engine, NULL },
	{ "phase=io loops=2", &files_engine, NULL },
	{ "phase=io loops=2 time_based=1 runtime=1", &files_engine, "loops: " },
	{ "phase=io time_based=1", &files_engine, "time_based: needs" },
	{ "phase=io invalidate=epoch", &files_engine, "invalidate: a plain" },
	{ "phase=io numa=device", &files_engine, NULL },
	{ "phase=io percentile_list=50:50", &files_engine, "percentile_list: 50 is in" },
	{ "phase=io cpus_allowed=x", &files_engine, "cpus_allowed: 'x'" },
	{ "phase=io verify=0", &files_engine, NULL },
	{ "phase=io verify=crc32c", &files_engine, "verify: a plain job" },
	{ "phase=prepare verify=crc32c", &files_engine,
	  "verify: has an effect only with phase=restore" },
	{ "verify=crc32c", &files_engine, "verify: has an effect only with phase=restore" },
};

START_TEST(options_that_do_not_fit_are_found)
{
	check_options(checks[_i].engine, checks[_i].options, checks[_i].fault);
}
END_TEST

/* What a report says of `guess`, and options of the command line. */
static const struct {
	const char *guess, *typed, *text;
} guesses[] = {
	{ NULL, "", "" },
	{ "compute_time", "", "compute_time is a guess of its source" },
	{ "compute_time, batch-size", "",
	  "compute_time is a guess of its source; batch-size is a guess of its source" },
	{ "compute_time,batch_size", "compute_time=1s", "batch_size is a guess of its source" },
	{ "compute_time", "compute_time=1s", "" },
	{ "compute_time", "compute_time=1s guess=compute_time",
	  "compute_time is a guess of its source" },
};

START_TEST(a_guess_is_told_until_the_user_knows_better)
{
	struct job *j = job_new("x");
	struct buf text = { 0 };

	set_options(j, guesses[_i].typed);
	if (guesses[_i].guess)
		mem_replace(&j->guess, guesses[_i].guess);
	guess_text(j, &text);
	ck_assert_str_eq(buf_str(&text), guesses[_i].text);
	buf_fini(&text);
	job_free(j);
}
END_TEST

Suite *suite_job_rules(void)
{
	Suite *s = suite_create("job_rules");
	TCase *t = tcase_create("job_rules");

	tcase_add_loop_test(t, options_that_do_not_fit_are_found, 0, ARRAY_LEN(checks));
	tcase_add_loop_test(t, a_guess_is_told_until_the_user_knows_better, 0, ARRAY_LEN(guesses));
	suite_add_tcase(s, t);
	return s;
}
