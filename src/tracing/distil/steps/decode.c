/* SPDX-License-Identifier: Apache-2.0 */
/* decode.c - find how long a worker processes a sample, and whether it reads into new memory. */
#include "tracing/distil/steps/steps_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "base/vec.h"
#include "trace/model/model.h"

/* Shorter pauses between two samples are not taken for decoding: mlgen has such pauses, too. */
#define DECODE_LEAST_NS 100e3
#define DECODE_PERCENT 2.0
/* If this percentage of visits have the same number of reads, pauses are measured for each read
 * separately. */
#define ALIKE_PERCENT 80
/* Shorter pauses are added to a later read: the kernel wakes a thread late by about this time. */
#define SHARE_LEAST_NS 40e3
/* If the best model is farther off than this percentage, the times are recorded in a file. */
#define RECORDED_PERCENT 10
/* Among fewer first samples, a single delayed sample would decide the result. */
#define FIRSTS_LEAST 2
/* If visits have more reads than this, their number depends on the size of the sample. */
#define READS_MOST 256

/* Pauses between the calls of completely recorded visits. */
struct between {
	double *sample_ns; /* sum of each visit, sorted */
	uint32_t count;
	uint64_t reads;  /* number of reads of most visits; 0 = numbers differ or are too large */
	double *read_ns; /* median pause after each of these reads */
};

static double median(double *at, uint32_t n)
{
	qsort(at, n, sizeof(*at), f64_compare);
	return n ? at[n / 2] : 0;
}

/* A page fault counts as a read of the pages that the kernel maps around it. */
static bool is_read(struct fault_run *run, const struct specimen *x, const struct specimen_call *c)
{
	uint64_t from, bytes;

	if (c->op == TRACE_MMAP || c->op == TRACE_MUNMAP)
		*run = (struct fault_run){ 0 };
	if (c->op == TRACE_FAULT)
		return c->off != TRACE_UNKNOWN &&
		       fault_run_next(run, c->off, x->file_bytes, &from, &bytes);
	return c->op == TRACE_READ && c->result >= 0;
}

static uint64_t reads_of(const struct specimen *x)
{
	struct fault_run run = { 0 };
	uint64_t n = 0;

	for (uint32_t k = 0; k < x->count; k++)
		n += is_read(&run, x, &x->calls[k]);
	return n;
}

/* ---- pauses between reads ---- */

/* Are all calls of the visit recorded, and is it to a file of samples? */
static bool is_whole(const struct pipeline *f, const struct specimen *x)
{
	return f->d->task[x->visit.task].party == f->party && x->count == x->visit.calls &&
	       distil_class(f->d, x->visit.file) == CLASS_SAMPLE;
}

/* Is the visit usual? The first visit of a new worker is not: it may take longer. */
static bool is_usual(const struct pipeline *f, const struct specimen *x)
{
	return is_whole(f, x) && (!f->first_ns || f->first_ns[x->visit.task] != x->visit.start_ns);
}

/* The number of reads that most visits have; 0 = no number is frequent enough. */
static uint64_t usual_reads(const struct pipeline *f, uint32_t whole)
{
	const struct specimens *s = &f->d->specimens;
	double *reads = mem_array(whole + 1, sizeof(*reads)), usual;
	uint32_t n = 0, alike = 0;

	for (uint32_t i = 0; i < s->count; i++)
		if (is_usual(f, &s->at[i]))
			reads[n++] = (double)reads_of(&s->at[i]);
	usual = median(reads, n);
	for (uint32_t i = 0; i < n; i++)
		alike += reads[i] == usual;
	mem_free(reads);
	if (usual > READS_MOST || alike * 100.0 < ALIKE_PERCENT * (double)n)
		return 0;
	return (uint64_t)usual;
}

/* Time since the visit's previous call, including calls on other files, such as those of an
 * import. */
static double pause_before(const struct specimen *x, uint32_t k)
{
	const struct specimen_call *c = &x->calls[k];
	uint64_t end_ns = k ? c[-1].start_ns + c[-1].duration_ns : c->start_ns;

	return c->start_ns > end_ns ? (double)(c->start_ns - end_ns) : 0;
}

/* Time in which the thread made no call at all. */
static double think_before(const struct specimen *x, uint32_t k)
{
	return (double)x->calls[k].think_ns;
}

/* The pause between read `read` (from 1) and the next one. Time before the first read is added to
 * the time after it. */
