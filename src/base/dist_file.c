/* SPDX-License-Identifier: Apache-2.0 */
/* dist_file.c - inverse distribution functions, and distributions in files. */
#include "base/dist.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"

/* Above this shape the approximation of Wilson and Hilferty is used as is: its relative error is
 * at most 2e-7 for all but one in a thousand values. */
#define SHAPE_APPROXIMATE 10000.0

/* Relative change at which series and continued fraction end. */
#define PRECISION 1e-15

static double polynomial(const double *c, unsigned terms, double x)
{
	double v = c[terms - 1];

	for (unsigned i = terms - 1; i-- > 0;)
		v = v * x + c[i];
	return v;
}

/* ln of the gamma function for x > 0: Stirling's series above 10. */
static double log_gamma(double x)
{
	/* B(2k) / (2k (2k-1)), Abramowitz & Stegun 6.1.41 */
	static const double c[] = { 1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
				    1.0 / 1188, -691.0 / 360360, 1.0 / 156 };
	static const double half_log_2pi = 0.91893853320467274178;
	double product = 1;

	for (; x < 10; x += 1)
		product *= x;
	double series = polynomial(c, 7, 1 / (x * x)) / x;
	return (x - 0.5) * quantile_log(x) - x + half_log_2pi + series - quantile_log(product);
}

/* The regularised lower incomplete gamma function by its power series, for x < shape + 1
 * (Abramowitz & Stegun 6.5.29), divided by its leading factor. */
static double gamma_series(double shape, double x)
{
	double term = 1 / shape, sum = term;

	for (double n = shape + 1; term > sum * PRECISION; n += 1) {
		term *= x / n;
		sum += term;
	}
	return sum;
}

/* The upper incomplete gamma function by its continued fraction (6.5.31) in Lentz's form. */
static double gamma_fraction(double shape, double x)
{
	double b = x + 1 - shape;
	double c = 1e300, d = 1 / b, v = d;

	for (int i = 1; i < 10000; i++) {
		double a = -i * (i - shape);

		b += 2;
		d = 1 / (a * d + b);
		c = b + a / c;
		v *= c * d;
		if (fabs(c * d - 1) < PRECISION)
			break;
	}
	return v;
}

/* P(shape, x), and x times its density, which both methods compute. */
static double gamma_cdf(double shape, double x, double log_gamma_shape, double *x_density)
{
	*x_density = quantile_exp(shape * quantile_log(x) - x - log_gamma_shape);
	if (x < shape + 1)
		return *x_density * gamma_series(shape, x);
	return 1 - *x_density * gamma_fraction(shape, x);
}

/* Wilson and Hilferty, PNAS 17 (1931): the cube root is nearly normal. */
static double gamma_approximate(double p, double shape)
{
	double spread = 1 / (9 * shape);
	double root = 1 - spread + quantile_normal(p) * sqrt(spread);

	return shape * root * root * root;
}

double quantile_exp(double x)
{
	static const double log2_high = 6.93147180369123816490e-01,
			    log2_low = 1.90821492927058770002e-10,
			    log2_inverse = 1.44269504088896340736;
	/* 1 / n! */
	static const double c[] = { 1.0,
				    1.0,
				    1.0 / 2,
				    1.0 / 6,
				    1.0 / 24,
				    1.0 / 120,
				    1.0 / 720,
				    1.0 / 5040,
				    1.0 / 40320,
				    1.0 / 362880,
				    1.0 / 3628800,
				    1.0 / 39916800,
				    1.0 / 479001600,
				    1.0 / 6227020800.0,
				    1.0 / 87178291200.0 };

	if (x < -745)
		return 0;
	if (x > 709)
		x = 709;
	double k = floor(x * log2_inverse + 0.5);
	double r = (x - k * log2_high) - k * log2_low;
	return ldexp(polynomial(c, 15, r), (int)k);
}

double quantile_log(double x)
{
	static const double log2_high = 6.93147180369123816490e-01,
			    log2_low = 1.90821492927058770002e-10;
	/* atanh(s) = s (1 + s^2/3 + s^4/5 + ...), |s| < 0.172 */
	static const double c[] = { 1.0,      1.0 / 3,  1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11,
				    1.0 / 13, 1.0 / 15, 1.0 / 17, 1.0 / 19, 1.0 / 21, 1.0 / 23 };
	int k;
	double m = frexp(x, &k);

	if (m < 0.70710678118654752440) {
		m *= 2;
		k--;
	}
	double s = (m - 1) / (m + 1);
	return k * log2_high + (k * log2_low + 2 * s * polynomial(c, 12, s * s));
}

