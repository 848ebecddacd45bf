/* SPDX-License-Identifier: Apache-2.0 */
/* test_verdict_checkpoint.c - verdicts of who saves and restores. */
#include "suites.h"
#include "verdict_rig.h"

static const struct saving {
	const char *name, *try_next; /* expected */
	bool is_restore, direct, is_memory, no_files, is_durable;
	double memory; /* percent from it, or still in it */
	double cpu, network, data, write, fsync, read;
} savings[] = {
	{ "storage", "direct", .is_durable = true, .write = 30, .fsync = 65 },
	{ "storage", "checkpoint_threads", .is_durable = true, .write = 90 },
	{ "storage", "checkpoint_threads", .is_durable = true, .direct = true, .write = 30,
	  .fsync = 65 },
	{ "storage", "checkpoint_threads", .is_restore = true, .read = 80 },
	{ "unclear", "checkpoint_threads", .is_restore = true, .read = 79.8 },
	{ "unclear", "ioengine", .no_files = true, .write = 99 },
	/* memory comes first */
	{ "memory", "checkpoint_fsync", .memory = 10.1, .cpu = 99, .write = 99 },
	{ "memory", "checkpoint_fsync", .memory = NONE, .write = 99 },
	{ "storage", "checkpoint_threads", .memory = 10, .write = 99 },
	{ "storage", "checkpoint_threads", .direct = true, .memory = 50, .write = 99 },
	{ "memory", "checkpoint_directory", .is_memory = true, .is_durable = true, .write = 99 },
	{ "memory", "drop_caches", .is_restore = true, .memory = 10.1, .read = 99 },
	{ "storage", "checkpoint_threads", .is_restore = true, .memory = NONE, .read = 99 },
	{ "storage", "checkpoint_threads", .is_restore = true, .direct = true, .memory = 99,
	  .read = 99 },
	/* then the network, of what was received */
	{ "network", NULL, .is_restore = true, .network = 90, .cpu = 99, .read = 99 },
	{ "storage", NULL, .is_restore = true, .network = 89.9, .read = 99 },
	{ "storage", NULL, .is_durable = true, .network = 95, .write = 99 },
	/* then the host */
	{ "host", NULL, .is_durable = true, .cpu = 90, .write = 99 },
	{ "storage", NULL, .is_durable = true, .cpu = 89.9, .write = 99 },
	{ "host", NULL, .is_durable = true, .data = 20, .write = 80 },
	{ "storage", NULL, .is_durable = true, .data = 19.9, .write = 80.1 },
	/* flushes decide from half of the time on */
	{ "storage", "direct", .is_durable = true, .write = 40, .fsync = 50 },
	{ "storage", "checkpoint_threads", .is_durable = true, .write = 50, .fsync = 49.9 },
};

static void fill_saving(struct world *w, const struct saving *t)
{
	struct ml_result *ml = &w->result.ml;
	struct checkpoints_result *c = t->is_restore ? &ml->restores : &ml->saves;

	w->job.phase = t->is_restore ? PHASE_RESTORE : PHASE_CHECKPOINT;
	w->job.checkpoint_threads = 1;
	w->job.iodepth = 1;
	w->job.direct = t->direct;
	w->job.engine = t->no_files ? &null_engine : NULL;
	w->result.work = &work_checkpoint;
	w->result.storage.is_memory = t->is_memory;
	w->result.storage.memory_percent = t->is_restore ? t->memory : NONE;
	w->result.network.percent = t->network;
	w->result.host.cpu_percent = t->cpu;
	*c = (struct checkpoints_result){
		.completed = 2,
		.ranks = 8,
		.threads = 8,
		.bytes = 100000,
		.bytes_per_sec = GIB,
		.durable = t->is_durable,
		.in_memory_bytes = isnan(t->memory) ? UINT64_MAX : (uint64_t)(t->memory * 1000),
		.rank_percent = { .data = t->data,
				  .write = t->write,
				  .read = t->read,
				  .fsync = t->fsync,
				  .other = 100 - t->data - t->write - t->read - t->fsync },
	};
}

START_TEST(a_checkpoint_job_has_the_first_that_holds)
{
	const struct saving *t = &savings[_i];
	struct world w;

	world_init(&w);
	const struct verdict_result *v = &w.result.verdict;
	fill_saving(&w, t);
	verdict_fill(&w.run);
	ck_assert_str_eq(v->name, t->name);
	ck_assert_ptr_nonnull(verdict_label(v->name));
	ck_assert_ptr_nonnull(v->headline);
	ck_assert_ptr_nonnull(v->because);
	check_options(v->headline);
	check_options(v->because);
	check_options(v->try_next);
	if (t->try_next)
		check_has(v->try_next, t->try_next);
	world_fini(&w);
}
END_TEST

