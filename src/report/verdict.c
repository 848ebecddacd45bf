/* SPDX-License-Identifier: Apache-2.0 */
/* verdict.c - what limits a training, the figures that decide it, what to try next. */
#include "report/verdict.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "report/show.h"
#include "report/verdict_checkpoint.h"
#include "report/verdict_errors.h"
#include "report/verdict_host.h"
#include "report/verdict_io.h"

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

#define NETWORK_PERCENT 90.0 /* of the line rate */
#define STORAGE_PERCENT 80.0 /* of the loaders' time in I/O calls */
#define DATASET_RATIO 5      /* x memory: what MLPerf Storage asks for */
#define MOST_READS 512       /* more in flight are no experiment any more */
#define MOST_READ_THREADS 1024
#define USUAL_AU_PERCENT 90.0 /* where a job states no target */

/* Each appends its sentence; nothing appended = nothing to say. */
typedef void sentence(struct buf *out, const struct verdict_findings *f);

struct verdict {
	const char *name, *label;
	bool (*holds)(const struct verdict_findings *f);
	sentence *headline, *because, *try_next;
};

static const char *const io_kinds[] = { "read",  "write", "open", "stat",
					"fsync", "close", "reap" };

/* No byte is moved, and no storage is played either. */
static bool lacks_storage(const struct verdict_findings *f)
{
	return verdict_without_storage(f->job) && !verdict_is_model(f->job);
}

static uint64_t reads_in_flight(const struct verdict_findings *f)
{
	return f->ml->accelerators * job_readers(f->job) * job_depth(f->job);
}

/* Inside I/O calls, as the line `loader time` prints it. */
static double io_share(const struct verdict_findings *f)
{
	double sum = 0;
	for (size_t i = 0; i < ARRAY_LEN(io_kinds); i++)
		sum += show_share(&f->loader, io_kinds[i]);
	return sum;
}

/* The kinds that took most of the loaders' time, most first. */
static void largest_kinds(const struct verdict_findings *f,
			  const char *largest[2])
{
	largest[0] = largest[1] = io_kinds[0];
	for (size_t i = 1; i < ARRAY_LEN(io_kinds); i++) {
		double share = show_share(&f->loader, io_kinds[i]);
		if (share > show_share(&f->loader, largest[0])) {
			largest[1] = largest[0];
			largest[0] = io_kinds[i];
		} else if (largest[1] == largest[0] ||
			   share > show_share(&f->loader, largest[1])) {
			largest[1] = io_kinds[i];
		}
	}
}

/* Twice the reads in flight: the experiment that tells bandwidth from
 * latency. False where so many are in flight that it would tell nothing.
 * Accelerators that read themselves get a thread first. */
static bool put_more_threads(struct buf *out, const struct verdict_findings *f,
			     const char *question)
{
	uint64_t threads = f->job->read_threads * 2;
	if (!threads) {
		buf_add(out, "--read_threads=1 --prefetch=1 : what does "
			     "reading while accelerators compute save?");
		return true;
	}
	if (threads > MOST_READ_THREADS || reads_in_flight(f) >= MOST_READS)
		return false;
	buf_addf(out, "--read_threads=%" PRIu64 " : %s (%" PRIu64 " now)?",
		 threads, question, reads_in_flight(f));
	return true;
}

/* "stall p99 0.412 ms in steps of 224.0 ms", as far as it was measured. */
static void put_stall_table(struct buf *out, const struct verdict_findings *f)
{
	static const double percents[] = { 99, 90 };
	const struct hist *stall = f->ml->stall_ns;
	char ms[UNITS_TEXT_BYTES];
	if (!stall || stall->count == 0 || !f->ml->step_ns) {
		buf_addf(out, "stall %.1f%% of accelerator time",
			 show_share(&f->time, "stall"));
		return;
	}
	size_t i = 0;
	while (i < ARRAY_LEN(percents) && hist_beyond(stall, percents[i]) < 10)
		i++;
	if (i < ARRAY_LEN(percents))
		buf_addf(out, "stall p%g %s ms", percents[i],
			 units_human_ms(ms, (double)hist_percentile(
						    stall, percents[i])));
	else
		buf_addf(out, "stall %s ms (mean)",
			 units_human_ms(ms, hist_mean(stall)));
	buf_addf(out, " in steps of %s ms",
		 units_human_ms(ms, hist_mean(f->ml->step_ns)));
}

static bool memory_holds(const struct verdict_findings *f)
{
	if (verdict_without_storage(f->job))
		return false;
	return f->ml->storage.is_memory ||
	       f->ml->storage.memory_percent > VERDICT_MEMORY_PERCENT;
}

