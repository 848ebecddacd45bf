/* SPDX-License-Identifier: Apache-2.0 */
/* train_verdict.c - verdicts on a training job: what limits it, and the next experiment to try. */
#include "work/train/train_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "ask/mlperf/mlperf.h"
#include "base/buf.h"
#include "base/util.h"
#include "data/cache/cache.h"
#include "job/job.h"
#include "report/text/text.h"
#include "work/checkpoint/checkpoint.h"

/* ---- caches ---- */

/* If hits take at least this share of the samples' time, the tier is the limit. */
#define LIMIT_HIT_SHARE 0.5

static double seconds_of(const struct hist *h)
{
	return h ? hist_mean(h) * (double)h->count / 1e9 : 0;
}

static double hit_share(const struct cache_result *c)
{
	double hits = seconds_of(c->hit_ns), misses = seconds_of(c->miss_ns);

	return hits > 0 ? hits / (hits + misses + seconds_of(c->peer_ns)) : 0;
}

static double count_of(const struct hist *h)
{
	return h ? (double)h->count : 0;
}

/* Loaders are in I/O calls, and hits take most of the samples' time: the tier's disk is the limit.
 */
static bool cache_holds(const struct verdict_findings *f)
{
	const struct cache_result *c = &f->ml->cache;

	return c->policy && has_text(c->directory) &&
	       show_io_percent(&f->ml->loader_percent) >= VERDICT_STORAGE_PERCENT &&
	       hit_share(c) >= LIMIT_HIT_SHARE;
}

static void cache_headline(struct buf *out, const struct verdict_findings *f)
{
	char rate[UNITS_TEXT_BYTES];

	buf_addf(out, "the tier's disk is the limit: %s and storage delivered %s",
		 f->ml->cache.directory, show_rate(rate, &f->unit, f->ml->sample_bytes_per_sec));
}

static void cache_because(struct buf *out, const struct verdict_findings *f)
{
	const struct cache_result *c = &f->ml->cache;
	char hit[UNITS_TEXT_BYTES], miss[UNITS_TEXT_BYTES];

	buf_addf(out, "hits take %.1f%% of the time of samples", hit_share(c) * 100);
	buf_addf(out, ", %s ms each (mean)", units_human_ms(hit, hist_mean(c->hit_ns)));
	if (c->miss_ns && c->miss_ns->count)
		buf_addf(out, "; a miss takes %s ms", units_human_ms(miss, hist_mean(c->miss_ns)));
	verdict_say(out, f, "; host CPU {ml.host.cpu_percent}");
}

static void cache_try(struct buf *out, const struct verdict_findings *f)
{
	(void)f;
	buf_add(out, "--cache_directory=PATH : a tier on a faster disk");
}

/* ---- the benefit of a larger cache ---- */

double verdict_cache_share(const struct verdict_findings *f, double au_percent)
{
	const struct ml_result *ml = f->ml;
	const struct cache_result *c = &ml->cache;
	const struct job *job = f->job;
	double hits = count_of(c->hit_ns) + count_of(c->peer_ns);

	if (!c->policy || !(hits > 0) || !(count_of(c->miss_ns) > 0) || isnan(c->all.hit_ratio) ||
	    !cacheshare_applies(job) || !(dist_mean(&job->compute_time) > 0) || ml->samples == 0)
		return (double)NAN;
	/* In a divided tier, most hits are in the parts that other processes hold. */
	double hit = (seconds_of(c->hit_ns) + seconds_of(c->peer_ns)) / hits;
	double saved = hist_mean(c->miss_ns) / 1e9 - hit;
	/* Two times per sample, in seconds: the time that a reader is busy (reading, decoding and
	 * everything else except waiting for accelerators), and the time that it may be busy at
	 * this AU. */
	double readers = (double)ml->accelerators * (double)job_readers(job);
	double busy = (1 - ml->loader_percent.idle / 100) * f->result->wall_seconds * readers /
		      (double)ml->samples;
	double demand = (double)ml->accelerators * (double)job->batch_size * 1e9 /
			dist_mean(&job->compute_time);
	double lacks = busy - readers / (demand * au_percent / 100);
	double ratio = c->all.hit_ratio + lacks / saved;
	return saved > 0 && lacks > 0 ? cacheshare_for((enum job_cache)job->cache, ratio)
				      : (double)NAN;
}

