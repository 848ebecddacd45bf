/* SPDX-License-Identifier: Apache-2.0 */
/* train_text.c - the text report of a training job: its first line, and the parts in order. */
#include "work/train/train_internal.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/util.h"
#include "data/file/file.h"
#include "job/job.h"
#include "report/text/text.h"
#include "work/checkpoint/checkpoint.h"

/* ---- settings ---- */

static void append_job(struct buf *text, const struct text_block *b)
{
	static const char *const barriers[] = {
		[BARRIER_NONE] = "no barrier",
		[BARRIER_STEP] = "barrier after every step",
		[BARRIER_EPOCH] = "barrier after every epoch",
	};
	const struct job *job = b->job;
	char who[SHOW_ACCELERATORS_BYTES], time[UNITS_TEXT_BYTES];
	struct buf guesses = { 0 };

	show_accelerators(who, b->ml->accelerators, b->ml->accelerator);
	buf_addf(text, "%s, batch %" PRIu64 ", ", who, job->batch_size);
	if (!(dist_mean(&job->compute_time) > 0)) {
		buf_add(text, "no compute");
	} else if (dist_is_const(&job->compute_time)) {
		units_human_time(time, (uint64_t)job->compute_time.a);
		buf_addf(text, "compute %s per step", time);
	} else {
		buf_add(text, "compute ");
		dist_format(text, &job->compute_time, DIST_NS);
		buf_add(text, " per step");
	}
	buf_addf(text, ", %s", barriers[job->barrier]);
	guess_text(job, &guesses);
	if (guesses.len)
		buf_addf(text, "; %s", buf_str(&guesses));
	buf_fini(&guesses);
	if (b->result->members > 1)
		buf_addf(text, "; %u jobs together", b->result->members);
}

static void append_threads(struct buf *text, const struct text_block *b)
{
	const struct job *job = b->job;
	const struct format *format = b->result->dataset ? b->result->dataset->format : NULL;
	const char *reader = format && format->reader ? format->reader : "its framework";

	if (job->read_threads)
		text_say(text, b, "{readers} read thread{s} ({readers_each} per accelerator)");
	else
		buf_add(text, "each accelerator's own thread");
	text_say(text, b, ", ioengine={ioengine}[ ({ml.in_use})], {direct=}");
	buf_addf(text, ", iodepth=%u", job_depth(job));
	if (job->direct)
		text_say(text, b, "[ (aligned to {read_align_bytes})]");
	if (job->access == ACCESS_PLAIN)
		text_say(text, b, ", {bs.read} reads");
	else if (job->access == ACCESS_RECORDED)
		text_say(text, b, ", reads as recorded in {recorded_calls}");
	else
		buf_addf(text, ", reads as %s does", job->direct ? "DLIO" : reader);
	/* Name the order of shards: resolve.c may have chosen it, not the user. */
	if (job->dataset == DATASET_SCAN && job->loader == LOADER_TFDATA) {
		buf_add(text, ", each file from front to back (loader=tfdata, shuffle=");
		job_option_text(job, "shuffle", text);
		buf_addc(text, ')');
	}
}

static void append_dataset(struct buf *text, const struct text_block *b)
{
	const struct dataset *ds = b->result->dataset;
	const struct dataset_totals *t = &b->result->totals;
	char number[UNITS_TEXT_BYTES];

	if (!ds)
		return;
	buf_addf(text, "%s %s file%s of ", units_human_count(number, ds->files), ds->format->name,
		 plural(ds->files));

	/* "146.6 MB (mean)", or "2 MiB" if all files have the same round size. */
	char size[UNITS_TEXT_BYTES];
	bool varies = t->stdev_file_bytes > 0;
	if (!varies && fmod(t->mean_file_bytes, 1024) <= 0)
		units_human_bytes(size, t->mean_file_bytes);
	else
		units_human_mb(size, t->mean_file_bytes);
	buf_addf(text, "%s%s", size, varies ? " (mean)" : "");

	if (ds->uneven_samples)
		buf_addf(text, ", %s samples", units_human_count(number, ds->uneven_samples));
	else if (ds->samples_per_file > 1)
		buf_addf(text, ", %s samples each",
			 units_human_count(number, ds->samples_per_file));
	if (t->label_files > 0)
		buf_addf(text, ", %s with a label file",
			 units_human_count(number, (uint64_t)t->label_files));
	buf_addf(text, ", %s", units_human_bytes(number, (double)t->bytes));
	if (t->estimate)
		buf_add(text, " (estimate)");
	text_memory_ratio(text, b, (double)t->bytes);
}

