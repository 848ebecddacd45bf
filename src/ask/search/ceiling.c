/* SPDX-License-Identifier: Apache-2.0 */
/* ceiling.c - what this host alone could deliver: the job without storage. */
#include "ask/search/search_internal.h"

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
#include "io/pagecache.h"
#include "report/text/text.h"

/* ---- files for it ---- */

/* What to read into memory at most, of what is free there. */
#define MEMORY_PART 4
#define WARM_BATCHES 4
#define WARM_BYTES (256.0 * 1024 * 1024) /* beyond the caches of a CPU */
#define CHUNK_BYTES ((size_t)1 << 20)

#define MOST_LOOKS 256 /* at files, whether they are still there */

/* 1: to its end; 0: the time is over; -errno. */
static int read_through(int fd, char *chunk, const struct clock *clock, uint64_t deadline_ns,
			uint64_t *bytes)
{
	ssize_t n;

	/* The whole of it at once: a slow storage answers requests side by side faster than one
	 * after the other. What fails costs only time. */
	posix_fadvise(fd, 0, 0, POSIX_FADV_WILLNEED);
	while ((n = read(fd, chunk, CHUNK_BYTES)) != 0) {
		if (n < 0 && errno != EINTR)
			return -errno;
		if (signals_taken())
			return -EINTR;
		if (clock_now(clock) >= deadline_ns)
			return 0;
		*bytes += n > 0 ? (uint64_t)n : 0;
	}
	return 1;
}

static int warm_file(const struct dataset *ds, uint64_t file, char *chunk,
		     const struct clock *clock, uint64_t deadline_ns, uint64_t *bytes,
		     struct mlgen_err *err)
{
	char path[PATH_MAX];
	int n = dataset_path(ds, file, path, sizeof(path));

	if (n < 0)
		return mlgen_fail(err, n, "%s: %s", ds->directory, strerror(-n));
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return mlgen_fail(err, -errno, "%s: %s", path, strerror(errno));
	int rc = read_through(fd, chunk, clock, deadline_ns, bytes);
	close(fd);
	if (rc < 0 && rc != -EINTR)
		return mlgen_fail(err, rc, "%s: %s", path, strerror(-rc));
	return rc;
}

/* Bytes that may be read into memory for it: a quarter of what is free. */
static uint64_t ceiling_memory(const struct host *host)
{
	uint64_t available = host->memory_bytes;
	uint64_t free_bytes;

	if (sysfile_keyed(&free_bytes, "", "/proc/meminfo", "MemAvailable") == 0 &&
	    free_bytes < available)
		available = free_bytes;
	return available / MEMORY_PART;
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

/* Percent of these, or of the first 256, that the page cache holds now; NaN = it cannot be asked.
 * Not by the storage's counter: others use that, too. */
static double ceiling_kept_percent(const struct dataset *ds, const struct ceiling_warm *w)
{
	uint64_t resident = 0, all = 0;
	char path[PATH_MAX];

	for (uint64_t i = 0; i < w->files && i < MOST_LOOKS; i++) {
		uint64_t here, size;

		if (dataset_path(ds, i, path, sizeof(path)) < 0 ||
		    pagecache_resident(path, &here, &size) < 0)
			return (double)NAN;
		resident += here;
		all += size;
	}
	return all ? 100 * (double)resident / (double)all : (double)NAN;
}

/* ---- the question ---- */

/* A ceiling that was asked for: FEW_STEPS counted steps, within these limits. */
#define ASKED_LEAST 3.0
#define ASKED_MOST 30.0
/* One that comes by itself: never longer than the run was by this part. */
#define BRIEF_STEPS 5
#define BRIEF_LEAST 1.0
#define BRIEF_MOST 3.0
#define BRIEF_PART 0.2
/* Of each run, before anything counts: a loader's first batches come at once. */
#define RAMP_PART 0.25

/* Less than this of the files still in memory, and it was no run from memory. */
#define CACHED_PERCENT 90.0

/* Longer than any run: no epoch to evaluate after. */
#define NEVER_EPOCHS "1000000000"

/* One training and its ceilings. */
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

/* Pages stay charged to whoever read them: under a limit of memory, files that are to come from
 * memory would be there beside it. What follows from the limit stays as it was. */
static void add_no_limit(struct probe_args *args, const struct measure *m)
{
	const struct job *job = m->job;

	if (!job->memory_limit)
		return;
	probe_args_add(args, "--%s.memory_limit=0", job->name);
	if (!(job->dataset_ratio > 0))
		return;
	probe_args_add(args, "--%s.dataset_ratio=0", job->name);
	probe_args_add(args, "--%s.num_files=%" PRIu64, job->name, m->result->dataset->files);
}

/* The same job for so long, and nothing else that it does. */
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
	add_no_limit(args, m);
}