/* ---- the host ---- */

#define OVERSLEEP_PERCENT 1.0
#define STALL_PERCENT 5.0
#define BUSY_AU_PERCENT (100.0 - STALL_PERCENT)

static bool is_full(const struct verdict_findings *f)
{
	return f->result->host.cpu_percent >= VERDICT_CPU_PERCENT;
}

static bool wakes_late(const struct verdict_findings *f)
{
	return f->ml->time_percent.oversleep >= OVERSLEEP_PERCENT;
}

/* Stalls include the first steps of epochs, which AU leaves out. If the AU is high, the stalls are
 * in those first steps and are not the limit. */
static bool hardly_waits(const struct verdict_findings *f)
{
	return f->ml->time_percent.stall <= STALL_PERCENT || f->ml->au_percent >= BUSY_AU_PERCENT;
}

/* Do other programs fill the CPUs? */
static bool has_foreign_load(const struct verdict_findings *f)
{
	return is_full(f) && verdict_cpu_is_foreign(&f->result->host);
}

void verdict_append_stall(struct buf *out, const struct verdict_findings *f)
{
	static const double percents[] = { 99, 90 };
	const struct hist *stall = f->ml->stall_ns;
	char ms[UNITS_TEXT_BYTES];

	if (!stall || stall->count == 0 || !f->ml->step_ns) {
		buf_addf(out, "stall %.1f%% of accelerator time", show_share(&f->time, "stall"));
		return;
	}
	size_t i = 0;
	while (i < ARRAY_LEN(percents) && hist_beyond(stall, percents[i]) < 10)
		i++;
	if (i < ARRAY_LEN(percents))
		buf_addf(out, "stall p%g %s ms", percents[i],
			 units_human_ms(ms, (double)hist_percentile(stall, percents[i])));
	else
		buf_addf(out, "stall %s ms (mean)", units_human_ms(ms, hist_mean(stall)));
	buf_addf(out, " in steps of %s ms", units_human_ms(ms, hist_mean(f->ml->step_ns)));
}

/* Append "wake-ups on time" or "oversleep 0.4% of accelerator time". */
static void append_wakeups(struct buf *out, const struct verdict_findings *f)
{
	double late = show_share(&f->time, "oversleep");

	if (late < 0.1)
		buf_add(out, "wake-ups on time");
	else
		buf_addf(out, "oversleep %.1f%% of accelerator time", late);
}

/* Do accelerators hardly wait, except in the first steps of epochs? */
static bool keeps_up(const struct verdict_findings *f)
{
	return !isnan(f->ml->demand_bytes_per_sec) && hardly_waits(f);
}

/* A ceiling is a measurement, a busy CPU only a hint. If accelerators are busy, nothing limits
 * them. */
static bool host_holds(const struct verdict_findings *f)
{
	if (f->ml->au_percent >= BUSY_AU_PERCENT && hardly_waits(f))
		return false;
	if (f->ceiling.says == CEILING_NEAR)
		return is_full(f) || wakes_late(f) || !keeps_up(f);
	return isnan(f->ceiling.reached) && (is_full(f) || wakes_late(f));
}

/* ---- the hint and the measurement disagree ---- */

/* The host seems to be the limit, but its ceiling says that it is not. Other programs that filled
 * the CPUs may have ended before the ceiling was measured, unless the storage is simulated. A
 * ceiling that was measured without the other jobs of the group proves nothing. */
static bool disputed_holds(const struct verdict_findings *f)
{
	if (isnan(f->ceiling.reached) || f->ceiling.says == CEILING_NEAR ||
	    (f->ml->au_percent >= BUSY_AU_PERCENT && hardly_waits(f)))
		return false;
	if (f->ceiling.says == CEILING_ABOVE)
		return has_foreign_load(f) && !verdict_is_model(f->job);
	return is_full(f) || wakes_late(f);
}