static void memory_headline(struct buf *out, const struct verdict_findings *f)
{
	const struct storage_result *s = &f->ml->storage;
	char percent[UNITS_TEXT_BYTES];
	if (s->is_memory)
		buf_addf(out, "%s keeps files in memory",
			 s->filesystem ? s->filesystem : "this filesystem");
	else
		buf_addf(out,
			 "%s of the bytes came from this host's page cache",
			 show_percent(percent, s->memory_percent));
}

static void memory_because(struct buf *out, const struct verdict_findings *f)
{
	const struct storage_result *s = &f->ml->storage;
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES],
		memory[UNITS_TEXT_BYTES];
	double size = (double)f->result->totals.bytes;
	double ram = (double)f->run->host.memory_bytes;
	if (s->is_memory) {
		buf_addf(out, "%s is %s: no storage was read",
			 s->mount_target ? s->mount_target : "the directory",
			 s->filesystem ? s->filesystem : "memory");
		return;
	}
	if (f->job->distinct_files) {
		buf_addf(out,
			 "%" PRIu64 " of the files were read over and over "
			 "(distinct_files)",
			 f->job->distinct_files);
		return;
	}
	units_human_count(files, f->result->dataset ? f->result->dataset->files
						    : f->job->num_files);
	units_human_bytes(bytes, size);
	units_human_bytes(memory, ram);
	if (size <= ram)
		buf_addf(out,
			 "the dataset (%s files, %s) fits into memory (%s)",
			 files, bytes, memory);
	else
		buf_addf(out,
			 "the dataset (%s files, %s) is only %.1f x memory "
			 "(%s)",
			 files, bytes, size / ram, memory);
}

static void memory_try(struct buf *out, const struct verdict_findings *f)
{
	const struct dataset_totals *t = &f->result->totals;
	double ram = (double)f->run->host.memory_bytes;
	char files[UNITS_TEXT_BYTES];
	if (f->ml->storage.is_memory) {
		buf_add(out, "--directory=PATH : a directory on storage");
		return;
	}
	if (f->job->distinct_files) {
		buf_add(out, "--distinct_files=0 : all of the dataset");
		return;
	}
	if ((double)t->bytes >= DATASET_RATIO * ram && !f->job->direct) {
		buf_add(out, "--direct=1 : reads that pass by the page cache");
		return;
	}
	buf_addf(out, "--dataset_ratio=%d", DATASET_RATIO);
	if (t->mean_file_bytes > 0)
		buf_addf(out, " : %s files",
			 units_human_count(files,
					   (uint64_t)ceil(DATASET_RATIO * ram /
							  t->mean_file_bytes)));
	if (!f->job->direct)
		buf_add(out, ", or direct=1");
}

static bool network_holds(const struct verdict_findings *f)
{
	return f->ml->network.percent >= NETWORK_PERCENT;
}

static void network_headline(struct buf *out, const struct verdict_findings *f)
{
	const struct network_result *n = &f->ml->network;
	char carried[UNITS_TEXT_BYTES], line[UNITS_TEXT_BYTES];
	buf_addf(out, "%s carried %s of %s Gb/s", n->interface,
		 show_gigabits(carried, n->received_bits_per_sec),
		 show_gigabits(line, (double)n->line_rate_bits_per_sec));
}

static void network_because(struct buf *out, const struct verdict_findings *f)
{
	char percent[UNITS_TEXT_BYTES], rate[UNITS_TEXT_BYTES];
	buf_addf(out, "that is %s of its line rate, for %s of samples; ",
		 show_percent(percent, f->ml->network.percent),
		 show_rate(rate, &f->unit, f->ml->sample_bytes_per_sec));
	buf_addf(out, "host CPU %s, ",
		 show_percent(percent, f->ml->host.cpu_percent));
	verdict_put_wakeups(out, f);
}

static void network_try(struct buf *out, const struct verdict_findings *f)
{
	(void)f;
	buf_add(out, "a faster link, or more hosts; not a statement about "
		     "storage");
}

static void compute_headline(struct buf *out, const struct verdict_findings *f)
{
	buf_add(out, lacks_storage(f) ? "no storage in this (ioengine=null): "
		     : verdict_is_model(f->job)
			     ? "the modelled storage keeps up: "
			     : "storage keeps up: ");
	put_stall_table(out, f);
}

static void compute_because(struct buf *out, const struct verdict_findings *f)
{
	if (f->ceiling.says == CEILING_NEAR) {
		verdict_ceiling_put(out, &f->ceiling);
		buf_add(out, "; ");
	}
	buf_addf(out, "stall is %.1f%% of accelerator time",
		 show_share(&f->time, "stall"));
	if (verdict_has_long_first_steps(f))
		buf_add(out, " with first steps of epochs, which AU leaves "
			     "out");
	buf_addf(out, "; read threads idle %.1f%% of theirs",
		 show_share(&f->loader, "idle"));
}

