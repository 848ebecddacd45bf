/* SPDX-License-Identifier: Apache-2.0 */
/* pulse.c - find batches: the reads between two pauses of one worker or of all workers. */
#include "tracing/distil/steps/steps_internal.h"

#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"

/* The pause before a read or a batch, and its position in the row, from 0. */
struct spaced {
	uint32_t position;
	double pause_ns;
};

/* Pauses before reads. Positions count the reads of an epoch. */
struct pulse_gaps {
	struct spaced *by_worker, *by_rank; /* an entry for each read */
};

#define READS_LEAST 8 /* fewer reads show nothing */

/* ---- spacing ---- */

/* Shorter pauses are rounded up: even a thread that does not wait has such pauses. */
#define SHORT_NS 1000.0
/* The t statistic of the best spacing reaches about 5 by chance. */
#define T_SQUARE_LEAST 40.0
#define PAUSES_LEAST 3
/* Long pauses must exceed the rest by this difference of logarithms, which is a fifth. */
#define APART_LEAST 0.2
/* Positions beyond this limit are not counted. */
#define POSITIONS_MOST (UINT32_C(1) << 20)

struct spacing_sums {
	double n, sum;
};

struct all_pauses {
	struct spacing_sums *of; /* indexed by position */
	uint32_t positions;
	double n, sum, squares;
};

/* The sum of squares between two groups of pauses: those at multiples of `every`, and all others. 0
 * = multiples have no longer pauses, or there are too few of them. */
static double squares_between(const struct all_pauses *a, uint32_t every)
{
	double n = 0, sum = 0, rest, apart;

	for (uint32_t i = every; i < a->positions; i += every) {
		n += a->of[i].n;
		sum += a->of[i].sum;
	}
	rest = a->n - n;
	if (n < PAUSES_LEAST || rest < 1)
		return 0;
	apart = sum / n - (a->sum - sum) / rest;
	return apart > APART_LEAST ? n * rest / a->n * apart * apart : 0;
}

/*
 * Find the number whose multiples have the longest pauses. Pauses are compared by their logarithms,
 * and the best number has the largest variance between its multiples and all other positions.
 * Position 0 has no pause. Rows of several workers may be mixed, in any order.
 */
static struct spacing spacing_of(const struct spaced *at, size_t count)
{
	struct all_pauses a = { 0 };
	struct spacing best = { 0 };
	double all, most = 0;

	for (size_t i = 0; i < count; i++)
		if (at[i].position < POSITIONS_MOST && at[i].position >= a.positions)
			a.positions = at[i].position + 1;
	a.of = mem_array(a.positions, sizeof(*a.of));
	for (size_t i = 0; i < count; i++) {
		double pause = log(fmax(at[i].pause_ns, SHORT_NS));

		if (!at[i].position || at[i].position >= a.positions)
			continue;
		a.of[at[i].position].n++;
		a.of[at[i].position].sum += pause;
		a.n++;
		a.sum += pause;
		a.squares += pause * pause;
	}

	all = a.n > 0 ? a.squares - a.sum * a.sum / a.n : 0;
	for (uint32_t every = 2; all > 0 && every < a.positions; every++) {
		double b = squares_between(&a, every);

		if (b > most) {
			most = b;
			best.every = every;
		}
	}
	mem_free(a.of);
	if (all <= 1e-9 * a.n)
		return (struct spacing){ 0 };
	best.explained = most / all < 1 ? most / all : 1;
	if (best.explained * (a.n - 2) < T_SQUARE_LEAST * (1 - best.explained))
		best = (struct spacing){ 0 };
	return best;
}

/* ---- batches ---- */

/* A worker's place in the order of turns, in one epoch. */
struct worker_turn {
	uint32_t worker, rows;
	double start_sum_ns; /* sum over the rows that every worker has, except the first row */
};