/* Wichura, Applied Statistics 37 (1988), algorithm AS 241, PPND16 */
static const double normal_a[] = {
	3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3,
	1.3731693765509461125e4, 4.5921953931549871457e4, 6.7265770927008700853e4,
	3.3430575583588128105e4, 2.5090809287301226727e3,
};
static const double normal_b[] = {
	1.0,
	4.2313330701600911252e1,
	6.8718700749205790830e2,
	5.3941960214247511077e3,
	2.1213794301586595867e4,
	3.9307895800092710610e4,
	2.8729085735721942674e4,
	5.2264952788528545610e3,
};
static const double normal_c[] = {
	1.42343711074968357734e0,  4.63033784615654529590e0,  5.76949722146069140550e0,
	3.64784832476320460504e0,  1.27045825245236838258e0,  2.41780725177450611770e-1,
	2.27238449892691845833e-2, 7.74545014278341407640e-4,
};
static const double normal_d[] = {
	1.0,
	2.05319162663775882187e0,
	1.67638483018380384940e0,
	6.89767334985100004550e-1,
	1.48103976427480074590e-1,
	1.51986665636164571966e-2,
	5.47593808499534494600e-4,
	1.05075007164441684324e-9,
};
static const double normal_e[] = {
	6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
	2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
	2.71155556874348757815e-5, 2.01033439929228813265e-7,
};
static const double normal_f[] = {
	1.0,
	5.99832206555887937690e-1,
	1.36929880922735805310e-1,
	1.48753612908506148525e-2,
	7.86869131145613259100e-4,
	1.84631831751005468180e-5,
	1.42151175831644588870e-7,
	2.04426310338993978564e-15,
};

double quantile_normal(double p)
{
	double q = p - 0.5;

	if (fabs(q) <= 0.425) {
		double r = 0.180625 - q * q;

		return q * polynomial(normal_a, 8, r) / polynomial(normal_b, 8, r);
	}
	double r = sqrt(-quantile_log(q < 0 ? p : 1 - p));
	double z = r <= 5 ? polynomial(normal_c, 8, r - 1.6) / polynomial(normal_d, 8, r - 1.6)
			  : polynomial(normal_e, 8, r - 5) / polynomial(normal_f, 8, r - 5);
	return q < 0 ? -z : z;
}

double quantile_exponential(double p)
{
	return -quantile_log(1 - p);
}

double quantile_gamma(double p, double shape)
{
	if (shape > SHAPE_APPROXIMATE)
		return gamma_approximate(p, shape);

	double log_gamma_shape = log_gamma(shape);
	/* Near 0 the first term of the series is all of P. */
	double least =
		quantile_exp((quantile_log(p) + quantile_log(shape) + log_gamma_shape) / shape);
	if (least < 1e-200)
		return least;
	double x = gamma_approximate(p, shape);
	if (!(x > least))
		x = least;

	/* P >= p never holds at `least`, so the bracket starts there. */
	double low = least * (1 - 1e-9), high = HUGE_VAL;
	for (int i = 0; i < 200; i++) {
		double x_density;
		double miss = gamma_cdf(shape, x, log_gamma_shape, &x_density) - p;

		if (miss > 0)
			high = x;
		else
			low = x;
		double next = x - miss * x / x_density;
		/* Newton's step left the bracket: bisect it, or double x if it is open. */
		if (!(next > low && next < high))
			next = high < HUGE_VAL ? (low + high) / 2 : 2 * low;
		if (fabs(next - x) <= 1e-14 * x)
			break;
		x = next;
	}
	return x;
}

/* A value that makes up at least 1/OFTEN_PART of all values is written separately, so there are at
 * most OFTEN_PART separate values. */
#define OFTEN_PART 1024u

struct quantile_writer {
	FILE *to;
	enum dist_unit unit;
	const uint64_t *values;
	size_t count;
	size_t step; /* values from one quantile to the next */
};

/* Number of equal values from `at` on. */
static size_t run_of(const struct quantile_writer *w, size_t at)
{
	size_t end = at + 1;

	while (end < w->count && w->values[end] == w->values[at])
		end++;
	return end - at;
}

static void print_value(const struct quantile_writer *w, uint64_t v)
{
	char text[UNITS_TEXT_BYTES];

	/* A size without a suffix is the same for every kb_base. */
	if (w->unit == DIST_BYTES)
		fprintf(w->to, "%" PRIu64, v);
	else
		fputs(units_format_time(text, v), w->to);
}