const struct text_line train_settings[] = {
	{ NULL, text_title },          { "job", append_job },
	{ "threads", append_threads }, { "dataset", append_dataset },
	{ "storage", text_storage },   { "host", text_machine },
	{ NULL, text_command },        { 0 },
};

/* ---- caches ---- */

/* Number of epochs whose hit ratio is printed: the first ones, and the last. */
#define EPOCHS_NAMED 4

/* Format 0.2 as "20.0%", and NaN as "unknown". */
static const char *show_ratio(char *out, double ratio)
{
	return show_percent(out, ratio * 100);
}

static const struct cache_epoch *epoch_at(const struct cache_result *c, size_t i)
{
	return (const struct cache_epoch *)c->epochs.items + i;
}

static bool is_divided(const struct cache_result *c)
{
	return c->parts > 1 && c->parts != UINT64_MAX;
}

/* Append "epoch 1 (cold) 0.0%, 2 19.9%, ... 9 20.1%". */
static void append_epochs(struct buf *text, const struct cache_result *c)
{
	size_t n = c->epochs.count;
	char ratio[UNITS_TEXT_BYTES];

	for (size_t i = 0; i < n; i++) {
		const struct cache_epoch *e = epoch_at(c, i);
		bool is_left_out = i >= EPOCHS_NAMED - 1 && i + 1 < n;

		if (is_left_out && i > EPOCHS_NAMED - 1)
			continue;
		buf_add(text, i ? ", " : "; epoch ");
		if (is_left_out)
			buf_add(text, "...");
		else
			buf_addf(text, "%" PRIu64 "%s %s", e->epoch, e->is_cold ? " (cold)" : "",
				 show_ratio(ratio, e->counts.hit_ratio));
	}
}

static void append_cache(struct buf *text, const struct text_block *b)
{
	const struct cache_result *c = b->cache;
	char ratio[UNITS_TEXT_BYTES], n[UNITS_TEXT_BYTES];

	if (!c->policy)
		return;
	buf_addf(text, "%s ", c->policy);
	if (has_text(c->directory))
		buf_addf(text, "in %s, ", c->directory);
	else
		buf_addf(text, "%s, ",
			 has_text(c->place) && !strcmp(c->place, "played") ? "simulated only"
									   : "in memory");
	if (c->caches > 1)
		buf_addf(text, "%" PRIu64 " x ", c->caches);
	if (c->size_bytes == UINT64_MAX)
		buf_addf(text, "%s samples", units_human_count(n, c->size_samples));
	else
		buf_add(text, units_human_bytes(n, (double)c->size_bytes));
	if (c->size_bytes != UINT64_MAX && c->data_bytes && c->data_bytes != UINT64_MAX)
		buf_addf(text, " (%s of the dataset)",
			 show_ratio(n, (double)c->size_bytes / (double)c->data_bytes));
	if (is_divided(c))
		buf_addf(text, ", divided among %" PRIu64 " processes", c->parts);
	if (isnan(c->hit_ratio))
		buf_addf(text, ": hit ratio %s, of one epoch", show_ratio(ratio, c->all.hit_ratio));
	else
		buf_addf(text, ": hit ratio %s from epoch 2 on", show_ratio(ratio, c->hit_ratio));
	if (c->epochs.count > 1)
		append_epochs(text, c);
}

