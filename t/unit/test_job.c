/* SPDX-License-Identifier: Apache-2.0 */
/* test_job.c - the options of a job, their defaults and their rules. */
#include "job_options.h"
#include "suites.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "job/fio_options.h"
#include "job/guess.h"
#include "job/job.h"
#include "job/settings.h"

static const struct mlgen_engine files_engine = {
	.name = "files",
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) |
		MLGEN_CAP_DIRECT,
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
static int no_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min,
		   unsigned max, uint64_t timeout_ns)
{
	(void)ctx;
	(void)io;
	(void)min;
	(void)max;
	(void)timeout_ns;
	return 0;
}

static const struct mlgen_engine libaio_engine = {
	.name = "libaio",
	.reap = no_reap,
	.caps = MLGEN_CAP(MLGEN_READ) | MLGEN_CAP(MLGEN_WRITE) |
		MLGEN_CAP_DIRECT,
};

static const struct mlgen_field *const tables[] = { job_fields,
						    settings_fields };

START_TEST(every_row_is_complete)
{
	for (size_t t = 0; t < 2; t++) {
		for (const struct mlgen_field *f = tables[t]; f->name; f++) {
			size_t len = strcspn(f->help, "\n");

			ck_assert_msg(f->group != NULL, "%s", f->name);
			ck_assert_msg(f->help[len - 1] == '.', "%s", f->name);
			ck_assert_msg(field_find(tables[t], f->name) == f,
				      "%s is there twice", f->name);
			if (f->alias)
				ck_assert_msg(field_find(tables[t], f->alias) ==
						      f,
					      "%s is there twice", f->alias);
			for (const struct mlgen_choice *c = f->choices;
			     c && c->name; c++)
				ck_assert_msg(c->help != NULL, "%s", c->name);
		}
	}
}
END_TEST

START_TEST(no_name_is_both_of_a_job_and_of_the_program)
{
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		ck_assert_msg(!field_find(settings_fields, f->name), "%s",
			      f->name);
		ck_assert_msg(!strchr(f->name, '.'), "%s", f->name);
	}
}
END_TEST

START_TEST(every_default_parses)
{
	struct job *j = job_new("x");
	struct settings s = { 0 };
	void *bases[] = { j, &s };

	field_defaults(settings_fields, &s);
	for (size_t t = 0; t < 2; t++) {
		for (const struct mlgen_field *f = tables[t]; f->name; f++) {
			struct mlgen_err err = { 0 };

			if (f->def)
				field_parse(f, bases[t], f->def, 1024, &err);
			ck_assert_str_eq(err.text, "");
		}
	}
	field_fini(settings_fields, &s);
	job_free(j);
}
END_TEST

START_TEST(defaults_are_those_of_the_manual)
{
	struct job *j = job_new("x");

	ck_assert_str_eq(j->directory, "mlgen-data/x");
	ck_assert_uint_eq(j->num_files, 256);
	ck_assert_uint_eq(j->read_threads, 4);
	ck_assert_uint_eq(j->bs.read, 1 << 20);
	ck_assert_int_eq(j->kb_base, 1024);
	ck_assert_int_eq(j->invalidate, INVALIDATE_RUN);
	ck_assert(j->drop_last);
	ck_assert(isnan(j->target_au));
	ck_assert_ptr_null(j->accelerator);
	ck_assert_uint_eq(j->percentile_list.count, 4);
	ck_assert(j->direct != j->buffered);
	ck_assert_double_eq(j->rwmixread + j->rwmixwrite, 100);
	ck_assert_uint_eq(j->numjobs, 1);
	ck_assert_uint_eq(j->iodepth_batch_submit, 0);
	ck_assert_uint_eq(j->iodepth_batch_complete_min, 1);
	ck_assert_uint_eq(j->thinktime_blocks, 1);
	job_free(j);
}
END_TEST