static void disputed_headline(struct buf *out, const struct verdict_findings *f)
{
	if (is_full(f))
		verdict_append_full_cpu(out, &f->result->host, &f->run->host);
	else
		buf_addf(out, "oversleep is %.1f%% of accelerator time",
			 show_share(&f->time, "oversleep"));
	buf_add(out, ", yet ");
	verdict_append_ceiling(out, &f->ceiling);
}

static void disputed_because(struct buf *out, const struct verdict_findings *f)
{
	if (has_foreign_load(f))
		buf_add(out, "other processes used the CPUs in the run, and may have ended before "
			     "the ceiling was measured; ");
	else if (f->ml->ceiling.jobs_beside)
		buf_add(out, "the ceiling is of this job without the other jobs of its group; ");
	else
		buf_add(out, "the load of the host and its ceiling disagree; ");
	verdict_append_cpu(out, &f->result->host);
}

static void disputed_try(struct buf *out, const struct verdict_findings *f)
{
	if (has_foreign_load(f) || !f->ml->ceiling.jobs_beside)
		buf_add(out, "the same job while nothing else runs on these CPUs");
	else
		buf_add(out, "the same job alone, with --ceiling");
}

static void host_headline(struct buf *out, const struct verdict_findings *f)
{
	if (f->ceiling.says == CEILING_NEAR) {
		char percent[UNITS_TEXT_BYTES];

		if (wakes_late(f) && !is_full(f))
			buf_addf(out, "oversleep %.1f%% of accelerator time; ",
				 show_share(&f->time, "oversleep"));
		else if (!isnan(f->result->host.cpu_percent))
			buf_addf(out, "CPU %s busy; ",
				 show_percent(percent, f->result->host.cpu_percent));
		verdict_append_ceiling(out, &f->ceiling);
	} else if (is_full(f)) {
		verdict_append_full_cpu(out, &f->result->host, &f->run->host);
		buf_addf(out, "; stall is %.1f%% of accelerator time",
			 show_share(&f->time, "stall"));
	} else {
		buf_addf(out, "oversleep is %.1f%% of accelerator time: this host wakes late",
			 show_share(&f->time, "oversleep"));
	}
}

static void host_because(struct buf *out, const struct verdict_findings *f)
{
	const struct host_result *h = &f->result->host;
	char percent[UNITS_TEXT_BYTES], mean[UNITS_TEXT_BYTES];

	if (f->ceiling.says == CEILING_NEAR) {
		if (f->ceiling.points < 0.05)
			buf_add(out, "the ceiling is no higher than the result: ");
		else if (f->ceiling.is_rate)
			buf_addf(out,
				 "the ceiling is %.1f%% above the result: ", f->ceiling.points);
		else
			buf_addf(out, "the ceiling is %.1f points above the result: ",
				 f->ceiling.points);
		buf_add(out, "storage hardly matters");
	} else if (is_full(f) || !h->oversleep_ns) {
		verdict_append_cpu(out, h);
	} else {
		buf_addf(out, "sleeps ended %s ms late on average, CPU %s busy",
			 units_human_ms(mean, hist_mean(h->oversleep_ns)),
			 show_percent(percent, h->cpu_percent));
	}
}

static void host_try(struct buf *out, const struct verdict_findings *f)
{
	const struct job *job = f->job;
	bool copies = advice_direct(job) && job->access == ACCESS_PLAIN &&
		      f->ceiling.copying > CEILING_NEAR_POINTS;

	if (has_foreign_load(f))
		buf_add(out, "the same job while nothing else runs on these CPUs");
	else if (f->ceiling.says == CEILING_NEAR && copies)
		buf_addf(out, "--direct=1 : less copying on these CPUs, which costs %.1f %s",
			 f->ceiling.copying, f->ceiling.is_rate ? "percent" : "points");
	else if (f->ceiling.says == CEILING_NEAR)
		buf_add(out, "fewer accelerators here, or more hosts; this is not a statement "
			     "about storage");
	else if (!f->ml->ceiling.is_tried && !verdict_without_storage(job))
		buf_add(out, "--ceiling : what this host could do at best");
	else if (job->accelerators > 1)
		buf_addf(out,
			 "--accelerators=%" PRIu64
			 " : half the load here; this is not a statement about storage",
			 job->accelerators / 2);
	else if (job->read_threads > 1)
		buf_addf(out, "--read_threads=%" PRIu64 " : fewer threads on these CPUs",
			 job->read_threads / 2);
	else if (advice_direct(job))
		buf_add(out, "--direct=1 : less copying on these CPUs");
}