/* Append the counts of the cache; zeros are left out. */
static void append_counts(struct buf *text, const struct text_block *b)
{
	if (!b->cache->policy)
		return;
	text_say(text, b, "{cache.hits} hits, {cache.misses} misses");
	text_say(text, b, "[, {cache.substitutions} substituted]");
	text_say(text, b, "[, {cache.late_hits} late hits]");
	text_say(text, b,
		 "[; {cache.fills} fills][, {cache.dropped_fills} dropped][, {cache.evictions} "
		 "evictions]");
	text_say(text, b, "[; {cache.prefetches} fetched ahead]");
	text_say(text, b, "[; {cache.kept_units} kept from an earlier run]");
	text_say(text, b, "[; {cache.warm_units} filled before the run]");
	text_say(text, b, "[; {cache.verified} hits checked]");
	text_say(text, b, "[, {cache.wrong} of them WRONG]");
}

static void append_bytes(struct buf *text, const struct text_block *b)
{
	if (!b->cache->policy)
		return;
	text_say(text, b,
		 "{cache.cache_bytes} from the tier, {cache.storage_bytes} from storage[, "
		 "{cache.peer_bytes} from other processes]; {cache.used_bytes} held at the end");
	if (b->cache->is_full)
		buf_add(text, "; its directory is full, and the tier has stopped growing");
}

/* Append the latency of hits in the parts of the cache that other processes hold. */
static void append_peers(struct buf *text, const struct text_block *b)
{
	const struct cache_result *c = b->cache;
	char n[UNITS_TEXT_BYTES];

	if (!c->policy || !is_divided(c) || !c->peer_ns)
		return;
	text_say(text, b, "{cache.peer_hits} hits in the parts of other processes");
	if (c->peer_ns->count)
		buf_addf(text, ", of %s ms each (mean)", units_human_ms(n, hist_mean(c->peer_ns)));
	if (c->hit_ns && c->hit_ns->count)
		buf_addf(text, ", own hits %s ms", units_human_ms(n, hist_mean(c->hit_ns)));
	text_say(text, b, "[; {cache.sent_bytes} of misses sent to the processes that keep them]");
}

/* Append figures of the order of the last epoch. */
static void append_order(struct buf *text, const struct text_block *b)
{
	const struct cache_result *c = b->cache;
	char ratio[UNITS_TEXT_BYTES];

	if (!c->policy || c->epochs.count == 0)
		return;
	const struct cache_counts *last = &epoch_at(c, c->epochs.count - 1)->counts;
	buf_addf(text, "sequential %s", show_ratio(ratio, last->sequential_ratio));
	if (!isnan(last->rank_correlation))
		buf_addf(text, ", correlation with the previous epoch %.2f",
			 last->rank_correlation);
	if (!isnan(last->multiplicity))
		buf_addf(text, ", each sample %.2f times per epoch", last->multiplicity);
	if (c->draw_seconds > 0)
		buf_addf(text, "; drawn in %s s", show_seconds(ratio, c->draw_seconds));
}

static const struct text_line cache_lines[] = {
	{ "cache", append_cache },       { "cache samples", append_counts },
	{ "cache bytes", append_bytes }, { "cache peers", append_peers },
	{ "order", append_order },       { 0 },
};

/* Append the evidence lines of a cache tier, if there is one. */
static void append_cache_lines(struct buf *out, const struct text_block *b)
{
	if (b->cache->policy)
		text_append_list(out, cache_lines, TEXT_EVIDENCE_INDENT, b);
}

/* ---- evidence: where time and bytes went ---- */