static void print_counted(const struct quantile_writer *w, uint64_t v, size_t count)
{
	print_value(w, v);
	fprintf(w->to, " x%.6g\n", (double)count / (double)w->step);
}

static void print_plain(const struct quantile_writer *w, uint64_t v)
{
	print_value(w, v);
	fputc('\n', w->to);
}

/* Print values from .. to-1, none of which is frequent, as quantiles, and the remainder as its
 * median. */
static void print_stretch(const struct quantile_writer *w, size_t from, size_t to)
{
	size_t whole = (to - from) / w->step * w->step, left = from + whole;

	for (size_t at = from; at < left; at += w->step)
		print_plain(w, w->values[at]);
	if (whole)
		print_plain(w, w->values[left - 1]);
	if (left < to)
		print_counted(w, w->values[left + (to - left) / 2], to - left);
}

static bool comes_often(const struct quantile_writer *w, size_t n)
{
	return n > 1 && n >= w->count / OFTEN_PART;
}

static void print_quantiles(struct quantile_writer *w)
{
	size_t often = 0, rest = 0, lines, from = 0;

	for (size_t at = 0, n; at < w->count; at += n) {
		n = run_of(w, at);
		if (comes_often(w, n))
			often++;
		else
			rest += n;
	}
	/* Each stretch between frequent values has two lines more than steps. */
	lines = DIST_FILE_VALUES - often - 2 * (often + 1);
	w->step = rest ? (rest + lines - 1) / lines : 1;
	for (size_t at = 0, n; at < w->count; at += n) {
		n = run_of(w, at);
		if (!comes_often(w, n))
			continue;
		print_stretch(w, from, at);
		print_counted(w, w->values[at], n);
		from = at + n;
	}
	print_stretch(w, from, w->count);
}

void dist_file_write(FILE *to, const uint64_t *values, size_t count, enum dist_unit unit,
		     const char *comment)
{
	struct quantile_writer w = {
		.to = to, .unit = unit, .values = values, .count = count, .step = 1
	};
	size_t different = 0;

	for (size_t at = 0; at < count; at += run_of(&w, at))
		different++;
	fprintf(to, "# %s\n", comment);
	if (different > DIST_FILE_VALUES) {
		fputs("# quantiles; xN: this value alone, with the weight of N steps between "
		      "values\n",
		      to);
		print_quantiles(&w);
		return;
	}
	fputs("# VALUE xN: N of this value\n", to);
	for (size_t at = 0, n; at < count; at += n) {
		n = run_of(&w, at);
		print_counted(&w, values[at], n);
	}
}

/* More bytes than the lines and their comments ever need. */
#define BYTES_MAX (UINT64_C(4) << 20)
/* Counts are weights; the sum of all is still exact enough in a double. */
#define COUNT_MAX 1e12

/* A single value, or the interval between two values. */
struct value_piece {
	double low, high;
	double weight, until; /* weight of this piece; sum up to its end */
};

struct dist_file {
	unsigned references;
	char *path;
	double mean, stdev;
	unsigned count;
	struct value_piece *pieces;
};

/* State while a file is read. */
struct dist_file_reader {
	struct wordlines in;
	struct dist_file *f;
	enum dist_unit unit;
	const char *default_unit;
	unsigned kb_base, values;
	/* The previous line. */
	double last;
	bool is_plain; /* the line has no count */
	bool is_alone; /* the value is not yet the end of an interval */
};

#define FAIL(r, code, ...) wordlines_fail(&(r)->in, (code), __VA_ARGS__)

/* ---- read a file ---- */

static void add_piece(struct dist_file *f, double low, double high, double weight)
{
	f->pieces[f->count++] = (struct value_piece){ .low = low, .high = high, .weight = weight };
}

/* Add a plain value without a plain neighbour. */
static void end_plain(struct dist_file_reader *r)
{
	if (r->is_plain && r->is_alone)
		add_piece(r->f, r->last, r->last, 1);
}