struct batch_list {
	struct pulse_batch *at;
	size_t count, room; /* vec.h */
	size_t first;       /* index of the epoch's first batch */
	size_t *open; /* by worker, and last the shared batch: index of the current batch, + 1 */
	struct worker_turn *turns;
};

static int by_start_sum(const void *a, const void *b)
{
	const struct worker_turn *x = a, *y = b;

	return x->rows && y->rows ? COMPARE(x->start_sum_ns, y->start_sum_ns)
				  : COMPARE(y->rows, x->rows);
}

COMPARE_BY(by_number, struct pulse_batch, number)

/* Workers take turns: batch k belongs to worker number k mod workers. All workers start at once and
 * begin to take turns later, so only the second half of the rows shows whose turn it is. */
static void number_epoch(struct batch_list *l, uint32_t workers)
{
	uint32_t rows = UINT32_MAX, active = 0;

	for (uint32_t w = 0; w < workers; w++)
		l->turns[w] = (struct worker_turn){ .worker = w };
	for (size_t i = l->first; i < l->count; i++)
		l->turns[l->at[i].worker].rows++;
	for (uint32_t w = 0; w < workers; w++)
		if (l->turns[w].rows && l->turns[w].rows < rows)
			rows = l->turns[w].rows;
	for (size_t i = l->first; i < l->count; i++)
		if (l->at[i].row >= rows / 2 && l->at[i].row < rows)
			l->turns[l->at[i].worker].start_sum_ns +=
				(double)(l->at[i].start_ns - l->at[l->first].start_ns);
	if (workers)
		qsort(l->turns, workers, sizeof(*l->turns), by_start_sum);
	/* The epoch is complete, so `open` is free to hold each worker's turn. */
	for (uint32_t t = 0; t < workers; t++) {
		active += l->turns[t].rows > 0;
		l->open[l->turns[t].worker] = t;
	}
	for (size_t i = l->first; i < l->count; i++)
		l->at[i].number = (uint64_t)l->at[i].row * active + l->open[l->at[i].worker];
	if (l->count > l->first)
		qsort(l->at + l->first, l->count - l->first, sizeof(*l->at), by_number);
}

/* List the batches of all epochs, by epoch and number. Returns their number. */
static size_t list_batches(struct pulse *p, const struct pulse_read *reads,
			   const struct pulse_gaps *gaps, size_t count, uint32_t workers,
			   struct pulse_batch **to)
{
	bool is_shared = p->kind == PULSE_SHARED;
	struct batch_list l = { 0 };

	l.open = mem_array(workers + 1, sizeof(*l.open));
	l.turns = mem_array(workers, sizeof(*l.turns));
	for (size_t i = 0; i < count; i++) {
		if (i && reads[i].epoch != reads[i - 1].epoch) {
			if (!is_shared)
				number_epoch(&l, workers);
			l.first = l.count;
		}

		const struct spaced *at = is_shared ? &gaps->by_rank[i] : &gaps->by_worker[i];
		uint32_t reader = is_shared ? workers : reads[i].worker;
		struct pulse_batch *b;
		if (at->position % p->batch == 0) {
			vec_push(&l, (struct pulse_batch){
					     .start_ns = reads[i].start_ns,
					     .pause_ns = at->position ? at->pause_ns : (double)NAN,
					     .epoch = reads[i].epoch,
					     .worker = reads[i].worker,
					     .row = at->position / p->batch,
					     .number = at->position / p->batch,
				     });
			l.open[reader] = l.count;
		}
		b = &l.at[l.open[reader] - 1];
		b->end_ns = u64_max(b->end_ns, reads[i].end_ns);
		b->reads++;
	}
	if (!is_shared)
		number_epoch(&l, workers);
	mem_free(l.open);
	mem_free(l.turns);
	*to = l.at;
	return l.count;
}

void pulse_sort(double *at, size_t count)
{
	if (count)
		qsort(at, count, sizeof(*at), f64_compare);
}