static void append_read_sizes(struct buf *text, const struct text_block *b)
{
	const struct direction_result *r = &b->result->read;
	const struct storage_result *s = b->storage;
	const char *type = has_text(s->filesystem) ? s->filesystem : "";
	const char *server = !strncmp(type, "nfs", 3)  ? "NFS server"
			     : !strcmp(type, "lustre") ? "Lustre servers"
						       : NULL;
	bool is_plain = b->job->access == ACCESS_PLAIN;
	char called[UNITS_TEXT_BYTES], mean[UNITS_TEXT_BYTES];

	if (r->total_ios == 0)
		return;
	units_human_bytes(called, (double)b->job->bs.read);
	units_human_bytes(mean, (double)r->io_bytes / (double)r->total_ios);
	if (is_plain && !strcmp(called, mean))
		buf_addf(text, "%s per call (bs)", called);
	else if (is_plain)
		buf_addf(text, "up to %s per call (bs), %s mean", called, mean);
	else if (b->job->direct && b->job->access == ACCESS_FRAMEWORK)
		buf_addf(text, "whole files per call, %s mean", mean);
	else {
		show_sizes(text, &r->sizes); /* a merged result has none */
		buf_addf(text, "%s%s mean", text->len ? " per call, " : "", mean);
	}
	/* The mean size of the requests that a network filesystem sent to its server. */
	if (server && s->device_reads != UINT64_MAX && s->device_reads > 0)
		buf_addf(text, "; %s mean at the %s",
			 units_human_bytes(mean,
					   (double)s->device_read_bytes / (double)s->device_reads),
			 server);
}

static void append_ceiling_figure(struct buf *text, bool is_rate, double au, double rate)
{
	char number[UNITS_TEXT_BYTES];
	double figure = is_rate ? rate : au;

	if (isnan(figure))
		buf_add(text, "unknown");
	else if (is_rate)
		buf_addf(text, "%s samples/s", units_sig4(number, rate));
	else
		buf_addf(text, "%.1f%% AU", au);
}

/* Append the ceiling: the result of this host when storage costs nothing. */
static void append_ceiling(struct buf *text, const struct text_block *b)
{
	const struct ceiling_result *c = &b->ml->ceiling;
	bool is_rate = isnan(b->ml->au_percent);

	if (!c->is_tried)
		return;
	append_ceiling_figure(text, is_rate, c->null_au_percent, c->null_samples_per_sec);
	buf_add(text, " without storage");
	if (!verdict_without_storage(b->job)) {
		buf_add(text, ", ");
		append_ceiling_figure(text, is_rate, c->cached_au_percent,
				      c->cached_samples_per_sec);
		buf_add(text, " from memory");
	}
	if (c->cached_seconds > 0) {
		text_say(text, b,
			 " ({ml.ceiling.cached_files} file{s}, {ml.ceiling.cached_bytes}, "
			 "repeatedly");
		buf_add(text, b->job->direct ? ", direct=0)" : ")");
	}
	text_say(text, b,
		 "[; without the {ml.ceiling.jobs_beside} other job{s} of its group][; "
		 "{ml.ceiling.unmeasured}]");
}

static uint64_t epoch_samples(const struct epoch_result *e)
{
	return e->samples + e->failed_samples;
}

/* Spread of the throughput of epochs from the second on, without a last epoch that was cut short.
 * False if fewer than two such epochs remain. */
static bool epochs_differ(const struct ml_result *ml, double *percent, uint64_t *last)
{
	const struct epoch_result *e = ml->epochs.items;
	size_t n = ml->epochs.count;

	if (n >= 2 && epoch_samples(&e[n - 1]) != epoch_samples(&e[n - 2]))
		n--;
	if (n < 3)
		return false;
	double least = e[1].sample_bytes_per_sec, most = least;
	for (size_t i = 2; i < n; i++) {
		least = fmin(least, e[i].sample_bytes_per_sec);
		most = fmax(most, e[i].sample_bytes_per_sec);
	}
	*percent = least > 0 ? (most - least) / least * 100 : (double)NAN;
	*last = e[n - 1].epoch;
	return !isnan(*percent);
}