static int reap_nothing(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
			uint64_t timeout_ns)
{
	(void)ctx, (void)io, (void)min, (void)max, (void)timeout_ns;
	return 0;
}

/* One that has several calls in flight. */
static const struct mlgen_engine queue_engine = { .name = "libaio", .reap = reap_nothing };

/* What of it is said: of a GiB/s, by 8 ranks unless it is told. */
static const struct said {
	struct saving of;
	uint64_t ranks, threads, gib;
	unsigned depth;
	double mine;
	bool is_tmpfs, verified, framework;
	const char *headline, *because, *try_next;
} said[] = {
	{ .of = { "memory", NULL, .memory = 50, .write = 99 },
	  .headline = "checkpoint_fsync=none: this is how fast memory accepted the bytes",
	  .because = "nothing was flushed: 48.8 of 97.7 KiB were in memory at the end",
	  .try_next = "--checkpoint_fsync=file : until the bytes are on storage" },
	{ .of = { "memory", NULL, .memory = NONE, .write = 99 },
	  .headline = "checkpoint_fsync=none: this is how fast memory accepted the bytes",
	  .because = "nothing was flushed, and it is unknown how much was written",
	  .try_next = "--checkpoint_fsync=file : until the bytes are on storage" },
	{ .of = { "memory", NULL, .is_memory = true, .write = 99 },
	  .headline = "this filesystem keeps files in memory",
	  .because = "the directory is memory: no storage was touched",
	  .try_next = "--checkpoint_directory=PATH : a directory on storage" },
	{ .of = { "memory", NULL, .is_memory = true, .write = 99 },
	  .is_tmpfs = true,
	  .headline = "tmpfs keeps files in memory",
	  .because = "/dev/shm is tmpfs: no storage was touched",
	  .try_next = "--checkpoint_directory=PATH : a directory on storage" },
	{ .of = { "memory", NULL, .is_restore = true, .memory = 60, .read = 99 },
	  .gib = 256,
	  .headline = "60.0% of the bytes came from this host's page cache",
	  .because = "the restored bytes (256 GiB) fit into memory (256 GiB)",
	  .try_next = "--drop_caches=run : the same with empty caches" },
	{ .of = { "memory", NULL, .is_restore = true, .memory = 60, .read = 99 },
	  .gib = 257,
	  .headline = "60.0% of the bytes came from this host's page cache",
	  .because = "the restored bytes (257 GiB) are partly in memory (256 GiB)",
	  .try_next = "--drop_caches=run : the same with empty caches" },
	{ .of = { "network", NULL, .is_restore = true, .network = 92, .cpu = 12, .read = 99 },
	  .headline = "bond0 carried 92 of 100 Gb/s",
	  .because =
		  "that is 92.0% of its line rate, for 1.00 GiB/s of checkpoints; host CPU 12.0%",
	  .try_next = "a faster link, or more hosts; this is not a statement about storage" },
	{ .of = { "host", NULL, .is_durable = true, .cpu = 95, .data = 7, .write = 90 },
	  .mine = 60,
	  .headline = "CPU 95.0% busy (64 CPUs): this host may be the limit, not storage",
	  .because = "mlgen itself used usr 0.0%, sys 60.0%, other processes 35.0%; data 7.0% of "
		     "rank time",
	  .try_next = "--direct=1 : less copying on these CPUs" },
	{ .of = { "host", NULL, .is_durable = true, .cpu = 95, .data = 7, .write = 90 },
	  .mine = 40,
	  .headline = "CPU 95.0% busy (64 CPUs): this host may be the limit, not storage",
	  .because = "mlgen itself used usr 0.0%, sys 40.0%, other processes 55.0%; data 7.0% of "
		     "rank time",
	  .try_next = "the same job while nothing else runs on these CPUs" },
	{ .of = { "host", NULL, .is_restore = true, .data = 25, .read = 70 },
	  .verified = true,
	  .headline = "checking data took 25.0% of the ranks' time",
	  .because = "mlgen itself used usr 0.0%, sys 0.0%, other processes 0.0%; data 25.0% of "
		     "rank time",
	  .try_next = "--verify=none : the same without checking" },
	{ .of = { "host", NULL, .is_restore = true, .data = 25, .read = 70 },
	  .framework = true,
	  .headline = "checking data took 25.0% of the ranks' time",
	  .because = "mlgen itself used usr 0.0%, sys 0.0%, other processes 0.0%; data 25.0% of "
		     "rank time",
	  .try_next = "fewer ranks here, or more hosts; this is not a statement about storage" },
	{ .of = { "host", NULL, .is_durable = true, .data = 25, .write = 70 },
	  .framework = true,
	  .ranks = 1,
	  .headline = "generating data took 25.0% of the ranks' time",
	  .because = "mlgen itself used usr 0.0%, sys 0.0%, other processes 0.0%; data 25.0% of "
		     "rank time" },
	{ .of = { "host", NULL, .is_durable = true, .data = 25, .write = 70 },
	  .framework = true,
	  .ranks = 2,
	  .headline = "generating data took 25.0% of the ranks' time",
	  .because = "mlgen itself used usr 0.0%, sys 0.0%, other processes 0.0%; data 25.0% of "
		     "rank time",
	  .try_next = "fewer ranks here, or more hosts; this is not a statement about storage" },
	{ .of = { "storage", NULL, .is_durable = true, .cpu = 12, .write = 90, .fsync = 0.5 },
	  .ranks = 2,
	  .headline = "storage accepted 1.00 GiB/s from 2 ranks",
	  .because = "ranks spent 90.5% of their time in I/O calls, write 90.0%, fsync 0.5%; host "
		     "CPU 12.0%",
	  .try_next = "--checkpoint_threads=2 : is it bandwidth, or too few writes in flight (2 "
		      "now)?" },
	{ .of = { "storage", NULL, .is_durable = true, .cpu = 12, .write = 90 },
	  .ranks = 1,
	  .headline = "storage accepted 1.00 GiB/s from 1 rank",
	  .because = "ranks spent 90.0% of their time in I/O calls, write 90.0%; host CPU 12.0%",
	  .try_next = "--checkpoint_threads=2 : is it bandwidth, or too few writes in flight (1 "
		      "now)?" },
	{ .of = { "storage", NULL, .direct = true, .cpu = 12, .write = 50, .fsync = 40 },
	  .headline = "storage accepted 1.00 GiB/s from 8 ranks; nothing was flushed "
		      "(checkpoint_fsync=none)",
	  .because = "ranks spent 90.0% of their time in I/O calls, write 50.0%, fsync 40.0%; host "
		     "CPU 12.0%",
	  .try_next = "--checkpoint_threads=2 : is it bandwidth, or too few writes in flight (8 "
		      "now)?" },
	{ .of = { "storage", NULL, .is_restore = true, .cpu = 12, .read = 90 },
	  .threads = 32,
	  .headline = "storage delivered 1.00 GiB/s to 8 ranks",
	  .because = "ranks spent 90.0% of their time in I/O calls, read 90.0%; host CPU 12.0%",
	  .try_next = "--checkpoint_threads=64 : is it bandwidth, or too few reads in flight (256 "
		      "now)?" },
	{ .of = { "storage", NULL, .is_restore = true, .cpu = 12, .read = 90 },
	  .threads = 33,
	  .headline = "storage delivered 1.00 GiB/s to 8 ranks",
	  .because = "ranks spent 90.0% of their time in I/O calls, read 90.0%; host CPU 12.0%" },
	{ .of = { "storage", NULL, .is_restore = true, .cpu = 12, .read = 90 },
	  .ranks = 73,
	  .threads = 7,
	  .headline = "storage delivered 1.00 GiB/s to 73 ranks",
	  .because = "ranks spent 90.0% of their time in I/O calls, read 90.0%; host CPU 12.0%",
	  .try_next = "--checkpoint_threads=14 : is it bandwidth, or too few reads in flight (511 "
		      "now)?" },
	{ .of = { "storage", NULL, .is_restore = true, .cpu = 12, .read = 90 },
	  .ranks = 64,
	  .threads = 8,
	  .headline = "storage delivered 1.00 GiB/s to 64 ranks",
	  .because = "ranks spent 90.0% of their time in I/O calls, read 90.0%; host CPU 12.0%" },
	{ .of = { "storage", NULL, .is_restore = true, .cpu = 12, .read = 90 },
	  .depth = 4,
	  .headline = "storage delivered 1.00 GiB/s to 8 ranks",
	  .because = "ranks spent 90.0% of their time in I/O calls, read 90.0%; host CPU 12.0%",
	  .try_next = "--checkpoint_threads=2 : is it bandwidth, or too few reads in flight (32 "
		      "now)?" },
	{ .of = { "unclear", NULL, .is_durable = true, .cpu = 12, .write = 50, .data = 8 },
	  .headline = "ranks in I/O calls 50.0%, CPU 12.0%: neither shows the limit",
	  .because = "data 8.0%, other 42.0% of rank time",
	  .try_next = "--checkpoint_threads=2 : is it bandwidth, or too few writes in flight (8 "
		      "now)?" },
	{ .of = { "unclear", NULL, .no_files = true, .is_durable = true, .cpu = 12, .write = 50 },
	  .headline = "ioengine=null uses no storage, and CPU 12.0% shows no limit",
	  .because = "data 0.0%, other 50.0% of rank time",
	  .try_next = "--ioengine=psync : the same with storage" },
};

