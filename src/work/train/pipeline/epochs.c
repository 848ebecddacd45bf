/* SPDX-License-Identifier: Apache-2.0 */
/* epochs.c - the records of epochs, and the check that each epoch has read the whole dataset. */
#include "work/train/pipeline/pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "hosts/hosts.h"
#include "stat/hist.h"

static double ratio(double a, double b)
{
	return b > 0 ? a / b : (double)NAN;
}

enum { V1_0, V2_0, V3_0, WINDOWS };

/* Sums of an epoch over the ranks that have added their accounts. */
struct epoch_record {
	uint64_t ranks; /* number of accounts added */
	uint64_t samples, failed_samples, sample_bytes, extents, id_sum;
	uint64_t whole_ranks;
	uint64_t wall_ns; /* slowest rank */
	uint64_t first_step_sum_ns;
	uint64_t stall_count;
	double stall_sum_ns, stall_p99_ns;
	double au_sum; /* over the ranks with an AU */
	uint64_t au_ranks;
	double published_au_sum;
	double published_samples_per_sec[WINDOWS];
};

/* The stall histogram of an epoch that is still open. */
struct open_hist {
	bool is_open;
	uint64_t epoch;
	struct hist *stall;
};

struct epochs {
	pthread_mutex_t lock;
	uint64_t ranks, batch;
	double nominal_sample_bytes;
	const struct sampler *sampler;
	uint64_t total; /* number of epochs that at least one rank has added */
	struct epoch_record record[EPOCHS_KEPT];
	struct epoch_record later; /* an open epoch after EPOCHS_KEPT */
	uint64_t later_epoch;
	struct open_hist open[EPOCHS_OPEN];
	uint64_t failed_samples;
	struct moments au, rate[WINDOWS];
	/* Number of ranks of all processes, once the published figures of the records include them;
	 * 0 = the figures are those of this process. */
	uint64_t joined_ranks;
};

struct epochs *epochs_new(uint64_t ranks, uint64_t batch, double nominal_sample_bytes,
			  const struct sampler *sampler)
{
	struct epochs *e = mem_zalloc(sizeof(*e));

	pthread_mutex_init(&e->lock, NULL);
	e->ranks = ranks;
	e->batch = batch;
	e->nominal_sample_bytes = nominal_sample_bytes;
	e->sampler = sampler;
	for (unsigned i = 0; i < EPOCHS_OPEN; i++)
		e->open[i].stall = hist_new();
	return e;
}

void epochs_free(struct epochs *e)
{
	if (!e)
		return;
	for (unsigned i = 0; i < EPOCHS_OPEN; i++)
		hist_free(e->open[i].stall);
	pthread_mutex_destroy(&e->lock);
	mem_free(e);
}

/* After EPOCHS_KEPT a single record serves each epoch in turn. It does not add up accounts of ranks
 * that are more than an epoch apart. */
static struct epoch_record *epochs_record_of(struct epochs *e, uint64_t epoch)
{
	if (epoch < EPOCHS_KEPT)
		return &e->record[epoch];
	if (epoch != e->later_epoch) {
		e->later = (struct epoch_record){ 0 };
		e->later_epoch = epoch;
	}
	return &e->later;
}

/*
 * The published windows (DLIO utils/statscounter.py; one excluded step at the start, none at the
 * end). AU = measured compute of the steps after the first over the epoch less the first step's
 * wait and compute. Samples per second: v1.0 counts every step over the whole epoch; v2.0 n - 2
 * steps over the window, one short; v3.0 n - 1 steps.
 */
static void add_published(struct epoch_record *r, const struct epoch_account *a, uint64_t batch)
{
	if (a->steps < 2 || a->wall_ns <= a->first_wait_compute_ns)
		return;
	double window = (double)(a->wall_ns - a->first_wait_compute_ns) / 1e9;
	double b = (double)batch, n = (double)a->steps;
	r->published_au_sum += 100 * ((double)a->measured_compute_ns / 1e9) / window;
	r->published_samples_per_sec[V1_0] += b * n / ((double)a->wall_ns / 1e9);
	r->published_samples_per_sec[V2_0] += b * (n - 2) / window;
	r->published_samples_per_sec[V3_0] += b * (n - 1) / window;
}

/* Add an epoch's published AU and rates to the statistics over epochs. */
static void add_published_moments(struct epochs *e, const struct epoch_record *r, uint64_t ranks)
{
	if (r->published_au_sum > 0)
		moments_add(&e->au, r->published_au_sum / (double)ranks);
	for (unsigned i = 0; i < WINDOWS; i++)
		if (r->published_samples_per_sec[V1_0] > 0)
			moments_add(&e->rate[i], r->published_samples_per_sec[i]);
}

/* Sums of an epoch over the ranks of one process or of all: for the check of its ids, and for the
 * published windows. */