static double pause_after_read(const struct specimen *x, uint64_t read,
			       double (*before)(const struct specimen *, uint32_t))
{
	struct fault_run run = { 0 };
	uint64_t n = 0;
	double ns = 0;

	for (uint32_t k = 0; k < x->count; k++) {
		if (n == read || (n == 0 && read == 1))
			ns += before(x, k);
		n += is_read(&run, x, &x->calls[k]);
	}
	return ns;
}

/* Sum the pauses of each visit. The time after a visit's last call is not included. */
static void find_between(struct between *b, const struct pipeline *f)
{
	const struct specimens *s = &f->d->specimens;

	b->sample_ns = mem_array(s->count + 1, sizeof(*b->sample_ns));
	for (uint32_t i = 0; i < s->count; i++) {
		const struct specimen *x = &s->at[i];
		double ns = 0;

		if (!is_usual(f, x))
			continue;
		for (uint32_t k = 0; k < x->count; k++)
			ns += (double)x->calls[k].think_ns;
		b->sample_ns[b->count++] = ns;
	}
	qsort(b->sample_ns, b->count, sizeof(*b->sample_ns), f64_compare);

	double *at = mem_array(b->count + 1, sizeof(*at));
	b->reads = usual_reads(f, b->count);
	b->read_ns = mem_array(b->reads + 1, sizeof(*b->read_ns));
	for (uint64_t r = 1; r <= b->reads; r++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < s->count; i++)
			if (is_usual(f, &s->at[i]) && reads_of(&s->at[i]) == b->reads)
				at[n++] = pause_after_read(&s->at[i], r, think_before);
		b->read_ns[r - 1] = median(at, n);
	}
	mem_free(at);
}

static double between_median(const struct between *b)
{
	return b->count ? b->sample_ns[b->count / 2] : 0;
}

/* ---- options ---- */

/* Append the share of each read in percent of `all_ns`, as "10/18:12/44". Shares that are too small
 * are added to a later read. Running sums are rounded, so the shares add up to at most 100. */
static void append_split(struct buf *to, const double *read_ns, uint64_t reads, double all_ns)
{
	double due = 0, sum = 0, appended = 0;
	unsigned n = 0;

	for (uint64_t r = 1; r <= reads; r++) {
		due += read_ns[r - 1];
		sum += read_ns[r - 1];
		double percent = round(100 * sum / all_ns) - appended;
		if (due < SHARE_LEAST_NS || percent < 1 || n == JOB_READ_SHARES_MAX)
			continue;
		buf_addf(to, "%s%" PRIu64 "/%.0f", n++ ? ":" : "", r, percent);
		appended += percent;
		due = 0;
	}
}

static void print_split(struct pipeline *f, const struct between *b, double after_ns)
{
	struct buf text = { 0 };
	double all = after_ns;

	for (uint64_t r = 0; r < b->reads; r++)
		all += b->read_ns[r];
	if (all > 0)
		append_split(&text, b->read_ns, b->reads, all);
	if (*buf_str(&text))
		jobsection_set(f->to, DISTIL_LIKELY, "preprocess_split", buf_str(&text),
			       "medians of the pauses after each read of a sample; most samples "
			       "have %" PRIu64 " reads",
			       b->reads);
	buf_fini(&text);
}

/* Find the median extra pause of first samples after each read. Returns the number of samples. */
static uint32_t find_firsts(const struct pipeline *f, const struct between *b, double *more_ns)
{
	const struct specimens *s = &f->d->specimens;
	double *at = mem_array(s->count + 1, sizeof(*at));
	uint32_t n = 0;

	for (uint64_t r = 1; r <= b->reads; r++) {
		n = 0;
		for (uint32_t i = 0; i < s->count; i++)
			if (is_whole(f, &s->at[i]) && !is_usual(f, &s->at[i]) &&
			    reads_of(&s->at[i]) == b->reads)
				at[n++] = pause_after_read(&s->at[i], r, pause_before);
		more_ns[r - 1] = fmax(median(at, n) - b->read_ns[r - 1], 0);
	}
	mem_free(at);
	return n;
}

static void print_first_split(struct pipeline *f, const struct between *b)
{
	double *more_ns = mem_array(b->reads + 1, sizeof(*more_ns));
	uint32_t n = f->first_ns ? find_firsts(f, b, more_ns) : 0;
	struct buf text = { 0 };
	double sum = 0;

	for (uint64_t r = 0; n && r < b->reads; r++)
		sum += more_ns[r];
	if (n >= FIRSTS_LEAST && sum > 0)
		append_split(&text, more_ns, b->reads, fmax(sum, f->first_more_ns));
	if (*buf_str(&text))
		jobsection_set(f->to, DISTIL_LIKELY, "first_sample_split", buf_str(&text),
			       "additional pauses after the reads of a new worker's first sample; "
			       "medians of %" PRIu32 " first samples",
			       n);
	buf_fini(&text);
	mem_free(more_ns);
}

