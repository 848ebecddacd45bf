/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_cache.c - the tables of a cache tier: in all, by epoch, by rank. */
#include "run/metrics_result.h"

#define EPOCHS_KEPT 1024

/* ---- rules ---- */

/* As the list of all epochs: of runs one after the other they are numbered on, those that some
 * clients have not are none of all. */
static void cache_epochs_list(struct merging *m, const struct mlgen_field *f,
			      const struct merge_at *at)
{
	MERGE_STRUCTS(struct metric_list, f->off);
	size_t had = to->count;
	const struct cache_epoch *last = a->items;
	uint64_t before = had ? last[had - 1].epoch : 0;
	struct cache_epoch *e;

	if (m->how == MERGE_TURNS) {
		merge_append(m, to, b, f->stride, EPOCHS_KEPT);
		e = to->items;
		for (size_t i = had; i < to->count; i++)
			e[i].epoch += before;
		return;
	}
	merge_by_index(m, f, to, b, m->how == MERGE_CLIENTS ? had : SIZE_MAX);
	if (m->how == MERGE_CLIENTS && b->count < to->count)
		to->count = b->count;
}

static const struct merge_rule merge_cache_epochs = { .whole = cache_epochs_list,
						      .ordered = 1 << MERGE_TURNS };

/* clang-format off */

/* A ratio of samples, of one epoch and of all. */
#define BY_ACCESSES(s, m) .merge = &(const struct merge_rule)MERGE_MEAN_BY(s, m)
#define RATIO(s, m, by) MLGEN_F_F64(s, m), BY_ACCESSES(s, by), .flags = MLGEN_NULLABLE

