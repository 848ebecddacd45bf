/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling.c - what this host alone could deliver: the job without storage. */
#include "ask/search/search_internal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/util.h"
#include "io/host.h"
#include "report/text/text.h"

/* ---- files to read from memory ---- */

/* Files fill at most this fraction of the available memory: a quarter. */
#define MEMORY_DIVISOR 4
#define WARM_BATCHES 4
#define WARM_BYTES (256.0 * 1024 * 1024) /* more than the caches of a CPU hold */
#define CHUNK_BYTES ((size_t)1 << 20)

#define RESIDENT_SAMPLES 256 /* files whose page cache is checked */

/* Read a file into memory. 1 = to its end, 0 = up to the deadline, or -errno with err. */
static int warm_file(const struct dataset *ds, uint64_t file, char *chunk,
		     const struct clock *clock, uint64_t deadline_ns, uint64_t *bytes,
		     struct mlgen_err *err)
{
	char path[PATH_MAX];
	int rc = dataset_path(ds, file, path, sizeof(path));
	ssize_t n;

	if (rc < 0)
		return mlgen_fail(err, rc, "%s: %s", ds->directory, strerror(-rc));
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return mlgen_fail(err, -errno, "%s: %s", path, strerror(errno));
	/* Slow storage answers parallel requests faster than sequential ones, so the whole file is
	 * requested at once. A failure costs only time. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
	rc = 1;
	while (rc == 1 && (n = read(fd, chunk, CHUNK_BYTES)) != 0) {
		if (n < 0 && errno != EINTR)
			rc = mlgen_fail(err, -errno, "%s: %s", path, strerror(errno));
		else if (signals_received())
			rc = -EINTR;
		else if (clock_now(clock) >= deadline_ns)
			rc = 0;
		else
			*bytes += n > 0 ? (uint64_t)n : 0;
	}
	close(fd);
	return rc;
}

uint64_t ceiling_files(const struct job_result *j, uint64_t most_bytes)
{
	const struct dataset *ds = j->dataset;
	const struct job *job = j->job;
	double mean = fmax(j->totals.mean_file_bytes, 1);
	double batches = (double)WARM_BATCHES * (double)job->accelerators * (double)job->batch_size;
	double files = fmax(ceil(batches / (double)ds->samples_per_file), ceil(WARM_BYTES / mean));

	files = fmin(files, floor((double)most_bytes / mean));
	files = fmin(files, (double)ds->files);
	if (job->distinct_files)
		files = fmin(files, (double)job->distinct_files);
	return files < 1 ? 1 : (uint64_t)files;
}

int ceiling_warm(struct ceiling_warm *w, const struct dataset *ds, uint64_t files,
		 const struct clock *clock, uint64_t deadline_ns, struct mlgen_err *err)
{
	char *chunk = mem_array(CHUNK_BYTES, 1);
	int rc = 1;

	*w = (struct ceiling_warm){ 0 };
	while (rc > 0 && w->files < files) {
		uint64_t bytes = 0;

		for (unsigned part = 0; rc > 0 && part < ds->parts; part++) {
			uint64_t file = part * ds->files + w->files;

			if (dataset_has_file(ds, file))
				rc = warm_file(ds, file, chunk, clock, deadline_ns, &bytes, err);
		}
		if (rc > 0) {
			w->files++;
			w->bytes += bytes;
		}
	}
	mem_free(chunk);
	return rc < 0 ? rc : 0;
}

/* Percentage of the first RESIDENT_SAMPLES warm files that is in the page cache now; NaN = unknown.
 * Counters of the storage would not do, because other programs change them, too. */
static double ceiling_resident_percent(const struct dataset *ds, const struct ceiling_warm *w)
{
	uint64_t resident = 0, all = 0;
	char path[PATH_MAX];

	for (uint64_t i = 0; i < w->files && i < RESIDENT_SAMPLES; i++) {
		uint64_t here, size;

		if (dataset_path(ds, i, path, sizeof(path)) < 0 ||
		    pagecache_resident(path, &here, &size) < 0)
			return (double)NAN;
		resident += here;
		all += size;
	}
	return all ? 100 * (double)resident / (double)all : (double)NAN;
}

/* ---- one training and its ceilings ---- */

/* Least and most seconds of a run for --ceiling, which should last for FEW_STEPS counted steps. */
#define EXPLICIT_LEAST 3.0
#define EXPLICIT_MOST 30.0
/* Least and most seconds of a run for a ceiling that is measured automatically. It must be brief:
 * at most BRIEF_PART of the time of the measured run. */
#define BRIEF_STEPS 5
#define BRIEF_LEAST 1.0
#define BRIEF_MOST 3.0
#define BRIEF_PART 0.2
/* Part of each run that is not measured, because the first batches of all read threads arrive
 * together. */
#define RAMP_PART 0.25

/* The run from memory is valid if at least this percentage of the files is still in memory after
 * it. */
#define CACHED_PERCENT 90.0

/* Longer than any run, so that there is no evaluation. */
#define NEVER_EPOCHS "1000000000"

struct measure {
	const struct ask *a;
	const struct job_result *result;
	const struct job *job;
	struct ceiling_result *to;
	const struct clock *clock;
	double seconds;
	bool is_brief;
};

/* ---- the command line of a probe ---- */

/* Run the same job for m->seconds, without its evaluations, checkpoints, delays and limits. */
static void add_common(struct probe_args *args, const struct measure *m)
{
	const struct job *job = m->job;
	const char *name = job->name;
	double ramp_ms = m->seconds * RAMP_PART * 1e3;
	double run_ms = m->seconds * 1e3 - ramp_ms;

	probe_args_add(args, "--section=%s", name);
	probe_args_add(args, "--%s.time_based=1", name);
	probe_args_add(args, "--%s.ramp_time=%.0fms", name, ramp_ms);
	probe_args_add(args, "--%s.runtime=%.0fms", name, run_ms);
	probe_args_add(args, "--%s.steps=0", name);
	probe_args_add(args, "--%s.startdelay=0", name);
	probe_args_add(args, "--%s.invalidate=0", name);
	if (job->drop_caches != DROP_CACHES_NO)
		probe_args_add(args, "--%s.drop_caches=no", name);
	if (job->checkpoint_every)
		probe_args_add(args, "--%s.checkpoint_every=0", name);
	if (job->eval_files) {
		probe_args_add(args, "--%s.eval_after=" NEVER_EPOCHS, name);
		probe_args_add(args, "--%s.eval_every=" NEVER_EPOCHS, name);
	}
	/*
	 * Pages stay charged to the cgroup that read them first, so the files in memory would not
	 * count against the job's memory limit. Drop the limit, but keep the size of a dataset that
	 * depends on it.
	 */
	if (job->memory_limit) {
		probe_args_add(args, "--%s.memory_limit=0", name);
		if (job->dataset_ratio > 0) {
			probe_args_add(args, "--%s.dataset_ratio=0", name);
			probe_args_add(args, "--%s.num_files=%" PRIu64, name,
				       m->result->dataset->files);
		}
	}
}

/* ---- one probe ---- */

/* Store only the first reason, which is the cause of later ones. */
__attribute__((format(printf, 2, 3))) static void set_unmeasured(struct ceiling_result *to,
								 const char *fmt, ...)
{
	va_list ap;

	if (to->unmeasured[0])
		return;
	va_start(ap, fmt);
	vsnprintf(to->unmeasured, sizeof(to->unmeasured), fmt, ap);
	va_end(ap);
}

static const struct job_result *find_training(const struct probe *p, const char *name)
{
	const struct run_result *r = p->result;

	for (size_t i = 0; r && i < r->job_count; i++)
		if (job_result_has_accelerators(&r->jobs[i]) &&
		    strcmp(r->jobs[i].job->name, name) == 0)
			return &r->jobs[i];
	return NULL;
}

struct figures {
	double au_percent, samples_per_sec, seconds;
	bool is_memory, has_own_cache; /* see storage_result */
};

/* Run a probe and store its figures. 1 = there are figures, 0 = there are none, or -EINTR. */
static int probe_figures(struct figures *f, const struct measure *m, const struct probe_args *args,
			 const char *what)
{
	struct mlgen_err err = { 0 };
	struct probe p;
	int rc = probe_run(&p, m->a, args, &err);
	const struct job_result *j =
		rc == 0 && !p.interrupted ? find_training(&p, m->job->name) : NULL;
	bool has_errors = j && verdict_is_errors(j);
	bool is_measured = false;
	bool was_interrupted = p.interrupted;

	if (j && !has_errors) {
		*f = (struct figures){ .au_percent = j->ml.au_percent,
				       .samples_per_sec = verdict_steady_rate(j->job, &j->ml),
				       .seconds = j->wall_seconds,
				       .is_memory = j->storage.is_memory,
				       .has_own_cache = j->storage.has_own_cache };
		is_measured = !isnan(f->samples_per_sec);
	}

	if (!was_interrupted && !is_measured)
		set_unmeasured(m->to, "%s: %s", what,
			       rc < 0       ? err.text
			       : has_errors ? "too many samples failed"
					    : "no step was counted in that time");
	probe_fini(&p);
	return was_interrupted ? -EINTR : is_measured;
}

static int measure_null(struct measure *m)
{
	struct probe_args args = { 0 };
	struct figures f;

	add_common(&args, m);
	probe_args_without_storage(&args, m->a, m->job);
	int rc = probe_figures(&f, m, &args, "without storage");
	if (rc > 0) {
		m->to->null_au_percent = f.au_percent;
		m->to->null_samples_per_sec = f.samples_per_sec;
		m->to->null_seconds = f.seconds;
	}
	probe_args_fini(&args);
	return rc < 0 ? rc : 0;
}

/* ---- from memory ---- */

static void store_cached(struct measure *m, const struct figures *f, const struct ceiling_warm *w)
{
	double percent = ceiling_resident_percent(m->result->dataset, w);

	if (percent < CACHED_PERCENT && !f->is_memory && !f->has_own_cache) {
		set_unmeasured(m->to,
			       "from memory: this host's page cache kept only %.1f%% of "
			       "the bytes read just before",
			       percent);
		return;
	}
	m->to->cached_au_percent = f->au_percent;
	m->to->cached_samples_per_sec = f->samples_per_sec;
	m->to->cached_seconds = f->seconds;
	m->to->cached_files = w->files;
	m->to->cached_bytes = w->bytes;
}

static int probe_cached(struct measure *m, const struct ceiling_warm *w)
{
	struct probe_args args = { 0 };
	struct figures f;

	add_common(&args, m);
	if (m->job->direct)
		probe_args_add(&args, "--%s.direct=0", m->job->name);
	probe_args_add(&args, "--%s.distinct_files=%" PRIu64, m->job->name, w->files);
	int rc = probe_figures(&f, m, &args, "from memory");
	if (rc > 0)
		store_cached(m, &f, w);
	probe_args_fini(&args);
	return rc < 0 ? rc : 0;
}

static int measure_cached(struct measure *m)
{
	const struct dataset *ds = m->result->dataset;
	struct mlgen_err err = { 0 };
	struct ceiling_warm w;
	double limit = m->is_brief ? m->seconds : EXPLICIT_MOST;

	if (hosts_total(m->a->hosts) > 1) {
		set_unmeasured(m->to, "from memory: is measured only for a single process");
		return 0;
	}
	if (verdict_without_storage(m->job)) {
		set_unmeasured(m->to, "from memory: ioengine=%s reads no file",
			       m->job->engine->name);
		return 0;
	}

	/* Bytes of files that may be read into memory. */
	uint64_t available = m->a->host->memory_bytes;
	uint64_t free_bytes;

	if (sysfile_keyed(&free_bytes, "", "/proc/meminfo", "MemAvailable") == 0 &&
	    free_bytes < available)
		available = free_bytes;
	uint64_t files = ceiling_files(m->result, available / MEMORY_DIVISOR);
	uint64_t end_ns = clock_now(m->clock) + (uint64_t)(limit * NS_PER_S);
	int rc = ceiling_warm(&w, ds, files, m->clock, end_ns, &err);
	if (rc == -EINTR)
		return rc;
	if (rc == 0 && w.files > 0)
		return probe_cached(m, &w);
	if (rc < 0)
		set_unmeasured(m->to, "from memory: %s", err.text);
	else
		set_unmeasured(m->to, "from memory: no file was read completely in %.0f s", limit);
	return 0;
}

/* ---- selection and length ---- */

/* The reason that a job has no ceiling; NULL = it has one. */
static const char *why_no_ceiling(const struct job_result *j)
{
	if (!job_result_has_accelerators(j))
		return "only a training has a ceiling";
	if (j->members > 1)
		return "jobs reported together have no ceiling; set group_reporting=0";
	if (verdict_without_storage(j->job) && !verdict_is_model(j->job))
		return "the result is already the ceiling: nothing was read";
	if (j->ml.steps == 0 || !j->dataset || j->err.code || j->interrupted)
		return "the run did not complete";
	return NULL;
}

double ceiling_seconds(const struct job_result *j, bool only_unclear)
{
	if (why_no_ceiling(j))
		return 0;
	double compute_seconds = dist_mean(&j->job->compute_time) / NS_PER_S;
	if (only_unclear) {
		const char *name = j->verdict.name;
		double seconds = fmin(j->wall_seconds * BRIEF_PART, BRIEF_MOST);
		bool is_unclear = name && (!strcmp(name, "host") || !strcmp(name, "unclear"));
		bool is_long_enough = seconds >= BRIEF_LEAST &&
				      seconds * (1 - RAMP_PART) >= BRIEF_STEPS * compute_seconds;

		return is_unclear && !j->ml.too_short && is_long_enough &&
				       !verdict_without_storage(j->job)
			       ? seconds
			       : 0;
	}
	double seconds = (FEW_STEPS + 1) * compute_seconds / (1 - RAMP_PART);
	return fmin(fmax(seconds, EXPLICIT_LEAST), EXPLICIT_MOST);
}

uint64_t ceiling_concurrent_jobs(const struct run_result *r, const struct job_result *j)
{
	const struct job *last = NULL;
	uint64_t n = 0;

	for (size_t i = 0; i < r->job_count; i++) {
		const struct job_result *other = &r->jobs[i];

		/* The workers of a plain job have adjacent records. */
		n += other->group == j->group && other->job != j->job && other->job != last &&
		     job_result_ran(other);
		last = other->job;
	}
	return n;
}

static int measure_job(const struct ask *a, const struct run_result *r, struct job_result *j,
		       double seconds, bool is_brief)
{
	const char *what = "measuring what this host could reach without storage";
	struct clock *clock = clock_new_real();
	struct measure m = { .a = a,
			     .result = j,
			     .job = j->job,
			     .to = &j->ml.ceiling,
			     .clock = clock,
			     .seconds = seconds,
			     .is_brief = is_brief };

	if (is_brief)
		log_plain("mlgen: %s: %s, up to %.0f s more: the verdict is %s (--ceiling=no "
			  "skips this)",
			  j->job->name, what, ceil(3 * seconds), j->verdict.name);
	else
		log_plain("mlgen: %s: %s, about %.0f s more", j->job->name, what,
			  ceil(2 * seconds));
	jobset_reuse_scans(a->set);
	ceiling_result_init(m.to);
	m.to->jobs_beside = ceiling_concurrent_jobs(r, j);
	m.to->is_tried = true;
	int rc = measure_null(&m);
	if (rc == 0)
		rc = measure_cached(&m);
	if (rc == -EINTR)
		set_unmeasured(m.to, "interrupted");
	clock_free(clock);
	return rc;
}

int ceiling_measure(const struct ask *a, struct run_result *r, bool only_unclear,
		    struct mlgen_err *err)
{
	const struct job *last = NULL;
	int rc = 0;

	if (a->set->settings.ceiling == CEILING_OFF || r->interrupted || r->err.code)
		return 0;
	verdict_fill(r);
	for (size_t i = 0; !only_unclear && i < r->job_count; i++) {
		const struct job_result *j = &r->jobs[i];

		if (j->job != last && why_no_ceiling(j))
			log_note("ceiling: %s: %s", j->job->name, why_no_ceiling(j));
		last = j->job;
	}
	for (size_t i = 0; rc == 0 && i < r->job_count; i++) {
		assert(r->jobs[i].job);
		double seconds = ceiling_seconds(&r->jobs[i], only_unclear);

		if (seconds > 0)
			rc = measure_job(a, r, &r->jobs[i], seconds, only_unclear);
	}
	verdict_fill(r);
	return rc < 0 ? mlgen_fail(err, rc, "ceiling: interrupted") : 0;
}