START_TEST(what_a_checkpoint_verdict_says_is_what_was_measured)
{
	static char tmpfs[] = "tmpfs", mount_target[] = "/dev/shm";
	const struct said *t = &said[_i];
	struct world w;

	world_init(&w);
	struct ml_result *ml = &w.result.ml;
	struct checkpoints_result *c = t->of.is_restore ? &ml->restores : &ml->saves;
	fill_saving(&w, &t->of);
	c->ranks = t->ranks ? t->ranks : 8;
	c->verified = t->verified;
	if (t->gib)
		c->bytes = t->gib << 30;
	w.job.checkpoint_threads = t->threads ? t->threads : 1;
	if (t->depth) {
		w.job.engine = &queue_engine;
		w.job.iodepth = t->depth;
	}
	c->threads = c->ranks * w.job.checkpoint_threads;
	w.job.access = t->framework ? ACCESS_FRAMEWORK : ACCESS_PLAIN;
	w.job.checkpoint_layout = LAYOUT_TORCH;
	w.result.storage.filesystem = t->is_tmpfs ? tmpfs : NULL;
	w.result.storage.mount_target = t->is_tmpfs ? mount_target : NULL;
	w.result.host.system_percent = t->mine;
	w.result.network.line_rate_bits_per_sec = UINT64_C(100000000000);
	w.result.network.received_bits_per_sec = 92e9;
	verdict_fill(&w.run);
	ck_assert_str_eq(w.result.verdict.name, t->of.name);
	ck_assert_str_eq(w.result.verdict.headline, t->headline);
	ck_assert_str_eq(w.result.verdict.because, t->because);
	ck_assert_pstr_eq(w.result.verdict.try_next, t->try_next);
	world_fini(&w);
}
END_TEST

