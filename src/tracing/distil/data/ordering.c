/* SPDX-License-Identifier: Apache-2.0 */
/* ordering.c - the order in which files are read, compared with names and with the previous
 * epoch. */
#include "tracing/distil/data/data_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "trace/model/model.h"

/* Classes of the distance of a file from its place by name, one for each power of 2^(1/4). */
#define DISTANCE_CLASSES 128

struct file_place {
	uint32_t epoch;    /* epoch + 1 of the last read; 0 = none */
	uint32_t position; /* place of the file's first read in that epoch */
	uint32_t rank;     /* rank of that first read */
	uint32_t count, count_before;
	bool is_several;
};

struct worker_at {
	uint32_t epoch; /* number plus 1 */
	uint32_t file;
	uint64_t off;
};

struct rank_at {
	uint32_t reads; /* files that it was the first to read in this epoch */
	struct order by_name;
};

struct ordering {
	uint32_t files, ranks, workers;
	struct file_place *file;
	struct worker_at *worker;
	struct rank_at *rank;
	uint32_t epoch;    /* number plus 1 */
	uint32_t epochs;   /* number of epochs so far */
	uint32_t position; /* files that were read in this epoch */
	uint64_t reads, firsts;
	struct order by_epoch, count_by_epoch;
	double name_sum;
	uint64_t name_count;
	uint64_t steps, ascending, runs, inner, worker_reads;
	uint64_t kept, owners, several;
	uint64_t counts, unread, twice;
	double count_sum, count_squares;
	uint32_t most, seen;
	uint64_t displaced[DISTANCE_CLASSES];
};

struct ordering *ordering_new(uint32_t files, uint32_t ranks, uint32_t workers)
{
	struct ordering *o = mem_zalloc(sizeof(*o));

	o->files = files;
	o->ranks = ranks ? ranks : 1;
	o->workers = workers;
	o->file = mem_array(files, sizeof(*o->file));
	o->worker = mem_array(workers, sizeof(*o->worker));
	o->rank = mem_array(o->ranks, sizeof(*o->rank));
	return o;
}

void ordering_free(struct ordering *o)
{
	if (!o)
		return;
	mem_free(o->file);
	mem_free(o->worker);
	mem_free(o->rank);
	mem_free(o);
}

/* ---- the end of an epoch ---- */

static void end_epoch(struct ordering *o)
{
	o->position = 0;
	if (!o->epoch)
		return;
	for (uint32_t r = 0; r < o->ranks; r++) {
		double c = order_correlation(&o->rank[r].by_name);

		if (!isnan(c) && o->rank[r].reads > 2) {
			o->name_sum += c * o->rank[r].reads;
			o->name_count += o->rank[r].reads;
		}
		o->rank[r] = (struct rank_at){ 0 };
	}
	for (uint32_t i = 0; i < o->files; i++) {
		struct file_place *f = &o->file[i];

		if (o->epochs > 1)
			order_add(&o->count_by_epoch, f->count_before, f->count);
		o->counts++;
		o->unread += f->count == 0;
		o->twice += f->count > 1;
		o->several += f->is_several;
		o->owners += f->count > 0;
		o->count_sum += f->count;
		o->count_squares += (double)f->count * f->count;
		o->most = f->count > o->most ? f->count : o->most;
		f->count_before = f->count;
		f->count = 0;
		f->is_several = false;
	}
}

/* ---- reads ---- */