double pulse_quantile(const double *sorted, size_t count, double part)
{
	double at = part * (double)(count - 1);
	size_t i = count ? (size_t)at : 0;

	if (!count)
		return (double)NAN;
	if (i + 1 >= count)
		return sorted[count - 1];
	return sorted[i] + (at - (double)i) * (sorted[i + 1] - sorted[i]);
}

/* ---- gaps ---- */

struct reader_position {
	uint64_t end_ns;
	uint32_t epoch, position;
	bool has_read;
};

static void gaps_init(struct pulse_gaps *g, const struct pulse_read *reads, size_t count,
		      uint32_t workers)
{
	struct reader_position *w = mem_array(workers, sizeof(*w)), all = { 0 };

	g->by_worker = mem_array(count, sizeof(*g->by_worker));
	g->by_rank = mem_array(count, sizeof(*g->by_rank));
	for (size_t i = 0; i < count; i++) {
		const struct pulse_read *r = &reads[i];
		struct reader_position *of[2] = { &w[r->worker], &all };
		struct spaced *to[2] = { &g->by_worker[i], &g->by_rank[i] };

		for (int k = 0; k < 2; k++) {
			struct reader_position *p = of[k];

			if (!p->has_read || p->epoch != r->epoch)
				*p = (struct reader_position){ r->start_ns, r->epoch, 0, true };
			else
				p->position++;
			to[k]->position = p->position;
			to[k]->pause_ns = (double)r->start_ns - (double)p->end_ns;
			p->end_ns = u64_max(p->end_ns, r->end_ns);
		}
	}
	mem_free(w);
}

static void gaps_fini(struct pulse_gaps *g)
{
	mem_free(g->by_worker);
	mem_free(g->by_rank);
}

/* ---- batches and their workers ---- */

/* The share of the batches that a single worker has read, if batches have this size. */
static double part_of_one_worker(const struct pulse_gaps *g, const struct pulse_read *reads,
				 size_t count, uint32_t batch)
{
	uint64_t batches = 0, alone = 0;
	bool is_one = true;

	for (size_t i = 1; i <= count; i++) {
		bool begins = i == count || g->by_rank[i].position % batch == 0;

		if (begins) {
			batches++;
			alone += is_one;
			is_one = true;
		} else if (reads[i].worker != reads[i - 1].worker) {
			is_one = false;
		}
	}
	return batches ? (double)alone / (double)batches : 0;
}

/*
 * A worker that reads whole batches has read a multiple of the batch in an epoch. If some workers
 * have one batch more, the greatest common divisor is the batch itself. 0 = all workers have read
 * the same number of samples, or the counts have no common divisor.
 */
static uint32_t batch_of_counts(const struct pulse_gaps *g, const struct pulse_read *reads,
				size_t count, uint32_t workers)
{
	uint32_t *last = mem_array(workers, sizeof(*last)), divisor = 0;
	uint32_t least = UINT32_MAX, most = 0;
	uint32_t epoch = count ? reads[0].epoch : 0;

	for (size_t i = 0; i < count && reads[i].epoch == epoch; i++)
		last[reads[i].worker] = g->by_worker[i].position + 1;
	for (uint32_t w = 0; w < workers; w++) {
		if (!last[w])
			continue;
		divisor = (uint32_t)u64_gcd(divisor, last[w]);
		least = last[w] < least ? last[w] : least;
		most = last[w] > most ? last[w] : most;
	}
	mem_free(last);
	return most > least && most - least == divisor && divisor > 1 ? divisor : 0;
}

