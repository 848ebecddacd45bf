/* SPDX-License-Identifier: Apache-2.0 */
/* plain_pace.c - see plain_pace.h. */
#include "distil/plain_pace.h"

#include <math.h>
#include <stdio.h>

#include "base/util.h"

/* Fewer say nothing. */
#define GAPS_LEAST 20
/* Times from start to start that are apart by so much of their mean are even. */
#define EVEN 0.2
#define UNEVEN 1.1
#define RUNS_LEAST 5
#define RUNS_APART 0.4
/* Of more starts, how far they are from a line says more. */
#define LINE_LEAST 100
#define OFF_MOST 2.0
/* Pauses of such a part of a thread's time are none of its own. */
#define THINKS_LEAST 0.1
#define THINK_LEAST_NS 5000.0
/* Nearly all of the time is in the long pauses; if they are few, they are behind several
 * requests. */
#define LONG_SHARE 0.9

struct pauses {
	uint64_t count[PLAIN_TIMES], ns[PLAIN_TIMES];
	uint64_t all, all_ns;
	double gap_ns, gap_squares, off_squares, think_squares;
	uint64_t gaps;
	uint64_t runs, run_sum, run_squares;
};

static void sum(struct pauses *p, const struct plain_stream *s)
{
	*p = (struct pauses){ 0 };
	for (unsigned w = 0; w < 2; w++) {
		const struct plain_account *a = &s->dir[w];

		for (unsigned i = 0; i < PLAIN_TIMES; i++) {
			p->count[i] += a->thinks[i];
			p->ns[i] += a->think_ns[i];
			p->all += a->thinks[i];
			p->all_ns += a->think_ns[i];
		}
		p->gaps += a->gaps;
		p->runs += a->runs;
		p->run_sum += a->run_sum;
		p->run_squares += a->run_squares;
		p->gap_ns += a->gap_ns;
		p->gap_squares += a->gap_squares;
		p->off_squares += a->start_squares;
		p->think_squares += a->think_squares;
	}
}

/* Within its power of two by the mean there. */
static void put_quantile(char *to, const struct pauses *p, double q)
{
	uint64_t n = 0, at = (uint64_t)(q * (double)p->all);

	for (unsigned i = 0; i < PLAIN_TIMES; i++) {
		n += p->count[i];
		if (p->count[i] && n > at) {
			units_human_time(to, p->ns[i] / p->count[i]);
			return;
		}
	}
	units_human_time(to, 0);
}

/* Three digits: a person would have written no more. */
static uint64_t rounded(double v)
{
	double unit = v < 1000 ? 1 : pow(10, floor(log10(v)) - 2);

	return (uint64_t)llround(round(v / unit) * unit);
}

/* Bytes of a thread's direction by its time. */
static double rate_of(const struct plain_stream *s, unsigned w)
{
	const struct plain_account *a = &s->dir[w];

	if (!a->count || a->gap_ns <= 0)
		return 0;
	/* Gaps are of all threads, one after the other. */
	return (double)a->bytes / (double)a->count * (double)a->gaps /
	       (a->gap_ns / (double)NS_PER_S);
}

/* A round size is what was asked for, and is rarely missed by more. */
static uint64_t round_rate(double rate)
{
	for (double unit = 1024 * BYTES_PER_MIB; unit >= 1024; unit /= 2)
		if (rate >= unit && fabs(rate / unit - round(rate / unit)) * unit < 0.005 * rate)
			return (uint64_t)(round(rate / unit) * unit);
	return rounded(rate);
}

static void say_rate(struct plain_pace *p, const struct plain_stream *s)
{
	char read[UNITS_TEXT_BYTES], write[UNITS_TEXT_BYTES];

	units_put_size(read, round_rate(rate_of(s, 0)));
	units_put_size(write, round_rate(rate_of(s, 1)));
	if (s->dir[0].count && s->dir[1].count)
		snprintf(p->rate, sizeof(p->rate), "%s,%s", read, write);
	else
		snprintf(p->rate, sizeof(p->rate), "%s", s->dir[1].count ? write : read);
	p->kind = PLAIN_PACE_RATE;
}

/* A pause behind as many requests each time. The first of them are no measure: what is long is not
 * known yet. */
static bool is_in_blocks(const struct pauses *x)
{
	double n = (double)x->runs, mean = (double)x->run_sum / fmax(n, 1);

	return n >= RUNS_LEAST && mean >= 1.8 &&
	       sqrt(fmax((double)x->run_squares / n - mean * mean, 0)) < RUNS_APART * mean;
}

static void say_think(struct plain_pace *p, const struct pauses *x)
{
	uint64_t count = 0, ns = 0;

	for (unsigned i = PLAIN_TIMES; i-- > 0;) {
		count += x->count[i];
		ns += x->ns[i];
		if ((double)ns >= LONG_SHARE * (double)x->all_ns)
			break;
	}
	p->blocks = count ? (x->all + count / 2) / count : 1;
	if (is_in_blocks(x))
		p->blocks = (x->run_sum + x->runs / 2) / x->runs;
	/* Pauses of all lengths are behind every request. */
	if (p->blocks < 2) {
		p->blocks = 1;
		count = x->all;
		ns = x->all_ns;
	}
	units_put_time(p->think, rounded((double)ns / (double)count));
	put_quantile(p->think_p50, x, 0.5);
	put_quantile(p->think_p95, x, 0.95);
	p->kind = PLAIN_PACE_THINK;
}

static double spread_of(double squares, double mean, uint64_t n)
{
	return sqrt(fmax(squares / (double)n - mean * mean, 0));
}

/* At a rate, who comes late makes up for it: starts stay as near to a line as they are to one
 * another. After pauses of its own each moves all that follow. */
static bool is_at_rate(const struct pauses *x, double gap, double spread, double think_spread)
{
	double off = sqrt(x->off_squares / (double)x->gaps);

	if (x->gaps >= LINE_LEAST)
		return off < OFF_MOST * fmax(spread, EVEN * gap) && spread <= UNEVEN * think_spread;
	return spread < EVEN * gap && spread < think_spread;
}

void plain_pace_find(struct plain_pace *p, const struct plain_stream *s)
{
	struct pauses x;
	double mean, spread, think_spread;

	*p = (struct plain_pace){ .blocks = 1 };
	sum(&x, s);
	if (x.gaps < GAPS_LEAST || x.all == 0)
		return;
	mean = (double)x.all_ns / (double)x.all;
	if (mean < THINK_LEAST_NS || (double)x.all_ns < THINKS_LEAST * x.gap_ns)
		return;
	p->gap_ns = x.gap_ns / (double)x.gaps;
	spread = spread_of(x.gap_squares, p->gap_ns, x.gaps);
	think_spread = spread_of(x.think_squares, mean, x.all);
	p->gap_spread = spread / p->gap_ns;
	if (!is_in_blocks(&x) && is_at_rate(&x, p->gap_ns, spread, think_spread))
		say_rate(p, s);
	else
		say_think(p, &x);
}