static void append_steady(struct buf *text, const struct text_block *b)
{
	double percent;
	uint64_t last;
	char number[UNITS_TEXT_BYTES];

	if (epochs_differ(b->ml, &percent, &last))
		buf_addf(text, "epochs 2-%" PRIu64 " differ by %s", last,
			 show_percent(number, percent));
	else
		buf_add(text, "unknown (needs 3 whole epochs)");
	if (b->result->errors > 0)
		text_say(text, b, "; {ml.errors} error{s} counted, the run went on");
	else if (b->result->err.code != 0)
		buf_add(text, "; stopped by an error");
	else
		buf_add(text, "; no errors");
	text_say(text, b, "[, {read.short_ios} short reads resumed]");
}

/* Appends nothing for a job without an evaluation. */
static void append_evaluation(struct buf *text, const struct text_block *b)
{
	char rate[UNITS_TEXT_BYTES];

	if (b->job->eval_files == 0)
		return;
	text_say(text, b,
		 "{ml.eval.steps} step{s}, {ml.eval.samples} samples, {ml.eval.samples_per_sec} "
		 "samples/s, ");
	buf_add(text, show_rate(rate, &b->unit, b->ml->eval.sample_bytes_per_sec));
}

static void append_accelerator_time(struct buf *out, const struct text_block *b)
{
	text_shares(out, "accelerator time", &b->time);
}

static void append_read_thread_time(struct buf *out, const struct text_block *b)
{
	text_shares(out, "read thread time", &b->loader);
}

const struct text_line train_evidence[] = {
	{ NULL, append_accelerator_time },   { NULL, append_read_thread_time },
	{ "read sizes", append_read_sizes }, { "window", text_window },
	{ "from memory", text_from_memory }, { "host", text_host },
	{ "energy", text_energy },           { "noise", text_noise },
	{ "ceiling", append_ceiling },       { "numa", text_numa },
	{ NULL, append_cache_lines },        { "evaluation", append_evaluation },
	{ NULL, text_saves_evidence },       { "slowest", text_slowest },
	{ "steady", append_steady },         { 0 },
};

/* ---- the report ---- */

/* The report is kept within this many lines. */
#define LINES 52

/* Levels of brevity of the first line, tried in order until it fits: each level drops one more
 * part. A known AU always stays. */
enum { NO_BRACKETS = 1, NO_SAMPLES, NO_COUNT, FEWER_WORDS, FEWEST_WORDS, LENGTHS };

/* Append "63.1% AU (target 90%: missed), "; NO_BRACKETS drops the brackets. */
static void append_au(struct buf *out, const struct text_block *b, unsigned length)
{
	bool brief = length >= NO_BRACKETS;
	const struct ml_result *ml = b->ml;
	uint64_t counted = ml->counted_steps / u64_max(ml->accelerators, 1);

	if (isnan(ml->demand_bytes_per_sec) && isnan(ml->au_percent))
		return;
	if (isnan(ml->au_percent) && b->result->failed.is_too_many) {
		buf_add(out, "no AU, ");
		return;
	}
	/* An AU below its target would still be below it if first steps were included. */
	if (job_result_au_misleads(b->result) && (isnan(ml->target_au_percent) || ml->target_met)) {
		buf_addf(out, "%.1f%% busy", job_result_busy_percent(b->result));
		if (length < NO_BRACKETS)
			buf_addf(out, " (%.1f%% AU means nothing at %" PRIu64 " step%s)",
				 ml->au_percent, counted, counted == 1 ? "" : "s");
		else if (length < FEWEST_WORDS)
			buf_addf(out, " (%.1f%% AU)", ml->au_percent);
		buf_add(out, ", ");
		return;
	}
	if (isnan(ml->au_percent))
		buf_add(out, "AU unknown");
	else
		buf_addf(out, "%.1f%% AU", ml->au_percent);
	if (ml->too_short && brief)
		buf_add(out, length < FEWEST_WORDS ? " (too short)" : "");
	else if (ml->too_short)
		buf_addf(out, " (too short: %" PRIu64 " counted step%s)", counted,
			 counted == 1 ? "" : "s");
	else if (!brief && !isnan(ml->au_percent) && !isnan(ml->target_au_percent) &&
		 !text_early_end(b) && !text_is_memory(b))
		buf_addf(out, " (target %g%%: %s)", ml->target_au_percent,
			 ml->target_met ? "met" : "missed");
	buf_add(out, ", ");
}