/* ---- verdicts ---- */

#define MAX_READS 512 /* more reads in flight than this are not doubled */
#define MAX_READ_THREADS 1024

static const char *const io_kinds[] = { "read", "write", "open", "stat", "fsync", "close", "reap" };

/* The engine moves no bytes and simulates no storage. */
static bool lacks_storage(const struct verdict_findings *f)
{
	return verdict_without_storage(f->job) && !verdict_is_model(f->job);
}

static uint64_t reads_in_flight(const struct verdict_findings *f)
{
	return f->ml->accelerators * job_readers(f->job) * job_depth(f->job);
}

/* Percent of the time inside I/O calls: the sum of the shares that the report line prints. */
static double io_share(const struct verdict_findings *f)
{
	double sum = 0;

	for (size_t i = 0; i < ARRAY_LEN(io_kinds); i++)
		sum += show_share(&f->loader, io_kinds[i]);
	return sum;
}

/* Append an option that doubles the reads in flight: the experiment that tells bandwidth from
 * latency. Accelerators without read threads get a read thread first. False if too many reads are
 * in flight already. */
static bool append_more_threads(struct buf *out, const struct verdict_findings *f,
				const char *question)
{
	uint64_t threads = f->job->read_threads * 2;

	if (!threads) {
		buf_add(out, "--read_threads=1 --prefetch=1 : how much time does reading during "
			     "compute save?");
		return true;
	}
	if (threads > MAX_READ_THREADS || reads_in_flight(f) >= MAX_READS)
		return false;
	buf_addf(out, "--read_threads=%" PRIu64 " : %s (%" PRIu64 " now)?", threads, question,
		 reads_in_flight(f));
	return true;
}

static bool memory_holds(const struct verdict_findings *f)
{
	if (verdict_without_storage(f->job))
		return false;
	return f->result->storage.is_memory ||
	       f->result->storage.memory_percent > VERDICT_MEMORY_PERCENT;
}

static void memory_headline(struct buf *out, const struct verdict_findings *f)
{
	if (!verdict_keeps_in_memory(out, f))
		verdict_say(out, f,
			    "{ml.storage.memory_percent} of the bytes came from this host's page "
			    "cache");
}

static void memory_because(struct buf *out, const struct verdict_findings *f)
{
	char files[UNITS_TEXT_BYTES], bytes[UNITS_TEXT_BYTES], memory[UNITS_TEXT_BYTES];
	double size = (double)f->result->totals.bytes;
	double ram = (double)host_job_memory_bytes(&f->run->host);

	if (verdict_is_in_memory(out, f, "read"))
		return;
	if (f->job->distinct_files) {
		verdict_say(out, f,
			    "only {distinct_files} of the files were read, repeatedly "
			    "(distinct_files)");
		return;
	}
	units_human_count(files,
			  f->result->dataset ? f->result->dataset->files : f->job->num_files);
	units_human_bytes(bytes, size);
	units_human_bytes(memory, ram);
	if (size <= ram)
		buf_addf(out, "the dataset (%s files, %s) fits into memory (%s)", files, bytes,
			 memory);
	else
		buf_addf(out, "the dataset (%s files, %s) is only %.1f x memory (%s)", files, bytes,
			 size / ram, memory);
}