struct delivered {
	uint64_t extents, id_sum, whole_ranks;
	uint64_t ranks, failed_samples;
	double published_au_sum, published_samples_per_sec[WINDOWS];
};

static struct delivered delivered_of(const struct epoch_record *r)
{
	struct delivered d = { .extents = r->extents,
			       .id_sum = r->id_sum,
			       .whole_ranks = r->whole_ranks,
			       .ranks = r->ranks,
			       .failed_samples = r->failed_samples,
			       .published_au_sum = r->published_au_sum };

	for (unsigned i = 0; i < WINDOWS; i++)
		d.published_samples_per_sec[i] = r->published_samples_per_sec[i];
	return d;
}

/* Was every extent read exactly once? Ids 0 .. n-1 add up to n (n - 1) / 2 mod 2^64. */
static int check_whole(const struct epochs *e, const struct delivered *r, uint64_t epoch,
		       struct mlgen_err *err)
{
	uint64_t n = e->sampler->extents;
	uint64_t sum = n % 2 ? n * ((n - 1) / 2) : (n / 2) * (n - 1);

	if (!e->sampler->is_whole || r->whole_ranks != e->sampler->ranks || epoch >= EPOCHS_KEPT)
		return 0;
	if (r->extents == n && r->id_sum == sum)
		return 0;
	return mlgen_fail(err, -EILSEQ,
			  "epoch %" PRIu64 " delivered %" PRIu64 " extents with id sum %" PRIu64
			  ", the dataset has %" PRIu64 " with %" PRIu64
			  ": samples were lost or duplicated (a bug in mlgen)",
			  epoch + 1, r->extents, r->id_sum, n, sum);
}

int epochs_add(struct epochs *e, const struct epoch_account *a, struct mlgen_err *err)
{
	int rc = 0;

	pthread_mutex_lock(&e->lock);
	struct epoch_record *r = epochs_record_of(e, a->epoch);
	r->ranks++;
	r->samples += a->samples;
	r->failed_samples += a->failed_samples;
	e->failed_samples += a->failed_samples;
	r->sample_bytes += a->sample_bytes;
	r->extents += a->extents;
	r->id_sum += a->id_sum;
	r->whole_ranks += a->is_whole;
	if (a->wall_ns > r->wall_ns)
		r->wall_ns = a->wall_ns;
	r->first_step_sum_ns += a->first_step_ns;
	r->stall_count += a->stall->count;
	r->stall_sum_ns += (double)a->stall->sum_ns;
	if (a->counted_compute_ns) {
		r->au_sum += 100 * (double)a->counted_compute_ns / (double)a->counted_wall_ns;
		r->au_ranks++;
	}
	add_published(r, a, e->batch);

	/* If another epoch still uses the histogram of stalls, this epoch has no p99. */
	struct open_hist *o = &e->open[a->epoch % EPOCHS_OPEN];
	if (!o->is_open) {
		hist_reset(o->stall);
		o->is_open = true;
		o->epoch = a->epoch;
	}
	bool has_hist = o->epoch == a->epoch;
	if (has_hist)
		hist_merge(o->stall, a->stall);

	if (a->epoch + 1 > e->total)
		e->total = a->epoch + 1;
	if (r->ranks == e->ranks) {
		r->stall_p99_ns = has_hist ? (double)hist_percentile(o->stall, 99) : (double)NAN;
		if (has_hist)
			o->is_open = false;
		add_published_moments(e, r, e->ranks);

		/* If the job has other processes, their ranks are missing here, and epochs_check
		 * checks the epoch instead. */
		const struct delivered d = delivered_of(r);

		rc = check_whole(e, &d, a->epoch, err);
	}
	pthread_mutex_unlock(&e->lock);
	return rc;
}

/* Sum an epoch over all processes that ran part of it. */
static struct delivered sum_of(const struct buf *all, unsigned total, uint64_t epoch)
{
	struct delivered sum = { 0 }, d;

	for (unsigned rank = 0; rank < total; rank++) {
		size_t n;
		const char *part = hosts_part(all, rank, &n);

		if (!part || n < (epoch + 1) * sizeof(d))
			continue;
		memcpy(&d, part + epoch * sizeof(d), sizeof(d));
		sum.extents += d.extents;
		sum.id_sum += d.id_sum;
		sum.whole_ranks += d.whole_ranks;
		sum.ranks += d.ranks;
		sum.failed_samples += d.failed_samples;
		sum.published_au_sum += d.published_au_sum;
		for (unsigned i = 0; i < WINDOWS; i++)
			sum.published_samples_per_sec[i] += d.published_samples_per_sec[i];
	}
	return sum;
}