static void add_cached(struct probe_args *args, const struct measure *m, uint64_t files)
{
	if (m->job->direct)
		probe_args_add(args, "--%s.direct=0", m->job->name);
	probe_args_add(args, "--%s.distinct_files=%" PRIu64, m->job->name, files);
}

/* ---- one probe ---- */

/* The first thing that is missing is what people want to know. */
__attribute__((format(printf, 2, 3))) static void cannot(struct ceiling_result *to, const char *fmt,
							 ...)
{
	va_list ap;

	if (to->unmeasured[0])
		return;
	va_start(ap, fmt);
	vsnprintf(to->unmeasured, sizeof(to->unmeasured), fmt, ap);
	va_end(ap);
}

static const struct job_result *trained(const struct probe *p, const char *name)
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
	bool is_memory, has_own_cache; /* as in storage_result */
};

/* False: nothing was measured. */
static bool take_figures(struct figures *f, const struct job_result *j)
{
	const struct ml_result *ml = &j->ml;

	f->au_percent = ml->au_percent;
	f->samples_per_sec = verdict_steady_rate(j->job, ml);
	f->seconds = j->wall_seconds;
	f->is_memory = j->storage.is_memory;
	f->has_own_cache = j->storage.has_own_cache;
	return !isnan(f->samples_per_sec);
}

