/* SPDX-License-Identifier: Apache-2.0 */
/* train_text_evidence.c - below the tables of a training: where time and bytes went. */
#include "work/train/train_text_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "report/text_evidence.h"
#include "report/text_noise.h"
#include "report/verdict.h"
#include "work/checkpoint/text_checkpoint_parts.h"

/* What the client of a network filesystem made of these reads. */
static void put_sizes_at_server(struct buf *text, const struct storage_result *s)
{
	const char *type = has_text(s->filesystem) ? s->filesystem : "";
	const char *server = !strncmp(type, "nfs", 3)  ? "NFS server"
			     : !strcmp(type, "lustre") ? "Lustre servers"
						       : NULL;
	char mean[UNITS_TEXT_BYTES];

	if (!server || s->device_reads == UINT64_MAX || s->device_reads == 0)
		return;
	buf_addf(text, "; %s mean at the %s",
		 units_human_bytes(mean, (double)s->device_read_bytes / (double)s->device_reads),
		 server);
}

static void put_read_sizes(struct buf *text, const struct text_block *b)
{
	const struct direction_result *r = &b->result->read;
	bool is_plain = b->job->access == ACCESS_PLAIN;
	char called[UNITS_TEXT_BYTES], mean[UNITS_TEXT_BYTES];

	if (r->total_ios == 0)
		return;
	units_human_bytes(called, (double)b->job->bs.read);
	units_human_bytes(mean, (double)r->io_bytes / (double)r->total_ios);
	if (is_plain && !strcmp(called, mean))
		buf_addf(text, "%s as called (bs)", called);
	else if (is_plain)
		buf_addf(text, "up to %s as called (bs), %s mean", called, mean);
	else if (b->job->direct && b->job->access == ACCESS_FRAMEWORK)
		buf_addf(text, "whole files as called, %s mean", mean);
	else {
		show_sizes(text, &r->sizes); /* none of a merged result */
		buf_addf(text, "%s%s mean", text->len ? " as called, " : "", mean);
	}
	put_sizes_at_server(text, b->storage);
}

static void put_ceiling_figure(struct buf *text, bool is_rate, double au, double rate)
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

/* What this host reaches when storage costs nothing. */
static void put_ceiling(struct buf *text, const struct text_block *b)
{
	const struct ceiling_result *c = &b->ml->ceiling;
	bool is_rate = isnan(b->ml->au_percent);

	if (!c->is_tried)
		return;
	put_ceiling_figure(text, is_rate, c->null_au_percent, c->null_samples_per_sec);
	buf_add(text, " without storage");
	if (!verdict_without_storage(b->job)) {
		buf_add(text, ", ");
		put_ceiling_figure(text, is_rate, c->cached_au_percent, c->cached_samples_per_sec);
		buf_add(text, " from memory");
	}
	if (c->cached_seconds > 0) {
		text_say(text, b,
			 " ({ml.ceiling.cached_files} file{s}, {ml.ceiling.cached_bytes}, over and "
			 "over");
		buf_add(text, b->job->direct ? ", direct=0)" : ")");
	}
	text_say(text, b,
		 "[; without the {ml.ceiling.jobs_beside} job{s} beside it][; "
		 "{ml.ceiling.unmeasured}]");
}

static uint64_t taken(const struct epoch_result *e)
{
	return e->samples + e->failed_samples;
}

/* By how much epochs from the second on differ; a last one that was cut short does not count. False
 * where there are no two of them. */
static bool epochs_differ(const struct ml_result *ml, double *percent, uint64_t *last)
{
	const struct epoch_result *e = ml->epochs.items;
	size_t n = ml->epochs.count;

	if (n >= 2 && taken(&e[n - 1]) != taken(&e[n - 2]))
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

static void put_steady(struct buf *text, const struct text_block *b)
{
	const struct ml_result *ml = b->ml;
	double percent;
	uint64_t last;
	char number[UNITS_TEXT_BYTES];

	if (epochs_differ(ml, &percent, &last))
		buf_addf(text, "epochs 2-%" PRIu64 " differ by %s", last,
			 show_percent(number, percent));
	else
		buf_add(text, "unknown (takes 3 whole epochs)");
	if (b->result->errors > 0)
		text_say(text, b, "; {ml.errors} error{s} counted, the run went on");
	else if (b->result->err.code != 0)
		buf_add(text, "; stopped by an error");
	else
		buf_add(text, "; no errors");
	text_say(text, b, "[, {read.short_ios} short reads resumed]");
}

/* Only of a job that has one. */
static void put_evaluation(struct buf *text, const struct text_block *b)
{
	char rate[UNITS_TEXT_BYTES];

	if (b->job->eval_files == 0)
		return;
	text_say(text, b,
		 "{ml.eval.steps} step{s}, {ml.eval.samples} samples, {ml.eval.samples_per_sec} "
		 "samples/s, ");
	buf_add(text, show_rate(rate, &b->unit, b->ml->eval.sample_bytes_per_sec));
}

static void put_accelerator_time(struct buf *out, const struct text_block *b)
{
	text_shares(out, "accelerator time", &b->time);
}

static void put_read_thread_time(struct buf *out, const struct text_block *b)
{
	text_shares(out, "read thread time", &b->loader);
}

const struct text_line train_evidence[] = {
	{ NULL, put_accelerator_time },
	{ NULL, put_read_thread_time },
	{ "read sizes", put_read_sizes },
	{ "window", text_window },
	{ "from memory", text_from_memory },
	{ "host", text_host },
	{ "energy", text_energy },
	{ "noise", text_noise },
	{ "ceiling", put_ceiling },
	{ "numa", text_numa },
	{ NULL, train_text_cache },
	{ "evaluation", put_evaluation },
	{ NULL, text_saves_evidence },
	{ "slowest", text_slowest },
	{ "steady", put_steady },
	{ 0 },
};
