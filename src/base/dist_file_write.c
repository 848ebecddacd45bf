/* SPDX-License-Identifier: Apache-2.0 */
/* dist_file_write.c - many values become a file of at most some thousand of them. */
#include <inttypes.h>
#include <stdbool.h>

#include "base/dist_file.h"
#include "base/units.h"

/* Who comes so often stands by itself: at most as many as that. */
#define OFTEN_PART 1024u

struct writing {
	FILE *to;
	enum dist_unit unit;
	const uint64_t *values;
	size_t count;
	size_t step; /* values from one quantile to the next */
};

/* How many from here on are the same. */
static size_t run_of(const struct writing *w, size_t at)
{
	size_t end = at + 1;

	while (end < w->count && w->values[end] == w->values[at])
		end++;
	return end - at;
}

static size_t count_different(const struct writing *w)
{
	size_t n = 0;

	for (size_t at = 0; at < w->count; at += run_of(w, at))
		n++;
	return n;
}

static void put_value(const struct writing *w, uint64_t v)
{
	char text[UNITS_TEXT_BYTES];

	/* A size without a suffix is the same with every kb_base. */
	if (w->unit == DIST_BYTES)
		fprintf(w->to, "%" PRIu64, v);
	else
		fputs(units_put_time(text, v), w->to);
}

static void put_counted(const struct writing *w, uint64_t v, size_t count)
{
	put_value(w, v);
	fprintf(w->to, " x%.6g\n", (double)count / (double)w->step);
}

static void put_plain(const struct writing *w, uint64_t v)
{
	put_value(w, v);
	fputc('\n', w->to);
}

/* Values from .. to-1, none of which comes often: quantiles, and what is left by its median. */
static void put_stretch(const struct writing *w, size_t from, size_t to)
{
	size_t whole = (to - from) / w->step * w->step, left = from + whole;

	for (size_t at = from; at < left; at += w->step)
		put_plain(w, w->values[at]);
	if (whole)
		put_plain(w, w->values[left - 1]);
	if (left < to)
		put_counted(w, w->values[left + (to - left) / 2], to - left);
}

static bool comes_often(const struct writing *w, size_t n)
{
	return n > 1 && n >= w->count / OFTEN_PART;
}

/* One stretch between two that come often, which takes two lines more than it has steps. */
static void choose_step(struct writing *w)
{
	size_t often = 0, rest = 0, lines;

	for (size_t at = 0, n; at < w->count; at += n) {
		n = run_of(w, at);
		if (comes_often(w, n))
			often++;
		else
			rest += n;
	}
	lines = DIST_FILE_VALUES - often - 2 * (often + 1);
	w->step = rest ? (rest + lines - 1) / lines : 1;
}

static void put_quantiles(struct writing *w)
{
	size_t from = 0;

	choose_step(w);
	for (size_t at = 0, n; at < w->count; at += n) {
		n = run_of(w, at);
		if (!comes_often(w, n))
			continue;
		put_stretch(w, from, at);
		put_counted(w, w->values[at], n);
		from = at + n;
	}
	put_stretch(w, from, w->count);
}

void dist_file_write(FILE *to, const uint64_t *values, size_t count, enum dist_unit unit,
		     const char *comment)
{
	struct writing w = { .to = to, .unit = unit, .values = values, .count = count, .step = 1 };

	fprintf(to, "# %s\n", comment);
	if (count_different(&w) > DIST_FILE_VALUES) {
		fputs("# quantiles; xN: this value alone, as much as N steps between them\n", to);
		put_quantiles(&w);
		return;
	}
	fputs("# VALUE xN: N of this value\n", to);
	for (size_t at = 0, n; at < count; at += n) {
		n = run_of(&w, at);
		put_counted(&w, values[at], n);
	}
}