/* Append the option's value: the model, or a side file of all times if the model is far off. */
static int append_times(struct pipeline *f, struct buf *to, const struct timefit *fit,
			const double *ns, size_t count, struct mlgen_err *err)
{
	struct side_values v = {
		.count = count,
		.unit = DIST_NS,
		.comment = "time that a worker spends on a sample, in addition to its calls"
	};
	uint64_t *values;
	char name[SIDE_FILE_BYTES];

	if (dist_is_const(&fit->dist) || fit->off_percent < RECORDED_PERCENT) {
		dist_format(to, &fit->dist, DIST_NS);
		return 0;
	}
	v.values = values = mem_array(count, sizeof(*values));
	for (size_t i = 0; i < count; i++)
		values[i] = (uint64_t)ns[i];
	int rc = side_file_values(name, f->d->side_folder, f->d->side_name, "preprocess", &v, err);
	if (rc == 0)
		buf_addf(to, "file:%s", name);
	mem_free(values);
	return rc;
}

static int print_reads(struct pipeline *f, const struct between *b, double after_ns,
		       struct mlgen_err *err)
{
	double visits = pipeline_visits(f);
	double *ns = mem_array(b->count + 1, sizeof(*ns));
	struct buf text = { 0 };
	struct timefit fit;

	for (uint32_t i = 0; i < b->count; i++)
		ns[i] = visits * (b->sample_ns[i] + after_ns);
	timefit(&fit, ns, b->count);
	int rc = append_times(f, &text, &fit, ns, b->count, err);
	mem_free(ns);
	if (rc == 0) {
		jobsection_set(
			f->to, DISTIL_LIKELY, "preprocess_time", buf_str(&text),
			"time between the calls of a sample, and between samples of a batch; "
			"median %.4g ms; the nearest model differs by %.3g%% of the mean",
			visits * (between_median(b) + after_ns) / 1e6, fit.off_percent);
		jobsection_set(
			f->to, DISTIL_LIKELY, "preprocess_at", "reads",
			"workers spend most of their CPU time between the reads, not after them");
		if (visits == 1) {
			print_split(f, b, after_ns);
			print_first_split(f, b);
		}
	}
	buf_fini(&text);
	return rc;
}

static void print_whole(struct pipeline *f, double ns, bool burns, bool has_cpu)
{
	struct dist d = timefit_constant(ns);
	struct buf text = { 0 };

	dist_format(&text, &d, DIST_NS);
	if (burns)
		jobsection_set(f->to, DISTIL_LIKELY, "preprocess_time", buf_str(&text),
			       "CPU time of a worker for a sample, during and after its reads");
	else
		jobsection_set(f->to, DISTIL_LIKELY, "preprocess_time", buf_str(&text),
			       "median pause of a worker between two samples of a batch%s",
			       has_cpu ? ", without CPU time" : "");
	buf_fini(&text);
}

/* ---- processing time ---- */

int pipeline_decoding(struct pipeline *f, struct mlgen_err *err)
{
	uint64_t cpu_sum = 0, cpu_visits = 0, call_sum = 0, visits = 0;
	struct between b = { 0 };
	/* tf.data reads and decodes in different threads. */
	double pause = f->best && f->best->batch > 1 && f->loader != LOADER_TFDATA
			       ? fmax(f->best->think_ns, 0)
			       : 0;
	int rc = 0;

	for (uint32_t i = 0; i < f->reads.count; i++) {
		cpu_sum += f->reads.rank[i].cpu_ns;
		cpu_visits += f->reads.rank[i].cpu_visits;
		call_sum += f->reads.rank[i].call_ns;
		visits += f->reads.rank[i].visits;
	}
	/* Means of a sample's visit. The CPU time is without the first samples of new workers; 0 =
	 * unknown. */
	double call_ns = visits ? (double)call_sum / (double)visits : 0;
	double cpu_ns = f->first_ns  ? f->usual_cpu_ns
			: cpu_visits ? (double)cpu_sum / (double)cpu_visits
				     : 0;
	bool burns = cpu_ns >= DECODE_LEAST_NS && cpu_ns >= pause / 2, reads;
	double ns = burns ? cpu_ns : pause;

	find_between(&b, f);
	/* Is most of the CPU time between the calls of a sample, and not after them? */
	reads = burns && f->loader != LOADER_TFDATA && between_median(&b) >= DECODE_LEAST_NS &&
		between_median(&b) >= cpu_ns / 2;
	if (reads)
		ns = between_median(&b) + pause;
	ns *= pipeline_visits(f);
	if (ns >= DECODE_LEAST_NS && ns >= DECODE_PERCENT / 100 * call_ns) {
		if (reads)
			rc = print_reads(f, &b, pause, err);
		else
			print_whole(f, ns, burns, cpu_ns > 0);
		if (burns)
			jobsection_set(f->to, DISTIL_GUESS, "preprocess", "sleep",
				       "as if each worker had its own CPU; burn uses the CPUs of "
				       "this host");
	}
	mem_free(b.sample_ns);
	mem_free(b.read_ns);
	return rc;
}