/* Does every read follow a pause that is too long for a thread that does not wait? */
static bool each_pauses(const struct pulse_gaps *g, const struct pulse_read *reads, size_t count)
{
	double *pause = mem_array(count, sizeof(*pause));
	double *busy = mem_array(count, sizeof(*busy));
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		if (!g->by_worker[i].position)
			continue;
		pause[n] = g->by_worker[i].pause_ns;
		busy[n++] = (double)(reads[i].end_ns - reads[i].start_ns);
	}
	pulse_sort(pause, n);
	pulse_sort(busy, n);
	double middle = pulse_quantile(pause, n, 0.5);
	double read = pulse_quantile(busy, n, 0.5);
	mem_free(pause);
	mem_free(busy);
	return n >= READS_LEAST && middle > 2 * WAKE_NS && middle > 0.2 * read;
}

static void find_batch(struct pulse *p, const struct pulse_gaps *g, const struct pulse_read *reads,
		       size_t count, uint32_t workers)
{
	struct spacing worker = spacing_of(g->by_worker, count);
	struct spacing rank = spacing_of(g->by_rank, count);
	double alone = rank.every ? part_of_one_worker(g, reads, count, rank.every) : 0;
	bool is_shared = p->workers > 1 && rank.every && alone < 0.5 &&
			 rank.every != worker.every && rank.explained > 0.5 * worker.explained;

	/* Pauses of several workers coincide if batches are small. */
	if (p->workers > 1 && rank.every && rank.every == worker.every && alone < 0.5 &&
	    rank.explained > worker.explained)
		is_shared = true;
	p->kind = is_shared ? PULSE_SHARED : PULSE_WORKER;
	p->spacing = is_shared ? rank : worker;
	p->batch = p->spacing.every;
	p->regular = is_shared ? 1 - alone : alone;
	if (p->batch)
		return;
	if (!each_pauses(g, reads, count)) {
		p->batch = batch_of_counts(g, reads, count, workers);
		return;
	}
	p->batch = 1;

	/* The share of the reads whose worker also made the read `workers` places earlier. */
	uint64_t all = 0, same = 0;
	for (size_t i = p->workers; i < count; i++) {
		if (g->by_rank[i].position < p->workers)
			continue;
		all++;
		same += reads[i].worker == reads[i - p->workers].worker;
	}
	p->regular = all ? (double)same / (double)all : 0;

	p->kind = p->regular >= 0.8 ? PULSE_WORKER : PULSE_SHARED;
}

/* ---- pauses inside batches ---- */

/* The sorted pauses before reads that do not begin a batch. Returns their number. */
static size_t inner_gaps(const struct pulse *p, const struct spaced *at, size_t count, double *to)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		if (at[i].position % p->batch)
			to[n++] = at[i].pause_ns;
	pulse_sort(to, n);
	return n;
}

/* In most epochs, do workers begin their second batch without a wait? */
static bool goes_on(const struct pulse_batch *at, size_t count)
{
	int went_on = 0;

	for (size_t i = 1; i < count; i++)
		if (at[i].number == 1 && at[i].epoch == at[i - 1].epoch)
			went_on += at[i].is_idle ? -1 : 1;
	return went_on > 0;
}

void pulse_find(struct pulse *p, const struct pulse_read *reads, size_t count, uint32_t workers,
		enum pulse_own own)
{
	struct pulse_gaps g;
	struct pulse_batch *at = NULL;

	*p = (struct pulse){ .bound_ns = (double)NAN };
	if (count < READS_LEAST)
		return;
	gaps_init(&g, reads, count, workers);

	/* The mean number of workers per epoch. Each epoch may fork new workers. */
	uint64_t first = 0, epochs = 0;
	for (size_t i = 0; i < count; i++) {
		first += g.by_worker[i].position == 0;
		epochs += i == 0 || reads[i].epoch != reads[i - 1].epoch;
	}
	p->workers = epochs ? (uint32_t)((first + epochs / 2) / epochs) : 0;