START_TEST(without_a_checkpoint_there_is_no_verdict)
{
	struct world w;

	world_init(&w);
	fill_saving(&w, &savings[0]);
	w.result.ml.saves.completed = 0;
	verdict_fill(&w.run);
	ck_assert_ptr_null(w.result.verdict.name);
	world_fini(&w);
}
END_TEST

START_TEST(a_restore_from_memory_goes_on_to_another_experiment)
{
	static const struct saving from_memory = { .is_restore = true, .memory = 90, .read = 99 };
	struct world w;

	world_init(&w);
	fill_saving(&w, &from_memory);
	w.result.ml.restores.caches_dropped = true;
	verdict_fill(&w.run);
	w.job.access = ACCESS_FRAMEWORK;
	w.job.checkpoint_layout = LAYOUT_TORCH;
	verdict_fill(&w.run);
	/* other ranks of this host read what is in the same memory */
	check_has(w.result.verdict.try_next, "--checkpoint_ranks=RANKS");
	w.job.access = ACCESS_PLAIN;
	verdict_fill(&w.run);
	check_has(w.result.verdict.try_next, "--direct=1");
	w.result.ml.restores.caches_dropped = false;
	verdict_fill(&w.run);
	check_has(w.result.verdict.try_next, "--drop_caches=run");
	world_fini(&w);
}
END_TEST

Suite *suite_verdict_checkpoint(void)
{
	Suite *s = suite_create("verdict_checkpoint");
	TCase *t = tcase_create("verdict_checkpoint");

	tcase_add_loop_test(t, a_checkpoint_job_has_the_first_that_holds, 0,
			    (int)(sizeof(savings) / sizeof(*savings)));
	tcase_add_loop_test(t, what_a_checkpoint_verdict_says_is_what_was_measured, 0,
			    (int)(sizeof(said) / sizeof(*said)));
	tcase_add_test(t, without_a_checkpoint_there_is_no_verdict);
	tcase_add_test(t, a_restore_from_memory_goes_on_to_another_experiment);
	suite_add_tcase(s, t);
	return s;
}