void ordering_add(struct ordering *o, const struct ordering_read *r)
{
	if (r->file >= o->files || r->rank >= o->ranks || r->worker >= o->workers)
		return;
	if (r->epoch + 1 != o->epoch) {
		end_epoch(o);
		o->epoch = r->epoch + 1;
		o->epochs++;
	}
	struct file_place *f = &o->file[r->file];
	o->reads++;
	if (f->epoch != o->epoch) {
		struct rank_at *rank = &o->rank[r->rank];
		double away = fabs((double)r->file - (double)o->position);
		size_t class = away < 1 ? 0 : 1 + (size_t)(4 * log2(away));

		o->displaced[class < DISTANCE_CLASSES ? class : DISTANCE_CLASSES - 1]++;
		if (f->epoch && f->epoch + 1 == o->epoch) {
			order_add(&o->by_epoch, f->position, o->position);
			o->kept += f->rank == r->rank;
			o->seen++;
		}
		order_add(&rank->by_name, rank->reads++, r->file);
		f->epoch = o->epoch;
		f->position = o->position++;
		f->rank = r->rank;
		o->firsts++;
	} else {
		f->is_several |= f->rank != r->rank;
	}
	f->count++;

	struct worker_at *w = &o->worker[r->worker];
	if (w->epoch == o->epoch) {
		o->worker_reads++;
		if (w->file == r->file) {
			o->runs++;
			o->inner += r->off > w->off;
		} else {
			o->steps++;
			o->ascending += r->file > w->file;
		}
	}
	*w = (struct worker_at){ o->epoch, r->file, r->off };
}

/* ---- figures ---- */

static double part_of(uint64_t part, uint64_t all)
{
	return all ? (double)part / (double)all : (double)NAN;
}

static uint32_t displaced_most(const struct ordering *o)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < DISTANCE_CLASSES; i++) {
		sum += o->displaced[i];
		if (sum * 50 >= o->firsts * 49)
			return i ? (uint32_t)ceil(exp2(i / 4.0)) : 0;
	}
	return UINT32_MAX;
}

/* The part of the files whose rank is (number + shift) mod ranks, for the most common shift. */
static double strided_part(const struct ordering *o)
{
	uint64_t *shifted = mem_array(o->ranks, sizeof(*shifted)), most = 0;
	uint64_t all = 0;

	for (uint32_t i = 0; i < o->files; i++)
		if (o->file[i].epoch) {
			uint32_t shift = (o->file[i].rank + o->ranks - i % o->ranks) % o->ranks;

			all++;
			most = u64_max(most, ++shifted[shift]);
		}
	mem_free(shifted);
	return part_of(most, all);
}

static double contiguous_part(const struct ordering *o)
{
	uint32_t last = UINT32_MAX;
	uint64_t changes = 0;

	for (uint32_t i = 0; i < o->files; i++) {
		if (!o->file[i].epoch)
			continue;
		changes += last != UINT32_MAX && last != o->file[i].rank;
		last = o->file[i].rank;
	}
	return changes ? (double)(o->ranks - 1) / (double)changes : (double)NAN;
}

void ordering_end(struct ordering *o, struct ordered *to)
{
	end_epoch(o);
	o->epoch = 0;
	double mean = part_of((uint64_t)o->count_sum, o->counts);
	*to = (struct ordered){
		.reads = o->reads,
		.epochs = o->epochs,
		.per_file = part_of(o->reads, o->firsts),
		.by_name = o->name_count ? o->name_sum / (double)o->name_count : (double)NAN,
		.ascending = part_of(o->ascending, o->steps),
		.by_epoch = order_correlation(&o->by_epoch),
		.runs = part_of(o->runs, o->worker_reads),
		.inner = part_of(o->inner, o->runs),
		.displaced = displaced_most(o),
		.same_rank = part_of(o->kept, o->seen),
		.several = part_of(o->several, o->owners),
		.strided = strided_part(o),
		.contiguous = contiguous_part(o),
		.count_mean = mean,
		.count_variance = o->counts ? o->count_squares / (double)o->counts - mean * mean
					    : (double)NAN,
		.unread = part_of(o->unread, o->counts),
		.twice = part_of(o->twice, o->counts),
		.most = o->most,
		.count_by_epoch = order_correlation(&o->count_by_epoch),
	};
	for (uint32_t i = 0; i < o->files; i++)
		to->files += o->file[i].epoch > 0;
}