/* Options set one after the other, and the fault that follows; NULL = none. */
static const struct {
	const char *options;
	const struct mlgen_engine *engine;
	const char *fault;
} checks[] = {
	{ "", &files_engine, NULL },
	{ "time_based=1", &files_engine, "time_based: needs a runtime" },
	{ "time_based=1 runtime=1", &files_engine, NULL },
	/* runtime begins when ramp_time is over, as in fio */
	{ "runtime=10 ramp_time=10", &files_engine, NULL },
	{ "ramp_time=10", &files_engine, NULL },
	{ "num_files=8 subfolders=9", &files_engine, "subfolders: 9 folders" },
	{ "num_files=8 subfolders=8", &files_engine, NULL },
	{ "num_files=10000000000 sample_size=1t", &files_engine,
	  "sample_size: the dataset would" },
	{ "num_files=1000000000", &files_engine, NULL },
	{ "accelerators=65536 read_threads=65", &files_engine,
	  "read_threads: 65 for each" },
	{ "accelerators=65536 read_threads=64 prefetch=1", &files_engine,
	  NULL },
	{ "read_threads=0 prefetch=0", &files_engine, NULL },
	{ "read_threads=0 loader=tfdata shuffle=none", &files_engine,
	  "read_threads: without any the accelerator reads itself" },
	{ "read_threads=0 prefetch=1", &files_engine,
	  "prefetch: 1 needs a thread" },
	{ "read_threads=1 prefetch=0", &files_engine,
	  "prefetch: 0 reads nothing ahead" },
	{ "prefetch=1024 batch_size=16777216", &files_engine, "prefetch: " },
	{ "prefetch=128 batch_size=16777216 loader=plain", &files_engine,
	  NULL },
	{ "direct=1", &files_engine, NULL },
	{ "direct=1 bs=1000", &files_engine, "bs: 1000 is no multiple" },
	{ "direct=1", &cached_engine, "direct: ioengine=cached cannot" },
	{ "direct=1 bs=1000", &no_files_engine, NULL },
	{ "direct=1 bs=1000 access=framework", &files_engine,
	  "bs: access=framework has sizes of its own" },
	{ "access=framework", &files_engine, NULL },
	{ "access=framework format=raw", &files_engine,
	  "access: framework means the calls" },
	{ "phase=prepare", &cached_engine, "ioengine: cached cannot write" },
	{ "phase=prepare", &files_engine, NULL },
	{ "percentile_list=50:99:50", &files_engine,
	  "percentile_list: 50 stands" },
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
	{ "target_au=90 compute_time=1ms guess=compute_time", &files_engine,
	  NULL },
	{ "guess=compute_time,batch-size", &files_engine, NULL },
	{ "guess=compute_tme", &files_engine,
	  "guess: 'compute_tme': unknown option; did you mean 'compute_time'" },
	{ "guess=colour_of_the_box", &files_engine,
	  "guess: 'colour_of_the_box': unknown option" },
	{ "guess=compute_time,", &files_engine, "guess: 'compute_time,': a" },
	/* the dataset's own */
	{ "num_files=9000000000 eval_files=2000000000 sample_size=1g",
	  &files_engine, "sample_size: the dataset would" },
	{ "num_files=9000000000 label_size=1g sample_size=1k format=npy",
	  &files_engine, "sample_size: the dataset would" },
	{ "dataset=scan", &files_engine, NULL },
	{ "dataset=scan scan_errors=skip", &files_engine, NULL },
	{ "dataset=scan phase=prepare", &files_engine, "dataset: scan reads" },
	{ "scan_errors=skip", &files_engine,
	  "scan_errors: counts with dataset=scan only" },
	{ "dataset=scan format=npz scan_key=x", &files_engine, NULL },
	{ "dataset=scan scan_key=x format=npy", &files_engine,
	  "scan_key: counts with format=npz only" },
	{ "dataset=scan format=npy scan_pair=_x:_y", &files_engine, NULL },
	{ "dataset=scan format=auto scan_pair=_x:_y", &files_engine, NULL },
	{ "dataset=scan format=raw scan_pair=_x:_y", &files_engine,
	  "scan_pair: counts with format=npy only" },
	{ "format=npy scan_pair=_x:_y", &files_engine,
	  "scan_pair: counts with dataset=scan only" },
	{ "dataset=scan format=npy scan_pair=_x", &files_engine,
	  "scan_pair: '_x': is not FROM:TO, two parts of paths" },
	{ "dataset=scan format=npy scan_pair=_x:_x", &files_engine,
	  "scan_pair: '_x:_x': is not FROM:TO" },
	{ "format=parquet columns=a:int8 read_columns=a row_group_size=2 "
	  "access=framework",
	  &files_engine, NULL },
	{ "format=parquet columns=a:int8 row_group_size=2", &files_engine,
	  NULL },
	{ "format=parquet columns=a:int8,b:int8 read_columns=a", &files_engine,
	  "read_columns: access=plain reads whole rows" },
	{ "columns=a:int8", &files_engine,
	  "columns: counts with format=parquet only" },
	{ "read_columns=a", &files_engine,
	  "read_columns: counts with format=parquet only" },
	{ "format=hdf5 dataset=scan hdf5_dataset=x", &files_engine, NULL },
	{ "format=hdf5 hdf5_dataset=x", &files_engine,
	  "hdf5_dataset: counts with format=hdf5 and dataset=scan only" },
	{ "row_group_size=2", &files_engine,
	  "row_group_size: counts with format=parquet only" },
	{ "row_group_size=1024", &files_engine, NULL },
	{ "format=npy label_size=1k", &files_engine, NULL },
	{ "label_size=1k", &files_engine,
	  "label_size: counts with format=npy only" },
	/* tf.data's loader */
	{ "loader=tfdata shuffle=none", &files_engine, NULL },
	{ "loader=tfdata shuffle=file", &files_engine, NULL },
	{ "loader=tfdata shuffle=buffer:64", &files_engine, NULL },
	{ "loader=tfdata", &files_engine, "shuffle: sample is no order of" },
	{ "shuffle=buffer:1", &files_engine, "shuffle: only loader=tfdata" },
	{ "loader=plain shuffle=buffer:64", &files_engine,
	  "shuffle: only loader=tfdata" },
	{ "loader=tfdata shuffle=buffer:1000000000 accelerators=2",
	  &files_engine, NULL },
	{ "loader=tfdata shuffle=buffer:1000000000 accelerators=3",
	  &files_engine, "shuffle: 3000000006 samples would be ready" },
	{ "loader=tfdata shuffle=none decode_threads=8", &files_engine, NULL },
	{ "loader=tfdata shuffle=none deterministic=0", &files_engine, NULL },
	{ "deterministic=0", &files_engine,
	  "deterministic: counts with loader=tfdata only" },
	{ "decode_threads=8", &files_engine,
	  "decode_threads: counts with loader=tfdata only" },
	{ "decode_threads=1", &files_engine, NULL },
	{ "loader=tfdata shuffle=none access=framework format=tfrecord",
	  &files_engine, NULL },
	{ "loader=tfdata shuffle=none access=framework format=npz",
	  &files_engine, NULL },
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
	{ "shard=file num_files=8 accelerators=9 dataset_ratio=5",
	  &files_engine, NULL },
	{ "shard=file num_files=8 accelerators=9 phase=prepare", &files_engine,
	  NULL },
	/* what takes time, or memory */
	{ "preprocess=burn preprocess_time=1ms", &files_engine, NULL },
	{ "preprocess=burn", &files_engine,
	  "preprocess: counts with preprocess_time only" },
	{ "hold_samples=1", &files_engine, NULL },
	{ "hold_samples=1 phase=prepare", &files_engine,
	  "hold_samples: counts with phase=train only" },
	/* evaluation */
	{ "eval_files=8 eval_batch_size=2 eval_time=1s eval_every=2",
	  &files_engine, NULL },
	{ "eval_files=8 eval_after=2", &files_engine, NULL },
	{ "eval_batch_size=2", &files_engine,
	  "eval_batch_size: counts with eval_files only" },
	{ "eval_time=1s", &files_engine,
	  "eval_time: counts with eval_files only" },
	{ "eval_every=2", &files_engine,
	  "eval_every: counts with eval_files only" },
	{ "eval_after=2", &files_engine,
	  "eval_after: counts with eval_files only" },
	{ "eval_files=8 prefetch=1024 eval_batch_size=16777216", &files_engine,
	  "prefetch: " },
	/* plain jobs */
	{ "phase=io", &files_engine, NULL },
	{ "phase=io", &writes_engine, "ioengine: writes cannot read" },
	{ "phase=io rw=randwrite", &writes_engine, NULL },
	{ "phase=io rw=randwrite", &cached_engine,
	  "ioengine: cached cannot write" },
	{ "phase=io rw=rw", &cached_engine, "ioengine: cached cannot write" },
	{ "phase=io", &no_files_engine, "size: ioengine=none has no files" },
	{ "phase=io size=20%", &no_files_engine,
	  "size: ioengine=none has no files" },
	{ "phase=io size=1m", &no_files_engine, NULL },
	{ "phase=io size=50% filesize=1m", &no_files_engine, NULL },
	{ "phase=io size=1m create_only=1", &no_files_engine,
	  "create_only: ioengine=none makes no files" },
	{ "phase=io direct=1 bs=4k,1000", &files_engine, NULL },
	{ "phase=io rw=rw direct=1 bs=4k,1000", &files_engine,
	  "bs: 1000 is no multiple" },
	{ "phase=io rw=write direct=1 bs=1000,4k", &files_engine, NULL },
	{ "phase=io direct=1 bssplit=4k/50:1000/50", &files_engine,
	  "bssplit: 1000 is no multiple" },
	{ "phase=io direct=1 bs=1000 bssplit=4k", &files_engine, NULL },
	{ "phase=io bs=1000", &files_engine, NULL },
	{ "phase=io direct=1", &cached_engine, "direct: ioengine=cached" },
	{ "phase=io bssplit=4k/60:8k/60", &files_engine,
	  "bssplit: the percentages sum to 120" },
	{ "phase=io bssplit=4k/60:8k", &files_engine, NULL },
	{ "phase=io rwmixread=70", &files_engine, "rwmixread: counts with" },
	{ "phase=io rw=randwrite rwmixwrite=70", &files_engine,
	  "rwmixwrite: counts with" },
	{ "phase=io rw=randrw rwmixread=70", &files_engine, NULL },
	{ "phase=io norandommap=1", &files_engine, "norandommap: counts with" },
	{ "phase=io rate=1m rate_iops=100", &files_engine, NULL },
	{ "phase=io direct=1 iodepth=8 iodepth_batch_complete_min=4 "
	  "iodepth_batch_complete_max=2",
	  &libaio_engine, "iodepth_batch_complete_max: 2 is less" },
	{ "phase=io numjobs=65536", &files_engine, NULL },
	{ "phase=io direct=1 numjobs=65536 iodepth=65", &libaio_engine,
	  "numjobs: 65536 of iodepth=65 are 4259840" },
	{ "phase=io fsync=1", &files_engine, "fsync: this job writes" },
	{ "phase=io fdatasync=1", &files_engine, "fdatasync: this job writes" },
	{ "phase=io end_fsync=1", &files_engine, "end_fsync: this job writes" },
	{ "phase=io rw=rw fsync=1 fdatasync=1 end_fsync=1", &files_engine,
	  NULL },
	{ "phase=io", &libaio_engine, "ioengine: libaio without direct=1" },
	{ "phase=io direct=1", &libaio_engine, NULL },
	{ "phase=io thinktime_blocks=2", &files_engine, "thinktime_blocks: " },
	{ "phase=io thinktime_blocks=2 thinktime=1", &files_engine, NULL },
	{ "phase=io loops=2", &files_engine, NULL },
	{ "phase=io loops=2 time_based=1 runtime=1", &files_engine, "loops: " },
	{ "phase=io time_based=1", &files_engine, "time_based: needs" },
	{ "phase=io invalidate=epoch", &files_engine, "invalidate: a plain" },
	{ "phase=io numa=device", &files_engine, NULL },
	{ "phase=io percentile_list=50:50", &files_engine,
	  "percentile_list: 50 stands" },
	{ "phase=io cpus_allowed=x", &files_engine, "cpus_allowed: 'x'" },
	{ "phase=io verify=0", &files_engine, NULL },
	{ "phase=io verify=crc32c", &files_engine, "verify: a plain job" },
	{ "phase=prepare verify=crc32c", &files_engine,
	  "verify: counts with phase=restore only" },
	{ "verify=crc32c", &files_engine,
	  "verify: counts with phase=restore only" },
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
	  "compute_time is a guess of its source; "
	  "batch-size is a guess of its source" },
	{ "compute_time,batch_size", "compute_time=1s",
	  "batch_size is a guess of its source" },
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