static void memory_try(struct buf *out, const struct verdict_findings *f)
{
	const struct dataset_totals *t = &f->result->totals;
	double ram = (double)host_job_memory_bytes(&f->run->host);
	char files[UNITS_TEXT_BYTES];

	if (f->result->storage.is_memory) {
		buf_add(out, "--directory=PATH : a directory on storage");
		return;
	}
	if (f->job->distinct_files) {
		buf_add(out, "--distinct_files=0 : all of the dataset");
		return;
	}
	if (!dataset_makes_files(f->result->dataset, f->job) ||
	    ((double)t->bytes >= MLPERF_MEMORIES * ram && !f->job->direct)) {
		char need[UNITS_TEXT_BYTES];

		if (advice_direct(f->job))
			buf_add(out, "--direct=1 : reads that bypass the page cache");
		else if (f->job->invalidate != INVALIDATE_EPOCH)
			buf_add(out, "--invalidate=epoch : each epoch from an empty page cache");
		else
			buf_addf(out, "--directory=PATH : a directory with %s of files",
				 units_human_bytes(need, MLPERF_MEMORIES * ram));
		return;
	}
	buf_addf(out, "--dataset_ratio=%d", MLPERF_MEMORIES);
	if (t->mean_file_bytes > 0)
		buf_addf(out, " : %s files",
			 units_human_count(files, (uint64_t)ceil(MLPERF_MEMORIES * ram /
								 t->mean_file_bytes)));
	if (advice_direct(f->job))
		buf_add(out, ", or direct=1");
}

static void network_because(struct buf *out, const struct verdict_findings *f)
{
	char rate[UNITS_TEXT_BYTES];

	verdict_say(out, f, "that is {ml.network.percent} of its line rate, ");
	buf_addf(out, "for %s of samples; ",
		 show_rate(rate, &f->unit, f->ml->sample_bytes_per_sec));
	verdict_say(out, f, "host CPU {ml.host.cpu_percent}, ");
	append_wakeups(out, f);
}

static void network_try(struct buf *out, const struct verdict_findings *f)
{
	(void)f;
	buf_add(out, "a faster link, or more hosts; this is not a statement about storage");
}

static void compute_headline(struct buf *out, const struct verdict_findings *f)
{
	buf_add(out, lacks_storage(f)           ? "ioengine=null uses no storage: "
		     : verdict_is_model(f->job) ? "the modelled storage keeps up: "
						: "storage keeps up: ");
	verdict_append_stall(out, f);
}