static void compute_try(struct buf *out, const struct verdict_findings *f)
{
	const struct dataset *ds = f->result->dataset;
	uint64_t wanted = f->job->accelerators * 2;
	if (lacks_storage(f)) {
		buf_add(out, "--ioengine=psync : the same with storage");
		return;
	}
	uint64_t batch = f->job->batch_size ? f->job->batch_size : 1;
	uint64_t most = ds ? ds->files * ds->samples_per_file / batch : wanted;
	if (wanted > most)
		wanted = most;
	if (wanted > f->job->accelerators)
		buf_addf(out,
			 "--accelerators=%" PRIu64 " : storage keeps up, "
			 "ask for more",
			 wanted);
	else
		buf_addf(out,
			 "--dataset_ratio=%d : these files are too few for "
			 "more accelerators",
			 DATASET_RATIO);
}

static bool storage_holds(const struct verdict_findings *f)
{
	return !lacks_storage(f) &&
	       (f->ceiling.says == CEILING_ABOVE ||
		show_io_percent(&f->ml->loader_percent) >= STORAGE_PERCENT);
}

static void storage_headline(struct buf *out, const struct verdict_findings *f)
{
	const struct ml_result *ml = f->ml;
	char who[SHOW_ACCELERATORS_BYTES], asked[UNITS_TEXT_BYTES],
		got[UNITS_TEXT_BYTES];
	const char *who_gave =
		verdict_is_model(f->job) ? "the modelled storage" : "storage";
	show_rate(got, &f->unit, ml->sample_bytes_per_sec);
	if (isnan(ml->demand_bytes_per_sec)) {
		buf_addf(out,
			 "%s delivered %s; compute_time=0 takes all there is",
			 who_gave, got);
		return;
	}
	buf_addf(out, "%s ask%s for %s; %s delivered %s",
		 show_accelerators(who, ml->accelerators, ml->accelerator),
		 ml->accelerators == 1 ? "s" : "",
		 show_rate(asked, &f->unit, ml->demand_bytes_per_sec), who_gave,
		 got);
}

/* What the storage costs was measured. */
static void put_ceiling_above(struct buf *out, const struct ceiling_gap *g)
{
	verdict_ceiling_put(out, g);
	buf_addf(out, ", %.1f%s more; ", g->points,
		 g->is_rate ? "%" : " points");
}

static void storage_because(struct buf *out, const struct verdict_findings *f)
{
	const char *most[2];
	char cpu[UNITS_TEXT_BYTES];
	if (f->ceiling.says == CEILING_ABOVE)
		put_ceiling_above(out, &f->ceiling);
	largest_kinds(f, most);
	double first = show_share(&f->loader, most[0]);
	double all = io_share(f);
	if (first < 0.9 * all)
		buf_addf(out,
			 "read threads spent %.1f%% of their time in I/O "
			 "calls, %s %.1f%%, %s %.1f%%; ",
			 all, most[0], first, most[1],
			 show_share(&f->loader, most[1]));
	else if (!strcmp(most[0], "reap"))
		buf_addf(out,
			 "read threads spent %.1f%% of their time waiting "
			 "for completions; ",
			 first);
	else
		buf_addf(out,
			 "read threads spent %.1f%% of their time waiting "
			 "in %s(); ",
			 first, most[0]);
	buf_addf(out, "host CPU %s, ",
		 show_percent(cpu, f->ml->host.cpu_percent));
	verdict_put_wakeups(out, f);
}

static void storage_try(struct buf *out, const struct verdict_findings *f)
{
	double au;
	uint64_t enough = verdict_enough(f->result, &au);
	if (put_more_threads(out, f,
			     "is it bandwidth, or too few reads in "
			     "flight"))
		return;
	if (enough > 0 && enough < f->job->accelerators)
		buf_addf(out,
			 "--accelerators=%" PRIu64 " : does storage keep "
			 "up with fewer?",
			 enough);
}

static bool unclear_holds(const struct verdict_findings *f)
{
	(void)f;
	return true;
}

static void unclear_headline(struct buf *out, const struct verdict_findings *f)
{
	char cpu[UNITS_TEXT_BYTES];
	show_percent(cpu, f->ml->host.cpu_percent);
	if (lacks_storage(f))
		buf_addf(out,
			 "no storage in this (ioengine=null), and CPU %s "
			 "does not decide",
			 cpu);
	else
		buf_addf(out,
			 "read threads in I/O calls %.1f%%, CPU %s: "
			 "neither decides",
			 io_share(f), cpu);
}