/* Append the first line of the report at this level of brevity. */
static void append_answer(struct buf *out, const struct text_block *b, unsigned length)
{
	const struct ml_result *ml = b->ml;
	const char *end = text_early_end(b);
	char rate[UNITS_TEXT_BYTES], samples[UNITS_TEXT_BYTES];

	buf_addf(out, "%s: ", b->job->name);
	text_errors(out, b);
	if (ml->steps == 0) {
		buf_addf(out, "no step was finished%s%s%s\n", end ? " (" : "", end ? end : "",
			 end ? ")" : "");
		return;
	}
	bool is_short = length >= NO_SAMPLES;
	if (!is_short || !isnan(ml->au_percent))
		append_au(out, b, length);
	buf_add(out, show_rate(rate, &b->unit, ml->sample_bytes_per_sec));
	if (!is_short || isnan(ml->au_percent))
		buf_addf(out, ", %s samples/s", units_sig4(samples, ml->samples_per_sec));
	if (end && length < NO_COUNT)
		buf_addf(out, " (%s after %" PRIu64 " step%s)", end, ml->steps,
			 ml->steps == 1 ? "" : "s");
	else if (end)
		buf_addf(out, " (%s)", end);
	text_allowed_errors(out, b);

	/* Append why parts of the result do not measure storage: checkpoints without fsync, or a
	 * filesystem in memory. */
	unsigned fewest = text_is_memory(b) ? 3 : 2;
	unsigned brevity = length >= FEWEST_WORDS ? fewest : length >= FEWER_WORDS ? 1 : 0;
	struct buf text = { 0 };
	if (text_not_durable(&text, b->job, &b->ml->saves, brevity))
		buf_addf(out, "; %s", buf_str(&text));
	buf_fini(&text);
	if (text_is_memory(b))
		buf_add(out, "      MEMORY, NOT STORAGE");

	buf_addc(out, '\n');
}

/* Append the first line at the first level of brevity that fits, or wrapped if none fits. */
static void train_answer(struct buf *out, const struct text_block *b)
{
	for (unsigned length = 0; length < LENGTHS; length++) {
		buf_reset(out);
		append_answer(out, b, length);
		if (out->len <= wrap_columns() + 1)
			return;
	}
	text_wrap_answer(out);
}

enum { ANSWER, SETTINGS, EPOCHS, LATENCY, SAVES, EVIDENCE, PARTS };

/* The parts of the report while it is composed. */
struct report_parts {
	struct buf text[PARTS];
	bool is_tight; /* no blank line between the two latency tables */
};

/* Is there a blank line before this part? */
static bool is_apart(const struct report_parts *p, unsigned part)
{
	return part > 0 && p->text[part].len > 0 && !(p->is_tight && part == SAVES);
}

/* Includes the blank line before the epochs, which are not composed yet. */
static unsigned count_lines(const struct report_parts *p)
{
	unsigned lines = 1;

	for (unsigned i = 0; i < PARTS; i++)
		lines += text_lines(&p->text[i]) + is_apart(p, i);
	return lines;
}

void train_text(FILE *to, const struct run_result *run, const struct job_result *r, size_t n,
		enum detail detail)
{
	struct text_block all;
	const struct text_block *b = &all;
	struct report_parts p = { .is_tight = false };

