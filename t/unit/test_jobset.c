/* SPDX-License-Identifier: Apache-2.0 */
/* test_jobset.c - from a command line to jobs: precedence, engines, groups, names. */
#include "suites.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "job/jobset.h"

struct ring_opts {
	uint64_t depth;
	char *label;
	uint64_t window;
};

/* clang-format off */
static const struct mlgen_field ring_fields[] = {
	{ "ring_depth", MLGEN_F_U64(struct ring_opts, depth), .def = "8", .min = 1, .max = 64, .help = "x.", .group = "x" },
	{ "ring_label", MLGEN_F_STR(struct ring_opts, label), .help = "x.", .group = "x" },
	{ "ring_window", MLGEN_F_SIZE(struct ring_opts, window), .def = "1m", .help = "x.", .group = "x" },
	{ 0 },
};
/* clang-format on */

/* An option of the same name that is something else. */
struct chain_opts {
	bool unused;
	char *depth;
};

/* clang-format off */
static const struct mlgen_field chain_fields[] = {
	{ "ring_depth", MLGEN_F_STR(struct chain_opts, depth), .help = "x.", .group = "x" },
	{ 0 },
};
/* clang-format on */

#define ALL_CAPS (MLGEN_CAP_DIRECT | (MLGEN_CAP(MLGEN_OPS) - 1))

static const struct mlgen_engine psync_engine = { .name = "psync",
						  .caps = ALL_CAPS };
static const struct mlgen_engine ring_engine = {
	.name = "ring",
	.caps = ALL_CAPS,
	.opts = ring_fields,
	.opts_size = sizeof(struct ring_opts),
};
static const struct mlgen_engine chain_engine = {
	.name = "chain",
	.caps = ALL_CAPS,
	.opts = chain_fields,
	.opts_size = sizeof(struct chain_opts),
};
static const struct mlgen_engine *const engines[] = { &psync_engine,
						      &ring_engine,
						      &chain_engine, NULL };

static const char *why_absent(const char *engine)
{
	return strcmp(engine, "libaio") == 0 ? "libaio not found" : NULL;
}

static char dir[] = "/tmp/mlgen-unit.XXXXXX";
static struct jobset set;
static struct diag faults;

static void setup(void)
{
	ck_assert_ptr_nonnull(mkdtemp(dir));
	ck_assert_int_eq(chdir(dir), 0);
	unsetenv("MLGEN_JOBS");
	diag_init(&faults);
	memset(&set, 0, sizeof(set));
}

static void teardown(void)
{
	diag_fini(&faults);
	jobset_fini(&set);
	unlink("a.job");
	unlink("b.job");
	ck_assert_int_eq(chdir("/"), 0);
	ck_assert_int_eq(rmdir(dir), 0);
}

