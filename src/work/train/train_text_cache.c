/* SPDX-License-Identifier: Apache-2.0 */
/* train_text_cache.c - a cache tier in the report of a training: what it was, and what it was
 * worth. */
#include "work/train/train_text_parts.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/util.h"

/* Epochs whose hit ratio is named: the first ones, and the last. */
#define EPOCHS_NAMED 4

/* "20.0%" of 0.2, "unknown" of NaN. */
static const char *put_ratio(char *out, double ratio)
{
	return show_percent(out, ratio * 100);
}

static const struct cache_epoch *epoch_at(const struct cache_result *c, size_t i)
{
	return (const struct cache_epoch *)c->epochs.items + i;
}

static void put_size(struct buf *text, const struct cache_result *c)
{
	char n[UNITS_TEXT_BYTES];

	if (c->caches > 1)
		buf_addf(text, "%" PRIu64 " x ", c->caches);
	if (c->size_bytes == UINT64_MAX) {
		buf_addf(text, "%s samples", units_human_count(n, c->size_samples));
		return;
	}
	buf_add(text, units_human_bytes(n, (double)c->size_bytes));
	if (c->data_bytes && c->data_bytes != UINT64_MAX)
		buf_addf(text, " (%s of the dataset)",
			 put_ratio(n, (double)c->size_bytes / (double)c->data_bytes));
}

static bool is_divided(const struct cache_result *c)
{
	return c->parts > 1 && c->parts != UINT64_MAX;
}

static void put_epoch(struct buf *text, const struct cache_epoch *e)
{
	char ratio[UNITS_TEXT_BYTES];

	buf_addf(text, "%" PRIu64 "%s %s", e->epoch, e->is_cold ? " (cold)" : "",
		 put_ratio(ratio, e->counts.hit_ratio));
}

/* "epoch 1 (cold) 0.0%, 2 19.9%, ... 9 20.1%" */
static void put_epochs(struct buf *text, const struct cache_result *c)
{
	size_t n = c->epochs.count;

	for (size_t i = 0; i < n; i++) {
		bool is_left_out = i >= EPOCHS_NAMED - 1 && i + 1 < n;

		if (is_left_out && i > EPOCHS_NAMED - 1)
			continue;
		buf_add(text, i ? ", " : "; epoch ");
		if (is_left_out)
			buf_add(text, "...");
		else
			put_epoch(text, epoch_at(c, i));
	}
}

static void put_cache(struct buf *text, const struct text_block *b)
{
	const struct cache_result *c = b->cache;
	char ratio[UNITS_TEXT_BYTES];

	if (!c->policy)
		return;
	buf_addf(text, "%s ", c->policy);
	if (has_text(c->directory))
		buf_addf(text, "in %s, ", c->directory);
	else
		buf_addf(text, "%s, ",
			 has_text(c->place) && !strcmp(c->place, "played") ? "that is only played"
									   : "in memory");
	put_size(text, c);
	if (is_divided(c))
		buf_addf(text, ", divided among %" PRIu64 " processes", c->parts);
	if (isnan(c->hit_ratio))
		buf_addf(text, ": hit ratio %s, of one epoch", put_ratio(ratio, c->all.hit_ratio));
	else
		buf_addf(text, ": hit ratio %s from epoch 2 on", put_ratio(ratio, c->hit_ratio));
	if (c->epochs.count > 1)
		put_epochs(text, c);
}

/* What it did with samples; zeros are left out. */
static void put_counts(struct buf *text, const struct text_block *b)
{
	if (!b->cache->policy)
		return;
	text_say(text, b, "{cache.hits} hits, {cache.misses} misses");
	text_say(text, b, "[, {cache.substitutions} substituted]");
	text_say(text, b, "[, {cache.late_hits} of the hits late]");
	text_say(text, b,
		 "[; {cache.fills} fills][, {cache.dropped_fills} dropped][, {cache.evictions} "
		 "evictions]");
	text_say(text, b, "[; {cache.prefetches} fetched ahead]");
	text_say(text, b, "[; {cache.kept_units} were there before]");
	text_say(text, b, "[; {cache.warm_units} were put there before]");
	text_say(text, b, "[; {cache.verified} hits looked at]");
	text_say(text, b, "[, {cache.wrong} of them WRONG]");
}

static void put_bytes(struct buf *text, const struct text_block *b)
{
	if (!b->cache->policy)
		return;
	text_say(text, b,
		 "{cache.cache_bytes} from the tier, {cache.storage_bytes} from storage[, "
		 "{cache.peer_bytes} from other processes]; {cache.used_bytes} held at the end");
	if (b->cache->is_full)
		buf_add(text, "; its directory is full, and it has stopped growing");
}

/* How far away the rest of it is. */
static void put_peers(struct buf *text, const struct text_block *b)
{
	const struct cache_result *c = b->cache;
	char n[UNITS_TEXT_BYTES];

	if (!c->policy || !is_divided(c) || !c->peer_ns)
		return;
	text_say(text, b, "{cache.peer_hits} hits in other processes' parts");
	if (c->peer_ns->count)
		buf_addf(text, ", of %s ms each (mean)", units_human_ms(n, hist_mean(c->peer_ns)));
	if (c->hit_ns && c->hit_ns->count)
		buf_addf(text, ", own ones %s ms", units_human_ms(n, hist_mean(c->hit_ns)));
	text_say(text, b, "[; {cache.sent_bytes} of misses sent to where they are kept]");
}

/* Of the last epoch, which has one before it. */
static void put_order(struct buf *text, const struct text_block *b)
{
	const struct cache_result *c = b->cache;
	char ratio[UNITS_TEXT_BYTES];

	if (!c->policy || c->epochs.count == 0)
		return;
	const struct cache_counts *last = &epoch_at(c, c->epochs.count - 1)->counts;
	buf_addf(text, "sequential %s", put_ratio(ratio, last->sequential_ratio));
	if (!isnan(last->rank_correlation))
		buf_addf(text, ", correlation with the epoch before %.2f", last->rank_correlation);
	if (!isnan(last->multiplicity))
		buf_addf(text, ", a sample %.2f times an epoch", last->multiplicity);
	if (c->draw_seconds > 0)
		buf_addf(text, "; drawn in %s s", show_seconds(ratio, c->draw_seconds));
}

static const struct text_line cache_lines[] = {
	{ "cache", put_cache },       { "cache samples", put_counts }, { "cache bytes", put_bytes },
	{ "cache peers", put_peers }, { "order", put_order },          { 0 },
};

void train_text_cache(struct buf *out, const struct text_block *b)
{
	if (b->cache->policy)
		text_put_list(out, cache_lines, TEXT_EVIDENCE_INDENT, b);
}