START_TEST(texts_read_back_whatever_kb_base_is)
{
	static const char *const sizes[] = {
		"1m",         "4096", "3g", "normal:2m:1k", "dlio:146600628:0",
		"gamma:2:64k"
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct job *j = job_new("x"), *copy = job_new("x");
		const struct mlgen_field *f =
			field_find(job_fields, "sample_size");
		struct buf text = { 0 };

		ck_assert_int_eq(field_parse(f, j, sizes[i], 1024, NULL), 0);
		j->kb_base = 1000;
		job_option_text(j, "sample_size", &text);
		ck_assert_int_eq(
			field_parse(f, copy, buf_str(&text), 1000, NULL), 0);
		ck_assert_double_eq(j->sample_size.a, copy->sample_size.a);
		ck_assert_double_eq(j->sample_size.b, copy->sample_size.b);
		buf_fini(&text);
		job_free(j);
		job_free(copy);
	}
}
END_TEST

/* As fio reads them, beside bs=4k,8k. */
static const struct {
	const char *bssplit;
	unsigned direction;
	int count; /* -1 = refused */
	struct job_size sizes[3];
	const char *fault;
} splits[] = {
	{ "", 0, 1, { { 4096, 100 } }, NULL },
	{ "", 1, 1, { { 8192, 100 } }, NULL },
	{ "16k", 0, 1, { { 16384, 100 } }, NULL },
	{ "16k", 1, 1, { { 16384, 100 } }, NULL },
	{ "4k/10:64k/50:32k/40",
	  0,
	  3,
	  { { 4096, 10 }, { 65536, 50 }, { 32768, 40 } },
	  NULL },
	{ "4k:64k", 0, 2, { { 4096, 50 }, { 65536, 50 } }, NULL },
	{ "4k/50:64k/:32k",
	  0,
	  3,
	  { { 4096, 50 }, { 65536, 25 }, { 32768, 25 } },
	  NULL },
	/* what is missing goes to the largest */
	{ "64k/20:4k/10", 0, 2, { { 65536, 90 }, { 4096, 10 } }, NULL },
	{ "4k/33.3:8k/66.7", 0, 2, { { 4096, 33.3 }, { 8192, 66.7 } }, NULL },
	{ "4k/0:8k", 0, 2, { { 4096, 0 }, { 8192, 100 } }, NULL },
	{ "4k/100,64k/100", 0, 1, { { 4096, 100 } }, NULL },
	{ "4k/100,64k/100", 1, 1, { { 65536, 100 } }, NULL },
	{ "4k/100,64k/100,1k", 1, 1, { { 65536, 100 } }, NULL },
	{ ",64k/100", 0, 1, { { 4096, 100 } }, NULL },
	{ "64k/100,", 1, 1, { { 8192, 100 } }, NULL },
	{ "4k/60:64k/41", 0, -1, { { 0 } }, "sum to 101" },
	{ "4k/101", 0, -1, { { 0 } }, "101 is not between" },
	{ "4k/x", 0, -1, { { 0 } }, "bssplit: 'x'" },
	{ "4k/10/20", 0, -1, { { 0 } }, "bssplit: '10/20'" },
	{ "4k::8k", 0, -1, { { 0 } }, "bssplit: " },
	{ "4k:", 0, -1, { { 0 } }, "bssplit: " },
	{ "511/100", 0, -1, { { 0 } }, "511 is not between 512 and 1g" },
	{ "2g", 0, -1, { { 0 } }, "2g is not between" },
	{ "4j", 0, -1, { { 0 } }, "bssplit: '4j'" },
};

