/* SPDX-License-Identifier: Apache-2.0 */
/* dist_file.c - see dist_file.h. */
#include "base/dist_file.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "base/fnv.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/wordlines.h"

/* More than so many lines and their comments ever need. */
#define BYTES_MAX (UINT64_C(4) << 20)
/* Counts are weights: so many of them still add up in a double. */
#define COUNT_MAX 1e12

/* One value, or all between two. */
struct piece {
	double low, high;
	double weight, until; /* of it; of all up to its end */
};

struct dist_file {
	unsigned holders;
	char *path;
	double mean, stdev;
	unsigned count;
	struct piece *pieces;
};

/* What is read, and how far. */
struct reading {
	struct wordlines in;
	struct dist_file *f;
	enum dist_unit unit;
	const char *default_unit;
	unsigned kb_base, values;
	/* Of the line before. */
	double last;
	bool is_plain; /* it has no count ... */
	bool is_alone; /* ... and nothing that it belongs to yet */
};

#define FAIL(r, code, ...) wordlines_fail(&(r)->in, (code), __VA_ARGS__)

/* ---- reading ---- */

static void add_piece(struct dist_file *f, double low, double high, double weight)
{
	f->pieces[f->count++] = (struct piece){ .low = low, .high = high, .weight = weight };
}

/* A plain value that no other has joined. */
static void end_plain(struct reading *r)
{
	if (r->is_plain && r->is_alone)
		add_piece(r->f, r->last, r->last, 1);
}

static void take_plain(struct reading *r, double v)
{
	if (r->is_plain)
		add_piece(r->f, r->last, v, 1);
	r->is_alone = !r->is_plain;
	r->is_plain = true;
}

static void take_counted(struct reading *r, double v, double count)
{
	end_plain(r);
	r->is_plain = false;
	add_piece(r->f, v, v, count);
}

static int read_value(const struct reading *r, const char *text, double *v)
{
	struct mlgen_err why = { 0 };
	uint64_t n = 0;
	int rc = r->unit == DIST_NS ? units_time(text, r->default_unit, &n, &why)
				    : units_size(text, r->kb_base, &n, &why);

	if (rc)
		return FAIL(r, rc, "%s; a line is VALUE, or VALUE xCOUNT", why.text);
	if ((double)n > DIST_VALUE_MAX)
		return FAIL(r, -ERANGE, "'%s': is too large", text);
	*v = (double)n;
	return 0;
}

static int read_count(const struct reading *r, const char *text, double *count)
{
	struct mlgen_err why = { 0 };

	if (*text != 'x' || units_f64(text + 1, count, &why) ||
	    !(*count > 0 && *count <= COUNT_MAX))
		return FAIL(r, -EINVAL,
			    "'%s': is no count; write xN behind a value that counts N, a number "
			    "above 0",
			    text);
	return 0;
}

static int take_value(struct reading *r, const char *value, const char *count)
{
	double v = 0, weight = 0;
	int rc = read_value(r, value, &v);

	if (rc == 0 && count)
		rc = read_count(r, count, &weight);
	if (rc)
		return rc;
	if (r->values == DIST_FILE_VALUES)
		return FAIL(r, -E2BIG, "more than %u values; quantiles will do", DIST_FILE_VALUES);
	if (r->values && v < r->last)
		return FAIL(r, -EINVAL, "'%s': is below the value before it; they ascend", value);
	if (count)
		take_counted(r, v, weight);
	else
		take_plain(r, v);
	r->values++;
	r->last = v;
	return 0;
}

static int take_line(void *arg, char *line)
{
	struct reading *r = arg;
	const char *value = wordlines_word(&line);
	const char *count = wordlines_word(&line);

	if (wordlines_word(&line))
		return FAIL(r, -EINVAL, "more than two words; a line is VALUE, or VALUE xCOUNT");
	return take_value(r, value, count);
}

static int read_values(struct reading *r)
{
	static const struct wordlines_sort values = {
		.option = "",
		.noun = "a file of values",
		.most_bytes = BYTES_MAX,
		.take = take_line,
	};
	int rc = wordlines_read(&r->in, &values, r);

	if (rc == 0 && r->values == 0)
		rc = mlgen_fail(
			r->in.err, -EINVAL,
			"%s: no value stands in it; write one a line: VALUE, or VALUE xCOUNT",
			r->in.path);
	end_plain(r);
	return rc;
}

static double middle(const struct piece *p)
{
	return p->low + (p->high - p->low) / 2;
}

static int sum_up(struct dist_file *f, struct mlgen_err *err)
{
	double all = 0, squares = 0;

	for (unsigned i = 0; i < f->count; i++) {
		struct piece *p = &f->pieces[i];

		all += p->weight;
		p->until = all;
		f->mean += p->weight * middle(p);
	}
	f->mean /= all;
	for (unsigned i = 0; i < f->count; i++) {
		const struct piece *p = &f->pieces[i];
		double width = p->high - p->low, off = middle(p) - f->mean;

		squares += p->weight * (off * off + width * width / 12);
	}
	f->stdev = sqrt(squares / all);
	if (f->mean > 0)
		return 0;
	return mlgen_fail(err, -EINVAL, "%s: all values are 0; write 0 without a file", f->path);
}