static void write_file(const char *name, const char *text)
{
	FILE *f = fopen(name, "w");

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* The words of `line` as a command line. */
static int load(const char *line)
{
	const struct jobset_env env = { .engines = engines,
					.why_absent = why_absent };
	char *words = mem_strdup(line), *at = words;
	char *argv[32] = { words };
	int argc = 1, rc = 0;

	while (*at && argc < 31) {
		argv[argc++] = at;
		at += strcspn(at, " ");
		if (*at)
			*at++ = '\0';
	}
	rc = jobset_load(&set, argc, argv, &env, &faults);
	mem_free(words);
	return rc;
}

static void assert_text(size_t job, const char *option, const char *want)
{
	struct buf got = { 0 };

	ck_assert_uint_lt(job, set.count);
	job_option_text(set.jobs[job], option, &got);
	ck_assert_str_eq(buf_str(&got), want);
	buf_fini(&got);
}

static const char *first_fault(void)
{
	return faults.count ? faults.entries[0].text : "";
}

/* One line: a file, a command line, and an option of each job after it. */
static const struct {
	const char *file, *line, *option;
	const char *want[3];
} rules[] = {
	{ "[a]\n", "a.job", "epochs", { "1" } },
	{ "[global]\nepochs=2\n[a]\n", "a.job", "epochs", { "2" } },
	{ "[a]\n[global]\nepochs=2\n[b]\n", "a.job", "epochs", { "1", "2" } },
	{ "[global]\nepochs=2\n[global]\nepochs=3\n[a]\n",
	  "a.job",
	  "epochs",
	  { "3" } },
	{ "[global]\nepochs=2\n[a]\nepochs=4\n[b]\n",
	  "a.job",
	  "epochs",
	  { "4", "2" } },
	{ "[global]\nblocksize=2k\n[a]\nbs=4k\n", "a.job", "bs", { "4k" } },
	{ "[a]\nepochs=4\n", "a.job --epochs=5", "epochs", { "5" } },
	{ "[a]\n[b]\n",
	  "a.job --b.epochs=5 --epochs=6",
	  "epochs",
	  { "6", "5" } },
	/* variants */
	{ "[a]\naccelerator=x\nepochs=2\n[accelerator=x]\nepochs=3\n"
	  "[accelerator=y]\nepochs=4\n",
	  "a.job",
	  "epochs",
	  { "3" } },
	{ "[a]\naccelerator=x\n[accelerator=x]\nepochs=3\n"
	  "[accelerator=y]\nepochs=4\n",
	  "a.job --accelerator=y",
	  "epochs",
	  { "4" } },
	{ "[a]\naccelerator=x\n[accelerator=x]\nepochs=3\n",
	  "a.job --epochs=9",
	  "epochs",
	  { "9" } },
	{ "[global]\naccelerator=x\n[accelerator=x]\nepochs=3\n[a]\n"
	  "[b]\nepochs=2\n[accelerator=x]\nepochs=7\n",
	  "a.job",
	  "epochs",
	  { "3", "7" } },
	{ "[a]\naccelerator=label\n", "a.job", "accelerator", { "label" } },
	{ "[a]\n[b=c]\n", "a.job", "epochs", { "1", "1" } },
	/* kb_base is read before what depends on it */
	{ "[a]\nbs=64k\nkb_base=1000\n", "a.job", "bs", { "64000" } },
	{ "[a]\nbs=64k\n", "a.job --kb_base=1000", "bs", { "64000" } },
	{ "[global]\nbs=64k\n[a]\nkb_base=1000\n[b]\n[c]\nkb_base=1000\n",
	  "a.job",
	  "bs",
	  { "64000", "64k", "64000" } },
	/* what is said of several jobs means to each what it says there */
	{ "[global]\ndirectory=/$jobname\n[a]\n[b]\n",
	  "a.job",
	  "directory",
	  { "/a", "/b" } },
	{ "[global]\nrw=read\nbs=,64k\n[a]\nbs=8k,\n[b]\nbs=1k,2k\n[c]\n",
	  "a.job",
	  "bs",
	  { "8k,64k", "1k,2k", "4k,64k" } },
	{ "[global]\nepochs=2\n[a]\n[global]\nepochs=3\n[b]\n[c]\n",
	  "a.job --c.epochs=4",
	  "epochs",
	  { "2", "3", "4" } },
	/* without a file */
	{ "",
	  "--epochs=2 --name=a --name=b --epochs=3",
	  "epochs",
	  { "2", "3" } },
	{ "", "--name=a --epochs=3 --a.epochs=4", "epochs", { "4" } },
	{ "[a]\n",
	  "a.job --epochs=2 --name=b --epochs=3",
	  "epochs",
	  { "2", "3" } },
	{ "[a]\n[b]\nepochs=2\n", "a.job --section=b", "epochs", { "2" } },
	{ "[a]\n", "--name=a --invalidate", "invalidate", { "run" } },
	/* rw= makes a plain job, wherever it stands; phase= says it first */
	{ "[a]\nrw=read\n[b]\nphase=io\n[c]\n",
	  "a.job",
	  "phase",
	  { "io", "io", "train" } },
	{ "[a]\n[global]\nrw=read\n[b]\n",
	  "a.job",
	  "phase",
	  { "train", "io" } },
	{ "[a]\n[b]\n",
	  "a.job --a.readwrite=read",
	  "phase",
	  { "io", "train" } },
	{ "[a]\n", "a.job --rw=read", "phase", { "io" } },
	{ "", "--name=a --rw=read --name=b", "phase", { "io", "train" } },
	{ "[global]\nrw=read\n[a]\nphase=train\n[b]\nphase=prepare\n[c]\n",
	  "a.job",
	  "phase",
	  { "train", "prepare", "io" } },
	/* defaults that differ */
	{ "[a]\nrw=read\n[b]\n", "a.job", "bs", { "4k", "1m" } },
	{ "[a]\nrw=read\nbs=,64k\n", "a.job", "bs", { "4k,64k" } },
	{ "[global]\nbs=8k\n[a]\nrw=read\nbs=,64k\n",
	  "a.job",
	  "bs",
	  { "8k,64k" } },
	{ "[a]\nrw=read\n[b]\n",
	  "a.job",
	  "directory",
	  { ".", "mlgen-data/b" } },
	{ "[a]\nrw=read\n[b]\nrw=read\npercentile_list=99\n",
	  "a.job",
	  "percentile_list",
	  { "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99",
	    "99" } },
	/* two names of one thing: the last counts */
	{ "[a]\nrw=randrw\nrwmixwrite=30\n", "a.job", "rwmixread", { "70%" } },
	{ "[a]\nrw=rw\nrwmixread=60\nrwmixwrite=30\n",
	  "a.job",
	  "rwmixread",
	  { "70%" } },
	{ "[a]\nrw=rw\nrwmixwrite=30\nrwmixread=60\n",
	  "a.job",
	  "rwmixwrite",
	  { "40%" } },
	{ "[global]\nrwmixwrite=30\n[a]\nrw=rw\nrwmixread=60\n",
	  "a.job",
	  "rwmixread",
	  { "60%" } },
	{ "[a]\nbuffered=0\n[b]\ndirect=1\nbuffered=1\n[c]\n",
	  "a.job",
	  "direct",
	  { "1", "0", "0" } },
	{ "[a]\nbuffered=0\n", "a.job --direct=0", "buffered", { "1" } },
	/* what belongs to the others is left alone */
	{ "[global]\nrw=read\nepochs=3\n[a]\n[b]\nphase=train\n",
	  "a.job",
	  "epochs",
	  { "1", "3" } },
	{ "[a]\nrw=read\n[b]\nepochs=1\n",
	  "a.job --loops=3",
	  "loops",
	  { "3", "1" } },
	{ "[global]\n[accelerator=x]\nepochs=3\n[a]\nrw=read\n",
	  "a.job",
	  "epochs",
	  { "1" } },
	{ "[a]\nrw=read\nthinktime=50\n", "a.job", "thinktime", { "50us" } },
	/* as fio, so that iodepth can be swept */
	{ "[a]\nrw=read\niodepth=4\niodepth_batch=16\n",
	  "a.job",
	  "iodepth_batch_submit",
	  { "4" } },
	{ "[a]\nrw=read\niodepth=32\niodepth_batch_complete=8\n",
	  "a.job --iodepth=1",
	  "iodepth_batch_complete_min",
	  { "1" } },
};

START_TEST(the_value_that_counts_is_the_nearest)
{
	size_t n = 0;

	write_file("a.job", rules[_i].file);
	ck_assert_msg(load(rules[_i].line) == 0, "%s", first_fault());
	for (; n < 3 && rules[_i].want[n]; n++)
		assert_text(n, rules[_i].option, rules[_i].want[n]);
	ck_assert_uint_eq(set.count, n);
}
END_TEST

START_TEST(stonewall_and_files_start_groups)
{
	static const unsigned want[] = { 0, 0, 1, 1, 2, 3, 4 };

	write_file("a.job", "[a]\n[b]\n[c]\nstonewall\n[d]\n");
	write_file("b.job", "[e]\n[f]\nstonewall\n");
	ck_assert_int_eq(load("a.job b.job --name=x"), 0);
	ck_assert_uint_eq(set.count, 7);
	for (size_t i = 0; i < 7; i++)
		ck_assert_uint_eq(set.jobs[i]->group, want[i]);
}
END_TEST

START_TEST(origins_tell_where_a_value_was_written)
{
	const struct job_origin *o = NULL;
	size_t row = 0;

	write_file("a.job", "[global]\nepochs=2\n[a]\nbs=$pagesize\n");
	ck_assert_int_eq(load("a.job --a.prefetch=3"), 0);
	row = (size_t)(field_find(job_fields, "epochs") - job_fields);
	o = &set.jobs[0]->origins[row];
	ck_assert_str_eq(o->how, "[global]");
	ck_assert_str_eq(o->at.file, "a.job");
	ck_assert_uint_eq(o->at.line, 2);
	row = (size_t)(field_find(job_fields, "bs") - job_fields);
	ck_assert_str_eq(set.jobs[0]->origins[row].raw, "$pagesize");
	ck_assert_uint_eq(job_place(set.jobs[0], "bs").line, 4);
	ck_assert_uint_eq(job_place(set.jobs[0], "shard").line, 3);
	ck_assert_ptr_null(job_place(set.jobs[0], "prefetch").file);
}
END_TEST

START_TEST(an_engine_brings_its_options)
{
	const struct ring_opts *o = NULL;

	write_file("a.job", "[a]\nring_depth=4\nring_window=1k\n"
			    "ring_label=x\nioengine=ring\nkb_base=1000\n");
	ck_assert_msg(load("a.job --ring-depth=5") == 0, "%s", first_fault());
	o = set.jobs[0]->engine_opts;
	ck_assert_ptr_eq(set.jobs[0]->engine, &ring_engine);
	ck_assert_uint_eq(o->depth, 5);
	ck_assert_uint_eq(o->window, 1000);
	ck_assert_str_eq(o->label, "x");
	ck_assert_str_eq(set.jobs[0]->engine_origins[0].how, "command line");
	ck_assert_uint_eq(faults.count, 0);
}
END_TEST

START_TEST(options_of_another_engine_are_checked_and_noted)
{
	ck_assert_int_eq(load("--name=a --ring_depth=4"), 0);
	ck_assert_uint_eq(faults.count, 1);
	ck_assert_int_eq(faults.entries[0].level, DIAG_NOTE);
	ck_assert_ptr_null(set.jobs[0]->engine_opts);
	jobset_fini(&set);
	ck_assert_int_eq(load("--name=a --ring_depth=65"), -EINVAL);
}
END_TEST

START_TEST(each_engine_reads_its_own_option)
{
	write_file("a.job", "[global]\nring_depth=7\n[a]\nioengine=chain\n"
			    "[b]\nioengine=ring\n[c]\nioengine=chain\n");
	ck_assert_msg(load("a.job") == 0, "%s", first_fault());
	for (size_t i = 0; i < 3; i += 2) {
		const struct chain_opts *o = set.jobs[i]->engine_opts;

		ck_assert_str_eq(o->depth, "7");
	}
	ck_assert_uint_eq(
		((const struct ring_opts *)set.jobs[1]->engine_opts)->depth, 7);
}
END_TEST

START_TEST(a_fault_counts_once)
{
	struct buf text = { 0 };

	for (int i = 0; i < DIAG_ERRORS_OF_FILE + 50; i++)
		buf_addf(&text, "[j%d]\nepochs=0\n", i);
	write_file("a.job", buf_str(&text));
	ck_assert_int_eq(load("a.job"), -EINVAL);
	ck_assert_uint_eq(faults.errors, DIAG_ERRORS_OF_FILE + 50);
	buf_fini(&text);
}
END_TEST

static const struct {
	const char *line, *fault;
} refusals[] = {
	{ "", "no job; name a job file" },
	{ "--bs=4k", "no job; name a job file" },
	{ "--dataset=made", "no job; name a job file" },
	{ "none.job", "none.job: no such job file here" },
	{ "./none.job", "./none.job: no such job file" },
	{ "a", "a: no such job file; did you mean a.job, which is here?" },
	{ "epochs=2", "epochs=2: no such job file; as an option: --epochs=2" },
	{ "a.job --section=b", "section: there is no job 'b'; there is a" },
	{ "a.job --b.epochs=1", "epochs: there is no job 'b'; there is a" },
	{ "a.job --epochs", "epochs: no value; write --epochs=VALUE" },
	{ "a.job --output", "output: no value; write --output=VALUE" },
	{ "a.job --epoch=1", "epoch: unknown option; did you mean 'epochs'?" },
	{ "a.job --jsn=1", "jsn: unknown option; did you mean 'json'?" },
	{ "a.job --ring_dept=1",
	  "ring_dept: unknown option; did you mean 'ring_depth'?" },
	{ "a.job --wait_for=a",
	  "wait_for: fio option, not in mlgen: use stonewall" },
	{ "a.job --nrfiles=4",
	  "nrfiles=4: fio option, in mlgen only as nrfiles=1: use "
	  "filename, " },
	{ "a.job --ioengine=rnig",
	  "ioengine: 'rnig' is not built in; there is psync ring chain; did "
	  "you mean 'ring'?" },
	{ "a.job --ioengine=libaio", "ioengine: 'libaio' is not built in; "
				     "there is psync ring chain; libaio "
				     "not found" },
	{ "a.job --require=au", "require=au: no comparison. Quote it: " },
	{ "--name=a --name=a", "name=a: there is a job of that name already" },
	{ "-x", "-x: options begin with two dashes" },
	{ "a.job --=1", "--=1: the option's name is missing" },
	{ "a.job --.=1", "--.=1: the option's name is missing" },
	{ "a.job --.bs=1", "--.bs=1: the job's name is missing" },
	{ "a.job =1", "=1: the option's name is missing" },
	{ "--name=a/b", "name=a/b: a name is part of paths" },
};

START_TEST(what_cannot_be_run_is_refused)
{
	write_file("a.job", "[a]\n");
	ck_assert_int_eq(load(refusals[_i].line), -EINVAL);
	ck_assert_msg(strncmp(first_fault(), refusals[_i].fault,
			      strlen(refusals[_i].fault)) == 0,
		      "%s", first_fault());
}
END_TEST

/* A file, and the one fault, or the first note, that it has. */
static const struct {
	const char *file, *line;
	enum diag_level level;
	const char *text;
} phases[] = {
	{ "[a]\nrw=read\nbatch_size=4\n", "a.job", DIAG_ERROR,
	  "batch_size: an option of phase=train; this job is phase=io" },
	{ "[a]\nrw=read\n", "a.job --a.shuffle=none", DIAG_ERROR,
	  "shuffle: an option of phase=train; this job is phase=io" },
	{ "[a]\nbatch_size=4\nrate=1m\n", "a.job", DIAG_ERROR,
	  "rate: an option of plain I/O jobs (phase=io, rw=...); this job is "
	  "phase=train" },
	{ "[a]\nphase=prepare\nsize=1m\n", "a.job", DIAG_ERROR,
	  "size: an option of plain I/O jobs (phase=io, rw=...); this job is "
	  "phase=prepare" },
	{ "[a]\nsize=1m\n", "a.job", DIAG_ERROR,
	  "size: an option of plain I/O jobs (phase=io, rw=...); say which "
	  "one it is: add rw=read, which is fio's default" },
	{ "[global]\nsize=1m\n[a]\n", "a.job", DIAG_ERROR,
	  "size: an option of plain I/O jobs (phase=io, rw=...); say which " },
	{ "[a]\nrw=read\n[b]\nepochs=2\n", "a.job --rate=1m", DIAG_NOTE,
	  "rate: an option of plain I/O jobs (phase=io, rw=...); jobs of "
	  "phase=train go without it" },
	{ "[global]\nbatch_size=4\n[a]\nrw=read\n[b]\n", "a.job", DIAG_NOTE,
	  "batch_size: an option of phase=train; jobs of phase=io go without "
	  "it" },
	{ "[a]\nphase=oi\nrw=read\nepochs=1\n", "a.job", DIAG_ERROR,
	  "phase: 'oi' is none of train prepare io checkpoint restore; did you "
	  "mean 'io'?" },
	{ "[a]\nrw=read\n[accelerator=x]\nepochs=3\n", "a.job", DIAG_ERROR,
	  "accelerator: not set, but a.job has sections for x; " },
	{ "[a]\nrw=read\nthread\n", "a.job", DIAG_NOTE,
	  "thread: fio option, changes nothing here: workers are always "
	  "threads" },
	{ "[a]\nrw=read\nsync=0\n", "a.job", DIAG_NOTE,
	  "sync: fio option, changes nothing here: it is so anyway" },
	{ "[a]\nrw=read\nsync=1\n", "a.job", DIAG_ERROR,
	  "sync=1: fio option, in mlgen only as sync=0: use fsync or" },
	{ "[a]\nrw=read\nforce_async=2\n", "a.job", DIAG_ERROR,
	  "force_async: fio option, not in mlgen: of fio's ioengine=io_uring" },
	{ "[global]\nrw=read\n[global]\nreadwrite=write\n[a]\nphase=train\n",
	  "a.job", DIAG_NOTE,
	  "readwrite: an option of plain I/O jobs (phase=io, rw=...); jobs "
	  "of " },
	{ "[a]\nrw=read\niodepth_batch=2\n", "a.job", DIAG_NOTE,
	  "iodepth_batch_submit: 2 is more than iodepth=1, which is used" },
};

START_TEST(options_of_another_phase_are_told)
{
	int want = phases[_i].level == DIAG_ERROR ? -EINVAL : 0;

	write_file("a.job", phases[_i].file);
	ck_assert_int_eq(load(phases[_i].line), want);
	ck_assert_uint_eq(faults.count, 1);
	ck_assert_int_eq(faults.entries[0].level, phases[_i].level);
	ck_assert_msg(strncmp(first_fault(), phases[_i].text,
			      strlen(phases[_i].text)) == 0,
		      "%s", first_fault());
}
END_TEST

START_TEST(origins_tell_what_a_phase_brought)
{
	static const char *const want[][2] = {
		{ "phase", "from rw" },
		{ "bs", "default of phase=io" },
		{ "directory", "default of phase=io" },
		{ "rwmixread", "from rwmixwrite" },
		{ "rwmixwrite", "[a]" },
		{ "numjobs", "default" },
	};

	write_file("a.job", "[global]\nrwmixread=9\n[a]\nrw=rw\n"
			    "rwmixwrite=40\n");
	ck_assert_int_eq(load("a.job"), 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(*want); i++) {
		const struct mlgen_field *f =
			field_find(job_fields, want[i][0]);
		const struct job_origin *o =
			&set.jobs[0]->origins[f - job_fields];

		ck_assert_str_eq(o->how, want[i][1]);
		ck_assert_int_eq(o->raw != NULL, *want[i][1] == '[');
	}
}
END_TEST

START_TEST(settings_are_read_anywhere)
{
	write_file("a.job", "[a]\n");
	ck_assert_int_eq(load("--quiet a.job --json=x --output-format=json "
			      "--require=au>=90 --require=samples_per_sec>1 "
			      "--status_interval=2 --readonly=0"),
			 0);
	ck_assert(set.settings.quiet);
	ck_assert(!set.settings.readonly);
	ck_assert_int_eq(set.settings.output_format, OUTPUT_JSON);
	ck_assert_uint_eq(set.settings.status_interval_ns, 2000000000);
	ck_assert_uint_eq(set.settings.log_interval_ns, 1000000000);
	ck_assert_str_eq(set.settings.require, "au>=90,samples_per_sec>1");
}
END_TEST

START_TEST(a_request_needs_no_job)
{
	ck_assert_int_eq(load("--cmdhelp none.job"), 0);
	ck_assert_str_eq(set.settings.cmdhelp, "all");
	jobset_fini(&set);
	ck_assert_int_eq(load("--enghelp"), 0);
	ck_assert_str_eq(set.settings.enghelp, "");
	jobset_fini(&set);
	ck_assert_int_eq(load("--enghelp=ring"), 0);
	ck_assert_str_eq(set.settings.enghelp, "ring");
	jobset_fini(&set);
	ck_assert_int_eq(load("--name=x --list-jobs"), 0);
	ck_assert(set.settings.list_jobs);
	ck_assert_uint_eq(set.count, 0);
}
END_TEST

static const struct {
	const char *text;
	int count; /* -1 = refused */
	struct requirement last;
} requirements[] = {
	{ "au>=90", 1, { "au", ">=", 90 } },
	{ "au>=90%", 1, { "au", ">=", 90 } },
	{ "stall_ns.p99<1.5ms", 1, { "stall_ns.p99", "<", 1.5e6 } },
	{ "stall_ns.p99<1e6", 1, { "stall_ns.p99", "<", 1e6 } },
	{ "stall_ns.p99<1mm", -1, { "", "", 0 } },
	{ "io_bytes>=2m", 1, { "io_bytes", ">=", 2097152 } },
	{ "read.iops>=2m", -1, { "", "", 0 } },
	{ "au>=90,read.p99<5", 2, { "read.p99", "<", 5 } },
	{ "au==1", 1, { "au", "==", 1 } },
	{ "au=1", 1, { "au", "==", 1 } },
	{ "au>-1", 1, { "au", ">", -1 } },
	{ "au", -1, { "", "", 0 } },
	{ "", -1, { "", "", 0 } },
	{ "au>=90,", -1, { "", "", 0 } },
	{ "au=>90", -1, { "", "", 0 } },
	{ "au>>90", -1, { "", "", 0 } },
	{ "au>=<=90", -1, { "", "", 0 } },
	{ ">=90", -1, { "", "", 0 } },
	{ "au>=", -1, { "", "", 0 } },
	{ "AU>=1", 1, { "AU", ">=", 1 } },
	{ " au >= 90 ", 1, { "au", ">=", 90 } },
	{ "au>=90 and read.p99<5", 2, { "read.p99", "<", 5 } },
	{ "au>=90 and", -1, { "", "", 0 } },
	{ "and au>=90", -1, { "", "", 0 } },
	{ "au>=90 andante>1", -1, { "", "", 0 } },
	{ "au>=90 read.p99<5", -1, { "", "", 0 } },
	{ "au > = 90", -1, { "", "", 0 } },
	{ "au>=1,au>=1,au>=1", -1, { "", "", 0 } },
	{ "a_name_of_more_than_thirty_one_bytes"
	  "_and_then_of_more_than_sixty_three>1",
	  -1,
	  { "", "", 0 } },
};

START_TEST(requirements_are_comparisons)
{
	struct requirement got[2];
	struct mlgen_err err = { 0 };
	int want = requirements[_i].count;
	int n = jobset_requirements(requirements[_i].text, got, 2, &err);

	if (want < 0) {
		ck_assert_int_lt(n, 0);
		ck_assert_str_ne(err.text, "");
		return;
	}
	ck_assert_int_eq(n, want);
	ck_assert_str_eq(got[n - 1].metric, requirements[_i].last.metric);
	ck_assert_str_eq(got[n - 1].op, requirements[_i].last.op);
	ck_assert_double_eq(got[n - 1].value, requirements[_i].last.value);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_jobset(void)
{
	Suite *s = suite_create("jobset");
	TCase *t = tcase_create("jobset");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, the_value_that_counts_is_the_nearest, 0,
			    ROWS(rules));
	tcase_add_test(t, stonewall_and_files_start_groups);
	tcase_add_test(t, origins_tell_where_a_value_was_written);
	tcase_add_test(t, an_engine_brings_its_options);
	tcase_add_test(t, options_of_another_engine_are_checked_and_noted);
	tcase_add_test(t, each_engine_reads_its_own_option);
	tcase_add_test(t, a_fault_counts_once);
	tcase_add_loop_test(t, what_cannot_be_run_is_refused, 0,
			    ROWS(refusals));
	tcase_add_loop_test(t, options_of_another_phase_are_told, 0,
			    ROWS(phases));
	tcase_add_test(t, origins_tell_what_a_phase_brought);
	tcase_add_test(t, settings_are_read_anywhere);
	tcase_add_test(t, a_request_needs_no_job);
	tcase_add_loop_test(t, requirements_are_comparisons, 0,
			    ROWS(requirements));
	suite_add_tcase(s, t);
	return s;
}