/* The counts of a struct that has them as `m`. */
#define COUNT_ROWS(S, m) \
	{ "accesses", RESULT_U64(S, m.accesses, sum), .unit = "samples", \
	  .help = "Samples that were asked of the tier, as the order has them." }, \
	{ "unique_samples", RESULT_U64(S, m.unique_samples, sum), .unit = "samples", \
	  .help = "Different ones among these; of all epochs the sum of each." }, \
	{ "hits", RESULT_U64(S, m.hits, sum), .unit = "samples", \
	  .help = "Those that the tier has, in the order of the plan." }, \
	{ "misses", RESULT_U64(S, m.misses, sum), .unit = "samples", \
	  .help = "Those that are read from storage." }, \
	{ "substitutions", RESULT_U64(S, m.substitutions, sum), .unit = "samples", \
	  .help = "Those in whose place the tier gave another one (cache_substitute)." }, \
	{ "late_hits", RESULT_U64(S, m.late_hits, sum), .unit = "samples", \
	  .help = "Of the hits: what the tier did not have yet, or any more, when it was asked, so that storage gave it." }, \
	{ "peer_hits", RESULT_U64(S, m.peer_hits, sum), .unit = "samples", \
	  .help = "Samples that another process had, and gave (cache_scope=all)." }, \
	{ "fills", RESULT_U64(S, m.fills, sum), .unit = "units", \
	  .help = "Units (cache_unit) that were brought into the tier." }, \
	{ "dropped_fills", RESULT_U64(S, m.dropped_fills, sum), .unit = "units", \
	  .help = "Units that should have been, and were not: the queue, or the disk, had no room." }, \
	{ "evictions", RESULT_U64(S, m.evictions, sum), .unit = "units", \
	  .help = "Units that made room for others." }, \
	{ "prefetches", RESULT_U64(S, m.prefetches, sum), .unit = "units", \
	  .help = "Units that were asked for ahead of their batch (cache_prefetch)." }, \
	{ "cache_bytes", RESULT_U64(S, m.cache_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that the tier gave, of what it has in this process." }, \
	{ "storage_bytes", RESULT_U64(S, m.storage_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that storage gave, with what went into the tier ahead." }, \
	{ "peer_bytes", RESULT_U64(S, m.peer_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that other processes gave, beside cache_bytes (cache_scope=all)." }, \
	{ "filled_bytes", RESULT_U64(S, m.filled_bytes, sum), .unit = "bytes", \
	  .help = "Bytes that were written into the tier." }, \
	{ "footprint_bytes", RESULT_U64(S, m.footprint_bytes, sum), .unit = "bytes", \
	  .help = "Bytes of the different samples." }, \
	{ "sequential_ratio", RATIO(S, m.sequential_ratio, m.accesses), \
	  .help = "Of the order: accesses that follow on the one before in the dataset, 0 to 1." }, \
	{ "rank_correlation", RATIO(S, m.rank_correlation, m.accesses), \
	  .help = "Of the samples that this epoch and the one before have: rank correlation of their places (Spearman), -1 to 1; null = there is no epoch before." }, \
	{ "multiplicity", RATIO(S, m.multiplicity, m.accesses), \
	  .help = "Accesses of each sample that was asked for at all, on the mean." }

#define E struct cache_epoch
const struct mlgen_field metrics_cache_epoch_fields[] = {
	{ "epoch", RESULT_U64(E, epoch, first),
	  .help = "Number of the epoch, from 1." },
	{ "is_cold", RESULT_BOOL(E, is_cold, or),
	  .help = "It is the first, and the tier began empty." },
	{ "hit_ratio", RATIO(E, counts.hit_ratio, counts.accesses),
	  .help = "Hits of the accesses, 0 to 1." },
	COUNT_ROWS(E, counts),
	{ 0 },
};
#undef E

#define R struct cache_rank
const struct mlgen_field metrics_cache_rank_fields[] = {
	{ "rank", RESULT_U64(R, rank, first), .help = "Number of the accelerator, from 0." },
	{ "accesses", RESULT_U64(R, accesses, sum), .unit = "samples",
	  .help = "Samples that it asked for." },
	{ "hits", RESULT_U64(R, hits, sum), .unit = "samples",
	  .help = "Those that the tier has." },
	{ "misses", RESULT_U64(R, misses, sum), .unit = "samples",
	  .help = "Those that are read from storage." },
	{ "substitutions", RESULT_U64(R, substitutions, sum), .unit = "samples",
	  .help = "Those in whose place the tier gave another one." },
	{ "hit_ratio", RATIO(R, hit_ratio, accesses),
	  .help = "Hits of its accesses in the epochs after the first, 0 to 1; null with one." },
	{ 0 },
};
#undef R

#define C struct cache_result
const struct mlgen_field metrics_cache_fields[] = {
	{ "policy", RESULT_TEXT(C, policy, first),
	  .help = "What the tier keeps, as cache= has it." },
	{ "place", RESULT_TEXT(C, place, first),
	  .help = "Where its bytes are: directory, memory, or played." },
	{ "directory", RESULT_TEXT(C, directory, first),
	  .help = "That directory; null = there is none." },
	{ "caches", RESULT_U64(C, caches, parts),
	  .help = "Tiers on this host: one, or with cache_scope=rank one for each accelerator." },
	{ "parts", RESULT_U64(C, parts, same), .flags = MLGEN_NULLABLE,
	  .help = "Processes that each is divided among, with cache_scope=all; 1 = it is whole, null = they differ." },
	{ "size_bytes", RESULT_U64(C, size_bytes, same), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "What each can hold; null = it is a number of samples." },
	{ "size_samples", RESULT_U64(C, size_samples, same), .unit = "samples", .flags = MLGEN_NULLABLE,
	  .help = "What each can hold; null = it is a number of bytes." },
	{ "data_bytes", RESULT_U64(C, data_bytes, same), .unit = "bytes", .flags = MLGEN_NULLABLE,
	  .help = "Bytes of all samples of the dataset, as they are kept." },
	{ "used_bytes", RESULT_U64(C, used_bytes, parts), .unit = "bytes",
	  .help = "What all of them held at the end." },
	{ "units", RESULT_U64(C, units, parts), .unit = "units",
	  .help = "Samples, files or pages of these." },
	{ "state_bytes", RESULT_U64(C, state_bytes, parts), .unit = "bytes",
	  .help = "Memory that the bookkeeping of the tier takes." },
	{ "hit_ratio", RATIO(C, hit_ratio, all.accesses),
	  .help = "Hits of the accesses, in the epochs after the first, 0 to 1; null with one epoch." },
	{ "hit_ratio_of_all", RATIO(C, all.hit_ratio, all.accesses),
	  .help = "The same with the first epoch, in which an empty tier fills." },
	COUNT_ROWS(C, all),
	{ "epochs", RESULT_LIST(C, epochs, struct cache_epoch, metrics_cache_epoch_fields, cache_epochs),
	  .help = "Each epoch, the first 1,024 of them." },
	{ "ranks", RESULT_LIST(C, ranks, struct cache_rank, metrics_cache_rank_fields, forget),
	  .help = "Each accelerator, where they are not all alike; empty of merged runs." },
	{ "hit_ns", RESULT_HIST(C, hit_ns, hist), .unit = "ns",
	  .help = "Latency of samples that the tier gave, of what it has in this process." },
	{ "miss_ns", RESULT_HIST(C, miss_ns, hist), .unit = "ns",
	  .help = "Latency of samples that storage gave." },
	{ "peer_ns", RESULT_HIST(C, peer_ns, hist), .unit = "ns",
	  .help = "Latency of samples that other processes gave (cache_scope=all)." },
	{ "served_samples", RESULT_U64(C, served_samples, sum), .unit = "samples",
	  .help = "Samples that were given to other processes, which count them as peer_hits." },
	{ "served_bytes", RESULT_U64(C, served_bytes, sum), .unit = "bytes",
	  .help = "Bytes of these, as they were sent." },
	{ "sent_bytes", RESULT_U64(C, sent_bytes, sum), .unit = "bytes",
	  .help = "Bytes of misses that were sent to the processes which keep them." },
	{ "received_bytes", RESULT_U64(C, received_bytes, sum), .unit = "bytes",
	  .help = "Bytes of misses of other processes that were sent to this one." },
	{ "is_full", RESULT_BOOL(C, is_full, or),
	  .help = "The directory had no more room: the tier has stopped growing." },
	{ "verified", RESULT_U64(C, verified, sum), .unit = "samples",
	  .help = "Hits that cache_verify has looked at." },
	{ "wrong", RESULT_U64(C, wrong, sum), .unit = "samples",
	  .help = "Those of them that were not what was asked for." },
	{ "kept_units", RESULT_U64(C, kept_units, parts), .unit = "units",
	  .help = "Units that an earlier run had left there (cache_persist)." },
	{ "warm_units", RESULT_U64(C, warm_units, parts), .unit = "units",
	  .help = "Units that it was filled with before the run (cache_warm)." },
	{ "draw_seconds", RESULT_F64(C, draw_seconds, span), .unit = "s", .flags = MLGEN_NULLABLE,
	  .help = "Time in which orders that follow from losses were drawn, between epochs; null = unknown." },
	{ 0 },
};
#undef C

/* clang-format on */