/* 1 with figures, 0 without, -EINTR. */
static int probe_figures(struct figures *f, const struct measure *m, const struct probe_args *args,
			 const char *what)
{
	struct mlgen_err err = { 0 };
	struct probe p;
	int rc = probe_run(&p, m->a, args, &err);
	const struct job_result *j = rc == 0 && !p.interrupted ? trained(&p, m->job->name) : NULL;
	bool has_errors = j && verdict_is_errors(j);
	bool is_measured = j && !has_errors && take_figures(f, j);
	bool was_interrupted = p.interrupted;

	if (!was_interrupted && !is_measured)
		cannot(m->to, "%s: %s", what,
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
	probe_args_take_storage_away(&args, m->a, m->job);
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

static void take_cached(struct measure *m, const struct figures *f, const struct ceiling_warm *w)
{
	double percent = ceiling_kept_percent(m->result->dataset, w);

	if (percent < CACHED_PERCENT && !f->is_memory && !f->has_own_cache) {
		cannot(m->to,
		       "from memory: this host's page cache kept %.1f%% of what had just been read",
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
	add_cached(&args, m, w->files);
	int rc = probe_figures(&f, m, &args, "from memory");
	if (rc > 0)
		take_cached(m, &f, w);
	probe_args_fini(&args);
	return rc < 0 ? rc : 0;
}

static int measure_cached(struct measure *m)
{
	const struct dataset *ds = m->result->dataset;
	struct mlgen_err err = { 0 };
	struct ceiling_warm w;
	double limit = m->is_brief ? m->seconds : ASKED_MOST;

	if (hosts_total(m->a->hosts) > 1) {
		cannot(m->to, "from memory: is measured of one process alone");
		return 0;
	}
	if (verdict_without_storage(m->job)) {
		cannot(m->to, "from memory: ioengine=%s reads no file", m->job->engine->name);
		return 0;
	}
	uint64_t files = ceiling_files(m->result, ceiling_memory(m->a->host));
	uint64_t end_ns = clock_now(m->clock) + (uint64_t)(limit * NS_PER_S);
	int rc = ceiling_warm(&w, ds, files, m->clock, end_ns, &err);
	if (rc == -EINTR)
		return rc;
	if (rc == 0 && w.files > 0)
		return probe_cached(m, &w);
	if (rc < 0)
		cannot(m->to, "from memory: %s", err.text);
	else
		cannot(m->to, "from memory: not one file was read in %.0f s", limit);
	return 0;
}

/* ---- which, and for how long ---- */

static bool is_unclear(const struct job_result *j)
{
	const char *name = j->verdict.name;

	return name && (!strcmp(name, "host") || !strcmp(name, "unclear"));
}

/* NULL: it has one. */
static const char *why_none(const struct job_result *j)
{
	if (!job_result_has_accelerators(j))
		return "only a training has one";
	if (j->members > 1)
		return "jobs that are reported as one have none; group_reporting=0";
	if (verdict_without_storage(j->job) && !verdict_is_model(j->job))
		return "its own result is it: nothing was read";
	if (j->ml.steps == 0 || !j->dataset || j->err.code || j->interrupted)
		return "the run did not come to its end";
	return NULL;
}

static double seconds_briefly(const struct job_result *j, double compute)
{
	const struct ml_result *ml = &j->ml;
	double seconds = fmin(j->wall_seconds * BRIEF_PART, BRIEF_MOST);
	bool is_long_enough =
		seconds >= BRIEF_LEAST && seconds * (1 - RAMP_PART) >= BRIEF_STEPS * compute;

	return is_unclear(j) && !ml->too_short && is_long_enough && !verdict_without_storage(j->job)
		       ? seconds
		       : 0;
}

double ceiling_seconds(const struct job_result *j, bool only_unclear)
{
	if (why_none(j))
		return 0;
	double compute = dist_mean(&j->job->compute_time) / NS_PER_S;
	if (only_unclear)
		return seconds_briefly(j, compute);
	double seconds = (FEW_STEPS + 1) * compute / (1 - RAMP_PART);
	return fmin(fmax(seconds, ASKED_LEAST), ASKED_MOST);
}

uint64_t ceiling_jobs_beside(const struct run_result *r, const struct job_result *j)
{
	const struct job *last = NULL;
	uint64_t n = 0;

	for (size_t i = 0; i < r->job_count; i++) {
		const struct job_result *other = &r->jobs[i];

		/* Workers of a plain job have records behind each other. */
		n += other->group == j->group && other->job != j->job && other->job != last &&
		     job_result_ran(other);
		last = other->job;
	}
	return n;
}

static void ceiling_announce(const struct job_result *j, double seconds, bool is_brief)
{
	const char *what = "measuring what this host could reach without storage";

	if (is_brief)
		log_plain("mlgen: %s: %s, up to %.0f s more: the verdict is %s (--ceiling=no "
			  "leaves it out)",
			  j->job->name, what, ceil(3 * seconds), j->verdict.name);
	else
		log_plain("mlgen: %s: %s, about %.0f s more", j->job->name, what,
			  ceil(2 * seconds));
}

static int measure_job(const struct ask *a, const struct run_result *r, struct job_result *j,
		       double seconds, bool is_brief)
{
	struct clock *clock = clock_new_real();
	struct measure m = { .a = a,
			     .result = j,
			     .job = j->job,
			     .to = &j->ml.ceiling,
			     .clock = clock,
			     .seconds = seconds,
			     .is_brief = is_brief };

	ceiling_announce(j, seconds, is_brief);
	jobset_keep(a->set);
	ceiling_result_init(m.to);
	m.to->jobs_beside = ceiling_jobs_beside(r, j);
	m.to->is_tried = true;
	int rc = measure_null(&m);
	if (rc == 0)
		rc = measure_cached(&m);
	if (rc == -EINTR)
		cannot(m.to, "interrupted");
	clock_free(clock);
	return rc;
}

/* Asked for, and there is none: once, whatever there is of it. */
static void note_others(const struct run_result *r)
{
	const struct job *last = NULL;

	for (size_t i = 0; i < r->job_count; i++) {
		const struct job_result *j = &r->jobs[i];

		if (j->job != last && why_none(j))
			log_note("ceiling: %s: %s", j->job->name, why_none(j));
		last = j->job;
	}
}

int ceiling_measure(const struct ask *a, struct run_result *r, bool only_unclear,
		    struct mlgen_err *err)
{
	int rc = 0;
	bool is_off = a->set->settings.ceiling == CEILING_OFF;

	if (is_off || r->interrupted || r->err.code)
		return 0;
	verdict_fill(r);
	if (!only_unclear)
		note_others(r);
	for (size_t i = 0; rc == 0 && i < r->job_count; i++) {
		double seconds = ceiling_seconds(&r->jobs[i], only_unclear);

		if (seconds > 0)
			rc = measure_job(a, r, &r->jobs[i], seconds, only_unclear);
	}
	verdict_fill(r);
	return rc < 0 ? mlgen_fail(err, rc, "ceiling: interrupted") : 0;
}