static void unclear_because(struct buf *out, const struct verdict_findings *f)
{
	if (isnan(f->ml->demand_bytes_per_sec))
		buf_add(out, "compute_time=0 asks for no throughput that could "
			     "be missed; ");
	else
		buf_addf(out, "stall is %.1f%% of accelerator time; ",
			 show_share(&f->time, "stall"));
	buf_addf(out, "read threads idle %.1f%% of theirs, ",
		 show_share(&f->loader, "idle"));
	verdict_put_wakeups(out, f);
}

static void unclear_try(struct buf *out, const struct verdict_findings *f)
{
	if (lacks_storage(f))
		buf_add(out, "--ioengine=psync : the same with storage");
	else if (!f->ml->ceiling.is_tried && !verdict_is_model(f->job))
		buf_add(out, "--ceiling : what this host could do at best");
	else
		put_more_threads(out, f,
				 "is less time lost with more reads in "
				 "flight");
}

/* In the order in which they are tried; the last always holds. */
static const struct verdict verdicts[] = {
	{ "errors", "ERRORS", verdict_errors_holds, verdict_errors_headline,
	  verdict_errors_because, verdict_errors_try },
	{ "memory", "NOT A STORAGE RESULT", memory_holds, memory_headline,
	  memory_because, memory_try },
	{ "network", "NETWORK-BOUND", network_holds, network_headline,
	  network_because, network_try },
	{ "host", "HOST-BOUND", verdict_host_holds, verdict_host_headline,
	  verdict_host_because, verdict_host_try },
	{ "compute", "COMPUTE-BOUND", verdict_keeps_up, compute_headline,
	  compute_because, compute_try },
	{ "storage", "STORAGE-BOUND", storage_holds, storage_headline,
	  storage_because, storage_try },
	{ "unclear", "UNCLEAR", unclear_holds, unclear_headline,
	  unclear_because, unclear_try },
};

/* The sentence for *to; NULL where there is nothing to say. */
static void say(char **to, sentence *what, const struct verdict_findings *f)
{
	struct buf b;
	buf_init(&b);
	what(&b, f);
	mem_replace(to, b.len ? buf_str(&b) : NULL);
	buf_fini(&b);
}

static void decide(const struct run_result *r, struct job_result *j)
{
	struct verdict_findings f = {
		.run = r, .result = j, .job = j->job, .ml = &j->ml
	};
	const struct verdict *v = verdicts;
	struct verdict_result *out = &j->ml.verdict;
	show_accelerator_time(&j->ml.time_percent, &f.time);
	show_loader_time(&j->ml.loader_percent, &f.loader);
	f.unit = show_report_unit(&j->ml);
	verdict_ceiling(&f.ceiling, j->job, &j->ml);
	while (!v->holds(&f))
		v++;
	mem_replace(&out->name, v->name);
	say(&out->headline, v->headline, &f);
	say(&out->because, v->because, &f);
	say(&out->try_next, v->try_next, &f);
}

void verdict_fill(struct run_result *r)
{
	for (size_t i = 0; i < r->job_count; i++) {
		struct job_result *j = &r->jobs[i];
		if (j->kind == RESULT_TRAIN && j->ml.steps > 0)
			decide(r, j);
		else if (j->kind == RESULT_IO)
			verdict_fill_io(r, j);
		else if (j->kind == RESULT_CHECKPOINT)
			verdict_fill_checkpoint(r, j);
	}
}

const char *verdict_label(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_LEN(verdicts); i++)
		if (!strcmp(verdicts[i].name, name))
			return verdicts[i].label;
	return NULL;
}

uint64_t verdict_enough(const struct job_result *j, double *au_percent)
{
	const struct ml_result *ml = &j->ml;
	*au_percent = isnan(ml->target_au_percent) ? USUAL_AU_PERCENT
						   : ml->target_au_percent;
	if (!(ml->demand_bytes_per_sec > 0) || !(*au_percent > 0))
		return UINT64_MAX;
	double one = ml->demand_bytes_per_sec / (double)ml->accelerators;
	double n = floor(ml->sample_bytes_per_sec / (one * *au_percent / 100));
	uint64_t enough = n > 0 ? (uint64_t)n : 0;
	/* Throughput holds first steps that AU leaves out: stay on the side
	 * of what was seen. */
	if (ml->au_percent < *au_percent && enough >= ml->accelerators)
		return ml->accelerators - 1;
	if (ml->au_percent >= *au_percent && enough < ml->accelerators)
		return ml->accelerators;
	return enough;
}

bool verdict_without_storage(const struct job *job)
{
	return job->engine && (job->engine->caps & MLGEN_CAP_NO_FILES);
}

bool verdict_is_model(const struct job *job)
{
	const struct mlgen_field *f = job->engine ? job->engine->opts : NULL;
	if (!verdict_without_storage(job) || !job->engine_opts)
		return false;
	for (; f && f->name; f++)
		if (!field_is_default(f, job->engine_opts))
			return true;
	return false;
}