/* ---- new memory ---- */

/* Allocators do not map smaller blocks anew; glibc does from 128 KiB (M_MMAP_THRESHOLD,
 * mallopt(3)). */
#define LEAST_BYTES UINT64_C(65536)
/* CPU time above which a read does more than copy: a copy from the page cache takes 0.05 to 0.3 ns
 * per byte. */
#define COPY_NS_A_BYTE 1.0
/* The reads count as slow if at least this percentage of the bytes of large reads was slow. */
#define SLOW_PERCENT 60
#define READS_LEAST 20

struct fresh_read {
	uint64_t bytes;
	bool is_slow;
	double cpu_ns;
};

struct fresh_reads {
	struct fresh_read *at;
	size_t count, room;
};

COMPARE_BY(by_bytes, struct fresh_read, bytes)

static void add_reads(struct fresh_reads *r, const struct specimen *x)
{
	for (uint32_t k = 1; k < x->count; k++) {
		const struct specimen_call *c = &x->calls[k];
		/* The time before the call is counted as busy, so this is the least CPU time of the
		 * call. */
		double ns = c->cpu_ns > c->think_ns ? (double)(c->cpu_ns - c->think_ns) : 0;

		if (c->op != TRACE_READ || c->cpu_ns == TRACE_UNKNOWN ||
		    c->result < (int64_t)LEAST_BYTES)
			continue;
		vec_push(r, (struct fresh_read){
				    .bytes = (uint64_t)c->result,
				    .is_slow = ns > COPY_NS_A_BYTE * (double)c->result,
				    .cpu_ns = ns,
			    });
	}
}

/* The index, in reads sorted by size, from which reads are slow. It is the index for which the
 * fewest bytes are in slow reads before it or in fast reads after it. */
static size_t first_slow(const struct fresh_reads *r)
{
	double wrong = 0, least;
	size_t best = 0;

	for (size_t i = 0; i < r->count; i++)
		wrong += r->at[i].is_slow ? 0 : (double)r->at[i].bytes;
	least = wrong;
	for (size_t i = 0; i < r->count; i++) {
		double bytes = (double)r->at[i].bytes;

		wrong += r->at[i].is_slow ? bytes : -bytes;
		if (wrong >= least || (i + 1 < r->count && r->at[i + 1].bytes == r->at[i].bytes))
			continue;
		least = wrong;
		best = i + 1;
	}
	return best;
}

static void print_fresh(struct pipeline *f, const struct fresh_reads *r, size_t first)
{
	double bytes = 0, slow = 0, ns = 0;

	for (size_t i = first; i < r->count; i++) {
		bytes += (double)r->at[i].bytes;
		slow += r->at[i].is_slow ? (double)r->at[i].bytes : 0;
		ns += r->at[i].cpu_ns;
	}
	if (r->count - first < READS_LEAST || slow * 100 < SLOW_PERCENT * bytes)
		return;
	/* The threshold must be fixed, because glibc would raise a dynamic threshold after the
	 * first read. */
	uint64_t least = r->at[first].bytes;
	jobsection_set_u64(f->to, DISTIL_LIKELY, "fresh_memory",
			   least - (least == JOB_MALLOC_MAPS_BYTES),
			   "reads of at least this size use %.1f ns of CPU per byte, more than "
			   "copying needs: the kernel allocates new pages for each read",
			   ns / bytes);
}

void pipeline_fresh(struct pipeline *f)
{
	const struct specimens *s = &f->d->specimens;
	struct fresh_reads r = { 0 };

	for (uint32_t i = 0; i < s->count; i++)
		if (is_whole(f, &s->at[i]))
			add_reads(&r, &s->at[i]);
	if (r.count) {
		qsort(r.at, r.count, sizeof(*r.at), by_bytes);
		print_fresh(f, &r, first_slow(&r));
	}
	mem_free(r.at);
}