	find_batch(p, &g, reads, count, workers);
	size_t n = p->batch ? list_batches(p, reads, &g, count, workers, &at) : 0;
	if (n) {
		double *gap = mem_array(count, sizeof(*gap));
		size_t inner = inner_gaps(p, g.by_worker, count, gap);

		p->think_ns = inner ? pulse_quantile(gap, inner, 0.5) : 0;
		if (p->kind == PULSE_SHARED)
			inner = inner_gaps(p, g.by_rank, count, gap);
		double middle = inner ? pulse_quantile(gap, inner, 0.5) : 0;
		if (middle < 0)
			middle = 0;
		double longest = inner ? 3 * (pulse_quantile(gap, inner, 0.9) - middle) : 0;
		mem_free(gap);
		if (longest < WAKE_NS)
			longest = WAKE_NS;
		for (size_t i = 0; i < n; i++)
			at[i].is_idle = at[i].pause_ns > middle + longest;
	}
	if (own == PULSE_IS_OWN || (own == PULSE_MAY_BE_OWN && !goes_on(at, n))) {
		p->kind = PULSE_OWN;
		p->workers = 0;
	}
	if (n)
		pulse_steps(p, at, n);
	mem_free(at);
	gaps_fini(&g);
}

void pulse_fini(struct pulse *p)
{
	mem_free(p->step_ns);
	mem_free(p->begun_ns);
	*p = (struct pulse){ 0 };
}

/* ---- groups of workers ---- */

/* A worker is taken to read whole batches if the spacing of its batches explains at least this
 * fraction of the variance of its pauses. */
#define EXPLAINED_LEAST 0.5

struct pulse_groups pulse_groups_find(const struct pulse_read *reads, size_t count,
				      uint32_t workers)
{
	struct pulse_groups to = { .groups = 1 };
	struct pulse_gaps g;

	gaps_init(&g, reads, count, workers);
	struct spacing worker = spacing_of(g.by_worker, count);
	struct spacing all = spacing_of(g.by_rank, count);
	gaps_fini(&g);
	if (!worker.every || worker.explained < EXPLAINED_LEAST || all.every <= worker.every ||
	    all.every % worker.every)
		return to;
	/* If each group would be a single worker, the workers may just as well share batches. */
	if (all.every / worker.every >= workers || workers % (all.every / worker.every))
		return to;
	to.groups = all.every / worker.every;
	to.batch = worker.every;
	to.workers = workers;
	return to;
}

double pulse_groups_part(const struct pulse_groups *g, const struct pulse_read *reads, size_t count,
			 const uint32_t *group)
{
	uint32_t *of_group = mem_array(g->groups, sizeof(*of_group));
	uint32_t *of_worker = mem_array(g->workers, sizeof(*of_worker));
	size_t begin = 0, together = (size_t)g->groups * g->batch;
	uint64_t times = 0, whole = 0, right = 0;

	while (begin + together <= count) {
		uint32_t last = reads[begin + together - 1].epoch;

		/* The last batch of an epoch may be short, and is left out. */
		if (reads[begin].epoch != last) {
			while (reads[begin].epoch != last)
				begin++;
			continue;
		}
		/*
		 * Examine as many reads as all groups have at a time. The reads are whole if each
		 * batch has a single worker, and right if these workers are also in different
		 * groups.
		 */
		const struct pulse_read *at = &reads[begin];
		bool is_whole = true, is_right = true;
		for (size_t i = 0; i < together; i++) {
			of_group[group[at[i].worker]]++;
			of_worker[at[i].worker]++;
		}
		for (size_t i = 0; i < together; i++) {
			is_whole &= of_worker[at[i].worker] == g->batch;
			is_right &= of_group[group[at[i].worker]] == g->batch;
		}
		for (size_t i = 0; i < together; i++)
			of_group[group[at[i].worker]] = of_worker[at[i].worker] = 0;
		times++;
		whole += is_whole;
		right += is_whole && is_right;
		begin += together;
	}
	mem_free(of_group);
	mem_free(of_worker);
	/* Every worker reads several batches at once when an epoch starts. */
	return 3 * whole >= times && whole ? (double)right / (double)whole : 0;
}