static int read_line(void *arg, char *line)
{
	struct dist_file_reader *r = arg;
	const char *value = wordlines_word(&line);
	const char *count = wordlines_word(&line);
	struct mlgen_err why = { 0 };
	double v, weight = 0;
	uint64_t n = 0;
	int rc;

	if (wordlines_word(&line))
		return FAIL(r, -EINVAL, "more than two words; a line is VALUE, or VALUE xCOUNT");
	rc = r->unit == DIST_NS ? units_time(value, r->default_unit, &n, &why)
				: units_size(value, r->kb_base, &n, &why);
	if (rc)
		return FAIL(r, rc, "%s; a line is VALUE, or VALUE xCOUNT", why.text);
	v = (double)n;
	if (v > DIST_VALUE_MAX)
		return FAIL(r, -ERANGE, "'%s': is too large", value);
	if (count && (*count != 'x' || units_f64(count + 1, &weight, &why) ||
		      !(weight > 0 && weight <= COUNT_MAX)))
		return FAIL(r, -EINVAL,
			    "'%s': is not a count; write xN after a value that occurs N times, N "
			    "above 0",
			    count);
	if (r->values == DIST_FILE_VALUES)
		return FAIL(r, -E2BIG, "more than %u values; quantiles of the values are enough",
			    DIST_FILE_VALUES);
	if (r->values && v < r->last)
		return FAIL(r, -EINVAL, "'%s': is below the value before it; values must ascend",
			    value);
	if (count) {
		end_plain(r);
		add_piece(r->f, v, v, weight);
	} else {
		if (r->is_plain)
			add_piece(r->f, r->last, v, 1);
		r->is_alone = !r->is_plain;
	}
	r->is_plain = !count;
	r->values++;
	r->last = v;
	return 0;
}

static double middle(const struct value_piece *p)
{
	return p->low + (p->high - p->low) / 2;
}

static int compute_moments(struct dist_file *f, struct mlgen_err *err)
{
	double all = 0, squares = 0;

	for (unsigned i = 0; i < f->count; i++) {
		struct value_piece *p = &f->pieces[i];

		all += p->weight;
		p->until = all;
		f->mean += p->weight * middle(p);
	}
	f->mean /= all;
	for (unsigned i = 0; i < f->count; i++) {
		const struct value_piece *p = &f->pieces[i];
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

	f->references = 1;
	f->path = mem_strdup(path);
	f->pieces = mem_array(DIST_FILE_VALUES, sizeof(*f->pieces));
	return f;
}

int dist_file_read(struct dist_file **out, const char *path, enum dist_unit unit,
		   const char *default_unit, unsigned kb_base, struct mlgen_err *err)
{
	static const struct wordlines_format values = {
		.option = "",
		.noun = "a file of values",
		.most_bytes = BYTES_MAX,
		.take = read_line,
	};
	struct dist_file_reader r = { .in = { .path = path, .err = err },
				      .f = dist_file_new(path),
				      .unit = unit,
				      .default_unit = default_unit,
				      .kb_base = kb_base };
	int rc = wordlines_read(&r.in, &values, &r);

	*out = NULL;
	if (rc == 0 && r.values == 0)
		rc = mlgen_fail(err, -EINVAL,
				"%s: contains no value; write one per line: VALUE, or VALUE xCOUNT",
				path);
	end_plain(&r);
	if (rc == 0)
		rc = compute_moments(r.f, err);
	if (rc)
		dist_file_unref(r.f);
	else
		*out = r.f;
	return rc;
}

void dist_file_ref(struct dist_file *f)
{
	f->references++;
}

void dist_file_unref(struct dist_file *f)
{
	if (!f || --f->references)
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

void dist_set_file(struct dist *d, struct dist_file *f)
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
	const struct value_piece *in =
		&f->pieces[BISECT(i, 0, f->count - 1, f->pieces[i].until > at)];
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

void dist_file_append(struct buf *out, const struct dist_file *f)
{
	char weight[UNITS_TEXT_BYTES];

	for (unsigned i = 0; i < f->count; i++) {
		const struct value_piece *p = &f->pieces[i];

		buf_addf(out, "%s%.0f", i ? "," : "", p->low);
		if (p->high > p->low)
			buf_addf(out, "-%.0f", p->high);
		if (p->weight < 1 || p->weight > 1)
			buf_addf(out, "x%s", units_format_f64(weight, p->weight));
	}
}

/* Parse LOW[-HIGH][xWEIGHT]. */
static bool recall_piece(struct dist_file *f, const char *text, size_t len)
{
	struct value_piece p = { .weight = 1 };
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

int dist_file_restore(struct dist_file **out, const char *content, struct mlgen_err *err)
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
	if (is_good && compute_moments(f, err) == 0) {
		*out = f;
		return 0;
	}
	dist_file_unref(f);
	return mlgen_fail(err, -EINVAL, "the values of a distribution are missing or damaged");
}