START_TEST(bssplit_is_read_as_by_fio)
{
	struct job *j = job_new("x");
	struct job_size sizes[JOB_SIZES_MAX];
	struct mlgen_err err = { 0 };
	int n = 0;

	set_options(j, "phase=io bs=4k,8k");
	if (*splits[_i].bssplit)
		mem_replace(&j->bssplit, splits[_i].bssplit);
	n = job_sizes(j, splits[_i].direction, sizes, &err);
	if (splits[_i].fault) {
		ck_assert_int_eq(n, -EINVAL);
		ck_assert_msg(strstr(err.text, splits[_i].fault), "%s",
			      err.text);
	} else {
		ck_assert_str_eq(err.text, "");
		ck_assert_int_eq(n, splits[_i].count);
	}
	for (int i = 0; i < n; i++) {
		ck_assert_uint_eq(sizes[i].bytes, splits[_i].sizes[i].bytes);
		ck_assert_double_eq_tol(sizes[i].percent,
					splits[_i].sizes[i].percent, 1e-9);
	}
	job_free(j);
}
END_TEST

START_TEST(bssplit_has_an_end)
{
	struct job *j = job_new("x");
	struct job_size sizes[JOB_SIZES_MAX];
	struct mlgen_err err = { 0 };
	struct buf list = { 0 };

	buf_add(&list, "4k");
	for (int i = 1; i < JOB_SIZES_MAX; i++)
		buf_add(&list, ":4k");
	mem_replace(&j->bssplit, buf_str(&list));
	ck_assert_int_eq(job_sizes(j, 0, sizes, &err), JOB_SIZES_MAX);
	buf_add(&list, ":4k");
	mem_replace(&j->bssplit, buf_str(&list));
	ck_assert_int_eq(job_sizes(j, 0, sizes, &err), -EINVAL);
	ck_assert_str_eq(err.text, "bssplit: more than 64 sizes");
	buf_fini(&list);
	job_free(j);
}
END_TEST