static void compute_because(struct buf *out, const struct verdict_findings *f)
{
	if (f->ceiling.says == CEILING_NEAR) {
		verdict_append_ceiling(out, &f->ceiling);
		buf_add(out, "; ");
	}
	buf_addf(out, "stall is %.1f%% of accelerator time", show_share(&f->time, "stall"));
	if (f->ml->time_percent.stall > STALL_PERCENT && f->ml->au_percent >= BUSY_AU_PERCENT)
		buf_add(out, " including first steps of epochs, which AU leaves out");
	buf_addf(out, "; read threads are idle %.1f%% of their time",
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
		buf_addf(out, "--accelerators=%" PRIu64 " : storage keeps up, try more", wanted);
	else if (dataset_makes_files(ds, f->job))
		buf_addf(out, "--dataset_ratio=%d : these files are too few for more accelerators",
			 MLPERF_MEMORIES);
	else
		buf_add(out, "--directory=PATH : these files are too few for more accelerators");
}

static bool storage_holds(const struct verdict_findings *f)
{
	return !lacks_storage(f) &&
	       (f->ceiling.says == CEILING_ABOVE ||
		show_io_percent(&f->ml->loader_percent) >= VERDICT_STORAGE_PERCENT);
}

static void storage_headline(struct buf *out, const struct verdict_findings *f)
{
	const struct ml_result *ml = f->ml;
	char who[SHOW_ACCELERATORS_BYTES], asked[UNITS_TEXT_BYTES], got[UNITS_TEXT_BYTES];
	const char *who_gave = verdict_is_model(f->job) ? "the modelled storage" : "storage";

	show_rate(got, &f->unit, ml->sample_bytes_per_sec);
	if (isnan(ml->demand_bytes_per_sec)) {
		buf_addf(out, "%s delivered %s; compute_time=0 asks for as much as possible",
			 who_gave, got);
		return;
	}
	buf_addf(out, "%s ask%s for %s; %s delivered %s",
		 show_accelerators(who, ml->accelerators, ml->accelerator),
		 ml->accelerators == 1 ? "s" : "",
		 show_rate(asked, &f->unit, ml->demand_bytes_per_sec), who_gave, got);
}

static void storage_because(struct buf *out, const struct verdict_findings *f)
{
	const char *most[2];

	if (f->ceiling.says == CEILING_ABOVE) {
		verdict_append_ceiling(out, &f->ceiling);
		buf_addf(out, ", %.1f%s more; ", f->ceiling.points,
			 f->ceiling.is_rate ? "%" : " points");
	}

	/* The two kinds of calls that took most of the loaders' time, the longer one first. */
	most[0] = most[1] = io_kinds[0];
	for (size_t i = 1; i < ARRAY_LEN(io_kinds); i++) {
		double share = show_share(&f->loader, io_kinds[i]);

		if (share > show_share(&f->loader, most[0])) {
			most[1] = most[0];
			most[0] = io_kinds[i];
		} else if (most[1] == most[0] || share > show_share(&f->loader, most[1])) {
			most[1] = io_kinds[i];
		}
	}

	double first = show_share(&f->loader, most[0]);
	double all = io_share(f);
	if (first < 0.9 * all)
		buf_addf(out,
			 "read threads spent %.1f%% of their time in I/O calls, %s %.1f%%, %s "
			 "%.1f%%; ",
			 all, most[0], first, most[1], show_share(&f->loader, most[1]));
	else if (!strcmp(most[0], "reap"))
		buf_addf(out, "read threads spent %.1f%% of their time waiting for completions; ",
			 first);
	else
		buf_addf(out, "read threads spent %.1f%% of their time waiting in %s(); ", first,
			 most[0]);
	verdict_say(out, f, "host CPU {ml.host.cpu_percent}, ");
	append_wakeups(out, f);
}

static void storage_try(struct buf *out, const struct verdict_findings *f)
{
	double au;
	uint64_t enough = verdict_enough(f->result, &au);
	double target = verdict_target_au(f->result);
	double percent = ceil(verdict_cache_share(f, target) * 100);

	if (percent <= 100) {
		buf_addf(out,
			 "--cache_size=%.0f%% : a tier of %.0f%% would reach %g%% AU (estimate)",
			 percent, percent, target);
		return;
	}
	if (append_more_threads(out, f, "is it bandwidth, or too few reads in flight"))
		return;
	if (enough > 0 && enough < f->job->accelerators)
		buf_addf(out, "--accelerators=%" PRIu64 " : does storage keep up with fewer?",
			 enough);
}

/* ---- storage limits the run, but AU leaves out the waiting ---- */

static bool hidden_holds(const struct verdict_findings *f)
{
	return !lacks_storage(f) && verdict_is_hidden(f->result);
}

static void hidden_headline(struct buf *out, const struct verdict_findings *f)
{
	const struct ml_result *ml = f->ml;
	char who[SHOW_ACCELERATORS_BYTES], asked[UNITS_TEXT_BYTES], got[UNITS_TEXT_BYTES];
	double supply = verdict_supply_percent(f->result) / 100;

	buf_addf(out, "%s ask%s for %s; %s delivers %s to read threads that are never idle",
		 show_accelerators(who, ml->accelerators, ml->accelerator),
		 ml->accelerators == 1 ? "s" : "",
		 show_rate(asked, &f->unit, ml->demand_bytes_per_sec),
		 verdict_is_model(f->job) ? "the modelled storage" : "storage",
		 show_rate(got, &f->unit, supply * ml->demand_bytes_per_sec));
}

/* Does steps= make the run short, although its epochs are long enough? */
static bool is_cut_short(const struct verdict_findings *f)
{
	const struct job *j = f->job;
	const struct dataset *ds = f->result->dataset;

	return j->steps && ds &&
	       dataset_samples(ds) / j->batch_size / j->accelerators >= verdict_min_steps(j);
}

static void hidden_because(struct buf *out, const struct verdict_findings *f)
{
	buf_addf(out,
		 "%s short: most of %s is read before its first step, which AU leaves out; "
		 "including this step, stall is %.1f%% of accelerator time; read threads spent "
		 "%.1f%% of their time in I/O calls",
		 is_cut_short(f) ? "the run is" : "epochs are",
		 is_cut_short(f) ? "it" : "each epoch", show_share(&f->time, "stall"), io_share(f));
}

static void hidden_try(struct buf *out, const struct verdict_findings *f)
{
	const struct job *j = f->job;
	const struct dataset *ds = f->result->dataset;
	uint64_t steps = verdict_min_steps(j);
	double samples = (double)steps * (double)j->batch_size * (double)j->accelerators;

	if (is_cut_short(f))
		buf_addf(out, "--steps=%" PRIu64 " : long enough for AU to show it", steps);
	else if (ds && !dataset_makes_files(ds, j))
		buf_addf(out,
			 "a directory with %.0f files or more has epochs long enough for AU to "
			 "show it",
			 ceil(samples / (double)ds->samples_per_file));
	else if (ds)
		buf_addf(out, "--num_files=%.0f%s : epochs long enough for AU to show it",
			 ceil(samples / (double)ds->samples_per_file),
			 j->scale < 100 ? " --scale=100%" : "");
}

static bool unclear_holds(const struct verdict_findings *f)
{
	(void)f;
	return true;
}

static void unclear_headline(struct buf *out, const struct verdict_findings *f)
{
	if (lacks_storage(f)) {
		verdict_say(out, f,
			    "ioengine=null uses no storage, and CPU {ml.host.cpu_percent} shows no "
			    "limit");
		return;
	}
	buf_addf(out, "read threads in I/O calls %.1f%%", io_share(f));
	verdict_say(out, f, ", CPU {ml.host.cpu_percent}: neither shows the limit");
}

static void unclear_because(struct buf *out, const struct verdict_findings *f)
{
	if (isnan(f->ml->demand_bytes_per_sec))
		buf_add(out, "compute_time=0 asks for no particular throughput; ");
	else
		buf_addf(out, "stall is %.1f%% of accelerator time; ",
			 show_share(&f->time, "stall"));
	buf_addf(out, "read threads are idle %.1f%% of their time, ",
		 show_share(&f->loader, "idle"));
	append_wakeups(out, f);
}

static void unclear_try(struct buf *out, const struct verdict_findings *f)
{
	if (lacks_storage(f))
		buf_add(out, "--ioengine=psync : the same with storage");
	else if (!f->ml->ceiling.is_tried && !verdict_is_model(f->job))
		buf_add(out, "--ceiling : what this host could do at best");
	else
		append_more_threads(out, f, "is less time lost with more reads in flight");
}

/* Tried in this order; the last verdict always holds. */
static const struct verdict verdicts[] = {
	{ "errors", verdict_errors_holds, verdict_errors_headline, verdict_errors_because,
	  verdict_errors_try },
	{ "memory", memory_holds, memory_headline, memory_because, memory_try },
	{ "network", verdict_network_is_full, verdict_network_headline, network_because,
	  network_try },
	{ "host", host_holds, host_headline, host_because, host_try },
	{ "unclear", disputed_holds, disputed_headline, disputed_because, disputed_try },
	{ "storage", hidden_holds, hidden_headline, hidden_because, hidden_try },
	{ "compute", keeps_up, compute_headline, compute_because, compute_try },
	{ "cache", cache_holds, cache_headline, cache_because, cache_try },
	{ "storage", storage_holds, storage_headline, storage_because, storage_try },
	{ "unclear", unclear_holds, unclear_headline, unclear_because, unclear_try },
	{ 0 },
};

void train_verdict(const struct run_result *run, struct job_result *j)
{
	struct verdict_findings f = { .run = run, .result = j, .job = j->job, .ml = &j->ml };

	if (j->ml.steps == 0)
		return;
	show_accelerator_time(&j->ml.time_percent, &f.time);
	show_loader_time(&j->ml.loader_percent, &f.loader);
	f.unit = show_report_unit(&j->ml);
	verdict_ceiling(&f.ceiling, j->job, &j->ml);
	verdict_choose(&j->verdict, verdicts, &f);
}