static struct dist_file *dist_file_new(const char *path)
{
	struct dist_file *f = mem_zalloc(sizeof(*f));

	f->holders = 1;
	f->path = mem_strdup(path);
	f->pieces = mem_array(DIST_FILE_VALUES, sizeof(*f->pieces));
	return f;
}

int dist_file_read(struct dist_file **out, const char *path, enum dist_unit unit,
		   const char *default_unit, unsigned kb_base, struct mlgen_err *err)
{
	struct reading r = { .in = { .path = path, .err = err },
			     .f = dist_file_new(path),
			     .unit = unit,
			     .default_unit = default_unit,
			     .kb_base = kb_base };
	int rc = read_values(&r);

	*out = NULL;
	if (rc == 0)
		rc = sum_up(r.f, err);
	if (rc)
		dist_file_drop(r.f);
	else
		*out = r.f;
	return rc;
}

void dist_file_hold(struct dist_file *f)
{
	f->holders++;
}

void dist_file_drop(struct dist_file *f)
{
	if (!f || --f->holders)
		return;
	mem_free(f->path);
	mem_free(f->pieces);
	mem_free(f);
}

struct dist_file *dist_file_of(const struct dist *d)
{
	struct dist_file *f;

	_Static_assert(sizeof(f) <= sizeof(d->b), "no room for an address");
	memcpy(&f, &d->b, sizeof(f));
	return f;
}

double dist_file_factor(const struct dist *d)
{
	return d->a / dist_file_mean(dist_file_of(d));
}

void dist_file_put_into(struct dist *d, struct dist_file *f)
{
	*d = (struct dist){ .kind = DIST_FILE, .a = f->mean };
	memcpy(&d->b, &f, sizeof(f));
}

const char *dist_file_path(const struct dist_file *f)
{
	return f->path;
}

double dist_file_mean(const struct dist_file *f)
{
	return f->mean;
}

double dist_file_stdev(const struct dist_file *f)
{
	return f->stdev;
}

double dist_file_quantile(const struct dist_file *f, double p)
{
	double at = p * f->pieces[f->count - 1].until;
	const struct piece *in = &f->pieces[BISECT(i, 0, f->count - 1, f->pieces[i].until > at)];
	double into;

	into = 1 - (in->until - at) / in->weight;
	into = into > 0 ? into : 0;
	return in->low + (into < 1 ? into : 1) * (in->high - in->low);
}

uint64_t dist_file_hash(const struct dist_file *f)
{
	uint64_t hash = FNV1A;

	for (unsigned i = 0; i < f->count; i++) {
		hash = fnv1a(hash, &f->pieces[i].low, sizeof(double));
		hash = fnv1a(hash, &f->pieces[i].high, sizeof(double));
		hash = fnv1a(hash, &f->pieces[i].weight, sizeof(double));
	}
	return hash;
}

void dist_file_put(struct buf *out, const struct dist_file *f)
{
	char weight[UNITS_TEXT_BYTES];

	for (unsigned i = 0; i < f->count; i++) {
		const struct piece *p = &f->pieces[i];

		buf_addf(out, "%s%.0f", i ? "," : "", p->low);
		if (p->high > p->low)
			buf_addf(out, "-%.0f", p->high);
		if (p->weight < 1 || p->weight > 1)
			buf_addf(out, "x%s", units_put_f64(weight, p->weight));
	}
}

/* LOW[-HIGH][xWEIGHT], as far as the next comma. */
static bool recall_piece(struct dist_file *f, const char *text, size_t len)
{
	struct piece p = { .weight = 1 };
	char word[96], *at = word, *end;

	if (f->count == DIST_FILE_VALUES || len == 0 || len >= sizeof(word))
		return false;
	memcpy(word, text, len);
	word[len] = '\0';
	p.low = p.high = strtod(at, &end);
	if (end > at && *end == '-')
		p.high = strtod(at = end + 1, &end);
	if (end > at && *end == 'x')
		p.weight = strtod(at = end + 1, &end);
	if (end == at || *end || !(p.low >= 0 && p.high >= p.low) || p.high > DIST_VALUE_MAX ||
	    !(p.weight > 0) || p.weight > COUNT_MAX ||
	    (f->count && p.low < f->pieces[f->count - 1].high))
		return false;
	f->pieces[f->count++] = p;
	return true;
}

int dist_file_recall(struct dist_file **out, const char *content, struct mlgen_err *err)
{
	struct dist_file *f = dist_file_new("a manifest");
	bool is_good = true;

	*out = NULL;
	while (is_good) {
		size_t len = strcspn(content, ",");

		is_good = recall_piece(f, content, len);
		content += len;
		if (!*content)
			break;
		content++;
	}
	if (is_good && sum_up(f, err) == 0) {
		*out = f;
		return 0;
	}
	dist_file_drop(f);
	return mlgen_fail(err, -EINVAL, "values of a distribution are missing or damaged");
}