static int check_all(struct epochs *e, const struct buf *all, unsigned total, struct mlgen_err *err)
{
	uint64_t n = u64_min(e->total, EPOCHS_KEPT);
	int rc = 0;

	e->joined_ranks = e->sampler->ranks;
	e->au = (struct moments){ 0 };
	memset(e->rate, 0, sizeof(e->rate));
	for (uint64_t i = 0; i < n && rc == 0; i++) {
		struct delivered sum = sum_of(all, total, i);
		struct epoch_record *r = &e->record[i];
		bool is_whole = sum.ranks == e->joined_ranks;

		/* Replace the published figures of a record by those of all processes. */
		e->failed_samples += sum.failed_samples - r->failed_samples;
		r->published_au_sum = is_whole ? sum.published_au_sum : 0;
		for (unsigned w = 0; w < WINDOWS; w++)
			r->published_samples_per_sec[w] =
				is_whole ? sum.published_samples_per_sec[w] : 0;
		add_published_moments(e, r, e->joined_ranks);
		rc = check_whole(e, &sum, i, err);
	}
	return rc;
}

int epochs_check(struct epochs *e, struct hosts *hosts, struct mlgen_err *err)
{
	uint64_t n = e ? u64_min(e->total, EPOCHS_KEPT) : 0;
	struct delivered *mine = mem_array(n, sizeof(*mine));
	struct buf all = { 0 };

	for (uint64_t i = 0; i < n; i++)
		mine[i] = delivered_of(&e->record[i]);
	int rc = hosts_gather(hosts, mine, n * sizeof(*mine), &all, err);
	if (rc == 0 && e && hosts_rank(hosts) == 0)
		rc = check_all(e, &all, hosts_total(hosts), err);
	buf_fini(&all);
	mem_free(mine);
	return hosts_agree(hosts, rc, err);
}

static void epoch_result(const struct epochs *e, const struct epoch_record *r, uint64_t epoch,
			 struct epoch_result *out)
{
	double seconds = (double)r->wall_ns / 1e9;
	double stalls = (double)r->stall_count;

	*out = (struct epoch_result){
		.epoch = epoch + 1,
		.samples = r->samples,
		.failed_samples = r->failed_samples,
		.sample_bytes = r->sample_bytes,
		.seconds = seconds,
		.samples_per_sec = ratio((double)r->samples, seconds),
		.sample_bytes_per_sec = ratio((double)r->sample_bytes, seconds),
		.au_percent = ratio(r->au_sum, (double)r->au_ranks),
		.stall_count = r->stall_count,
		.stall_mean_ns = ratio(r->stall_sum_ns, stalls),
		.stall_p99_ns = r->ranks == e->ranks ? r->stall_p99_ns : (double)NAN,
		.first_step_ns = ratio((double)r->first_step_sum_ns, (double)r->ranks),
	};
}

static void window_result(const struct epochs *e, unsigned which, struct mlperf_window *out)
{
	/* Published MB/s is samples/s times the nominal record over 2^20. */
	double mb = e->nominal_sample_bytes / 1048576;
	/* The published figures count steps, including samples that failed. */
	const struct moments none = { 0 };
	const struct moments *au = e->failed_samples ? &none : &e->au;
	const struct moments *rate = e->failed_samples ? &none : &e->rate[which];

	*out = (struct mlperf_window){
		.train_au_mean_percentage = moments_mean(au),
		.train_au_stdev_percentage = moments_stdev(au),
		.train_throughput_mean_samples_per_second = moments_mean(rate),
		.train_throughput_stdev_samples_per_second = moments_stdev(rate),
		.train_io_mean_MB_per_second = moments_mean(rate) * mb,
		.train_io_stdev_MB_per_second = moments_stdev(rate) * mb,
	};
}

void epochs_result(const struct epochs *e, struct ml_result *ml)
{
	uint64_t n = u64_min(e->total, EPOCHS_KEPT);
	struct epoch_result *list = mem_array(n, sizeof(*list));
	uint64_t filled = 0;

	for (uint64_t i = 0; i < n; i++) {
		const struct epoch_record *r = &e->record[i];

		if (r->samples + r->failed_samples > 0) /* an epoch within ramp_time has none */
			epoch_result(e, r, i, &list[filled++]);
	}
	ml->epochs = (struct metric_list){ list, filled };
	ml->epochs_total = e->total;

	/* The epochs that the published means include; see add_published_moments. */
	struct mlperf_epoch *published = mem_array(n, sizeof(*published));
	size_t count = 0;
	for (uint64_t i = 0; i < n && !e->failed_samples; i++) {
		const struct epoch_record *r = &e->record[i];
		const double *rate = r->published_samples_per_sec;

		if (r->ranks == e->ranks && rate[V1_0] > 0)
			published[count++] = (struct mlperf_epoch){
				r->published_au_sum /
					(double)(e->joined_ranks ? e->joined_ranks : e->ranks),
				rate[V1_0], rate[V2_0], rate[V3_0]
			};
	}
	ml->mlperf_epochs = (struct metric_list){ published, count };

	window_result(e, V1_0, &ml->mlperf.v1_0);
	window_result(e, V2_0, &ml->mlperf.v2_0);
	window_result(e, V3_0, &ml->mlperf.v3_0);
}