	(void)n;
	text_block_init(&all, run, r, detail);
	all.unit = show_report_unit(&r->ml);
	show_accelerator_time(&r->ml.time_percent, &all.time);
	show_loader_time(&r->ml.loader_percent, &all.loader);
	for (unsigned i = 0; i < PARTS; i++)
		buf_init(&p.text[i]);
	train_answer(&p.text[ANSWER], b);
	if (detail > DETAIL_FIRST)
		text_fio_lines(&p.text[ANSWER], b);
	if (detail >= DETAIL_BRIEF)
		text_verdict(&p.text[ANSWER], b);
	if (detail > DETAIL_BRIEF) {
		text_append_list(&p.text[SETTINGS], train_settings, TEXT_SETTING_INDENT, b);
		if (b->ml->steps > 0)
			text_append_list(&p.text[EVIDENCE], train_evidence, TEXT_EVIDENCE_INDENT,
					 b);
		text_latency(&p.text[LATENCY], b->result, &b->job->percentile_list);
		text_saves_latency(&p.text[SAVES], b, false);
		if (p.text[SAVES].len > 0 && count_lines(&p) + TEXT_EPOCHS_LEAST > LINES) {
			p.is_tight = true;
			buf_reset(&p.text[SAVES]);
			text_saves_latency(&p.text[SAVES], b, true);
		}
		unsigned lines = count_lines(&p);
		text_epochs(&p.text[EPOCHS], b->result, &b->unit,
			    lines < LINES ? LINES - lines : 0);
	}
	for (unsigned i = 0; i < PARTS; i++) {
		if (is_apart(&p, i))
			fputc('\n', to);
		text_print(to, &p.text[i]);
		buf_fini(&p.text[i]);
	}
}

void prepare_text(FILE *to, const struct run_result *run, const struct job_result *r, size_t n,
		  enum detail detail)
{
	struct text_block all;
	const struct text_block *b = &all;
	const struct prepare_result *p = &r->prepare;
	struct buf out, text;

	(void)n;
	text_block_init(&all, run, r, detail);
	buf_init(&out);
	buf_init(&text);

	double seconds = (double)p->wall_ns / NS_PER_S;
	double rate = seconds > 0 ? (double)p->bytes_written / seconds : (double)NAN;
	struct rate_unit unit = show_rate_unit(rate);
	char number[UNITS_TEXT_BYTES];

	buf_addf(&out, "%s: ", b->job->name);
	if (p->files_written == 0)
		text_say(&out, b, "nothing written, {prepare.files_kept} files exist");
	else
		text_say(&out, b,
			 "{prepare.files_written} file{s}, {prepare.bytes_written} written in "
			 "{prepare.wall_ns}");
	if (p->files_written > 0 && seconds > 0) {
		buf_addf(&out, ", %s", show_rate(number, &unit, rate));
		buf_addf(&out, ", %s files/s",
			 units_sig4(number, (double)p->files_written / seconds));
	}
	if (b->result->err.code != 0)
		buf_add(&out, " (stopped by an error)");
	else if (p->interrupted)
		buf_add(&out, " (interrupted)");
	buf_addc(&out, '\n');

	if (detail > DETAIL_BRIEF) {
		text_say(&text, b, "{prepare.resident_percent}");
		if (b->storage->is_memory)
			buf_add(&text, ": this filesystem keeps files in memory");
		else if (p->files_written > 0 && p->resident_percent <= 1)
			buf_add(&text, ": each file was synced and dropped from the page cache");
		text_append(&out, "  in memory now", TEXT_ANSWER_INDENT, buf_str(&text));
	}
	if (detail > DETAIL_BRIEF && p->files_kept > 0 && p->files_written > 0)
		text_say(&out, b,
			 "  {prepare.files_kept} complete files already existed and were kept\n");
	if (detail > DETAIL_FIRST && (p->interrupted || b->result->err.code != 0))
		buf_add(&out, "  the dataset is incomplete; the next run continues where this run "
			      "ended\n");
	text_print(to, &out);
	buf_fini(&text);
	buf_fini(&out);
}