START_TEST(what_a_job_does_follows_from_rw)
{
	static const struct {
		const char *rw;
		bool reads, writes, is_random;
	} rows[] = {
		{ "rw=read", true, false, false },
		{ "rw=write", false, true, false },
		{ "rw=rw", true, true, false },
		{ "rw=readwrite", true, true, false },
		{ "rw=randread", true, false, true },
		{ "rw=randwrite", false, true, true },
		{ "rw=randrw", true, true, true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct job *j = job_new("x");

		set_options(j, rows[i].rw);
		ck_assert_int_eq(job_reads(j), rows[i].reads);
		ck_assert_int_eq(job_writes(j), rows[i].writes);
		ck_assert_int_eq(job_is_random(j), rows[i].is_random);
		job_free(j);
	}
}
END_TEST

static const struct {
	const char *name, *value;
	bool is_harmless;
} harmless[] = {
	{ "thread", "1", true },     { "gtod_reduce", "1", true },
	{ "randrepeat", "0", true }, { "fallocate", "none", true },
	{ "nrfiles", "1", true },    { "nrfiles", "10", false },
	{ "nrfiles", "", false },    { "sync", "0", true },
	{ "sync", "none", true },    { "sync", "non", false },
	{ "sync", "0|none", false }, { "sync", "1", false },
	{ "exitall", "1", false },   { "force_async", "1", false },
	{ "rw", "read", false },
};

START_TEST(what_changes_nothing_is_harmless)
{
	const struct fio_option *o = fio_option_find(harmless[_i].name);

	ck_assert_ptr_nonnull(o);
	ck_assert_int_eq(fio_option_is_harmless(o, harmless[_i].value),
			 harmless[_i].is_harmless);
	ck_assert(!fio_option_is_harmless(NULL, harmless[_i].value));
}
END_TEST

/* What mlgen has needs no hint, and is not waved through either. */
START_TEST(an_option_that_is_there_is_not_excused)
{
	for (const struct fio_option *o = fio_options; o->name; o++) {
		if (!field_find(job_fields, o->name))
			continue;
		ck_assert_msg(!o->hint && !o->note, "%s", o->name);
	}
}
END_TEST

/* A hint must not send anybody to an option that is not there. */
START_TEST(hints_name_options_that_there_are)
{
	for (const struct fio_option *o = fio_options; o->name; o++) {
		char word[64] = "";

		if (!o->hint || sscanf(o->hint, "use %63[a-z_]", word) != 1)
			continue;
		ck_assert_msg(field_find(job_fields, word) != NULL, "%s: %s",
			      o->name, o->hint);
	}
	ck_assert_ptr_nonnull(fio_option_find("hugepage_size"));
	ck_assert_ptr_null(fio_option_find("hugepage"));
}
END_TEST

START_TEST(options_of_fio_have_its_names)
{
	for (const struct mlgen_field *f = job_fields; f->name; f++)
		ck_assert_msg(!(f->flags & MLGEN_FIO) ==
				      !fio_option_find(f->name),
			      "%s", f->name);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_job(void)
{
	Suite *s = suite_create("job");
	TCase *t = tcase_create("job");

	tcase_add_test(t, every_row_is_complete);
	tcase_add_test(t, no_name_is_both_of_a_job_and_of_the_program);
	tcase_add_test(t, every_default_parses);
	tcase_add_test(t, defaults_are_those_of_the_manual);
	tcase_add_loop_test(t, options_that_do_not_fit_are_found, 0,
			    ROWS(checks));
	tcase_add_loop_test(t, a_guess_is_told_until_the_user_knows_better, 0,
			    ROWS(guesses));
	tcase_add_test(t, texts_read_back_whatever_kb_base_is);
	tcase_add_loop_test(t, bssplit_is_read_as_by_fio, 0, ROWS(splits));
	tcase_add_test(t, bssplit_has_an_end);
	tcase_add_test(t, what_a_job_does_follows_from_rw);
	tcase_add_loop_test(t, what_changes_nothing_is_harmless, 0,
			    ROWS(harmless));
	tcase_add_test(t, an_option_that_is_there_is_not_excused);
	tcase_add_test(t, hints_name_options_that_there_are);
	tcase_add_test(t, options_of_fio_have_its_names);
	suite_add_tcase(s, t);
	return s;
}
