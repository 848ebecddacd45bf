/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_writer.c - the lines of a job file that is made of DLIO's configuration. */
#include "import/dlio/dlio_writer.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Comments are as wide as those of the jobs that come with mlgen. */
#define WIDTH 100
/* Some builds of libinih take no longer line. */
#define OPTION_MAX 190

/* Defaults that no option comes of. */
static bool is_silent(enum dlio_id id)
{
	switch (id) {
	case DLIO_STEPS:
	case DLIO_SUBFOLDERS:
	case DLIO_RECORD_STDEV:
	case DLIO_SEED_CHANGE:
	case DLIO_DATA:
	case DLIO_MODE:
	case DLIO_SHIFT:
	case DLIO_EVERY_STEPS:
	case DLIO_READS:
		return true;
	default:
		return false;
	}
}

const struct dlio_value *dlio_take(struct dlio_writer *w, enum dlio_id id)
{
	const struct dlio_key *k = dlio_key_of(id);
	const char *dot = strrchr(k->path, '.');

	if (!dlio_is_set(w->c, id) && !w->used[id] && !is_silent(id) &&
	    (k->def || k->type == DLIO_TIME))
		buf_addf(&w->defaults, "%s%s=%s", w->defaults.len ? ", " : "",
			 dot ? dot + 1 : k->path, k->def ? k->def : "0");
	w->used[id] = true;
	return &w->c->values[id];
}

void dlio_option(struct dlio_writer *w, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	buf_addf(&w->block, "%s\n", line);
}

void dlio_option_whole(struct dlio_writer *w, const char *name, enum dlio_id id)
{
	dlio_option(w, "%s=%.0f", name, dlio_take(w, id)->number);
}

/* A variable, a comment or a byte that is no text would make it another one. */
static bool is_value(const char *text)
{
	size_t len = strlen(text);

	if (!len || strchr(text, '$') || strstr(text, " #") ||
	    strstr(text, " ;") || *text == ' ' || text[len - 1] == ' ')
		return false;
	for (; *text; text++)
		if ((unsigned char)*text < 0x20 || *text == 0x7f)
			return false;
	return true;
}

bool dlio_option_text(struct dlio_writer *w, const char *name, const char *text)
{
	if (!is_value(text) || strlen(name) + strlen(text) > OPTION_MAX)
		return false;
	buf_addf(&w->block, "%s=%s\n", name, text);
	return true;
}

/* ---- times ---- */

static void add_seconds(struct buf *out, double s)
{
	if (s == 0)
		buf_add(out, "0");
	else if (s >= 1 && s == floor(s))
		buf_addf(out, "%.0fs", s);
	else if (s >= 1e-3)
		buf_addf(out, "%.10gms", s * 1e3);
	else
		buf_addf(out, "%.10gus", s * 1e6);
}

static void add_pair(struct buf *out, const char *name, double a, double b)
{
	buf_addf(out, "%s:", name);
	add_seconds(out, a);
	buf_addc(out, ':');
	add_seconds(out, b);
}

/* A distribution of no width is its middle. */
static void add_time(struct buf *out, const struct dlio_time *t)
{
	switch (t->kind) {
	case DLIO_NORMAL:
		if (t->b > 0 && t->a > 0) {
			add_pair(out, "normal", t->a, t->b);
			return;
		}
		break;
	case DLIO_UNIFORM:
		if (t->b != t->a) {
			add_pair(out, "uniform", fmin(t->a, t->b),
				 fmax(t->a, t->b));
			return;
		}
		break;
	case DLIO_GAMMA:
		if (t->a > 0 && t->b > 0) {
			buf_addf(out, "gamma:%.10g:", t->a);
			add_seconds(out, t->b);
		} else {
			buf_addc(out, '0');
		}
		return;
	case DLIO_EXPONENTIAL:
		if (t->a > 0)
			buf_add(out, "exponential:");
		break;
	case DLIO_POISSON:
		if (t->a > 0) {
			add_pair(out, "normal", t->a, sqrt(t->a));
			return;
		}
		break;
	case DLIO_CONST:
		break;
	}
	add_seconds(out, t->a);
}

void dlio_option_seconds(struct dlio_writer *w, const char *name, double s)
{
	struct buf text = { 0 };

	add_seconds(&text, s);
	dlio_option(w, "%s=%s", name, buf_str(&text));
	buf_fini(&text);
}

void dlio_option_time(struct dlio_writer *w, const char *name,
		      enum dlio_id time, enum dlio_id stdev)
{
	struct buf text = { 0 };
	struct dlio_time t = dlio_take(w, time)->time;

	if (t.kind <= DLIO_NORMAL && dlio_is_set(w->c, stdev)) {
		t.kind = DLIO_NORMAL;
		t.b = dlio_take(w, stdev)->number;
	}
	if (t.kind == DLIO_POISSON)
		dlio_say(w, "DLIO draws whole seconds of a Poisson "
			    "distribution; here they are normal, of the same "
			    "mean and stdev.");
	add_time(&text, &t);
	dlio_option(w, "%s=%s", name, buf_str(&text));
	buf_fini(&text);
}

/* ---- comments ---- */

static void add_comment(struct buf *out, const char *text)
{
	size_t column = 0;

	while (*text) {
		size_t len = strcspn(text, " ");

		if (column && column + 1 + len > WIDTH) {
			buf_addc(out, '\n');
			column = 0;
		}
		if (!column) {
			buf_addc(out, '#');
			column = 1;
		}
		buf_addc(out, ' ');
		buf_addn(out, text, len);
		column += 1 + len;
		text += len;
		text += strspn(text, " ");
	}
	if (column)
		buf_addc(out, '\n');
}

void dlio_say(struct dlio_writer *w, const char *fmt, ...)
{
	char text[2048];
	struct buf clean = { 0 };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	dlio_clean(&clean, text, sizeof(text));
	add_comment(&w->block, buf_str(&clean));
	buf_fini(&clean);
}

struct dlio_digits dlio_digits(double whole)
{
	struct dlio_digits d = { 0 };
	char plain[32];
	size_t len, to = 0;

	len = (size_t)snprintf(plain, sizeof(plain), "%.0f", whole);
	for (size_t i = 0; i < len && len < sizeof(plain); i++) {
		if (i && (len - i) % 3 == 0)
			d.s[to++] = ',';
		d.s[to++] = plain[i];
	}
	return d;
}

static void add_heading(struct buf *out, const char *heading)
{
	size_t width = 8 + strlen(heading);

	buf_addf(out, "\n# --- %s ", heading);
	for (; width < 90; width++)
		buf_addc(out, '-');
	buf_addc(out, '\n');
}

void dlio_block(struct dlio_writer *w, const char *heading)
{
	if (heading)
		add_heading(w->out, heading);
	if (w->defaults.len) {
		struct buf text = { 0 };

		buf_addf(&text, "Not in the YAML, so DLIO's defaults: %s.",
			 buf_str(&w->defaults));
		add_comment(w->out, buf_str(&text));
		buf_fini(&text);
	}
	buf_add(w->out, buf_str(&w->block));
	buf_reset(&w->block);
	buf_reset(&w->defaults);
}

void dlio_writer_fini(struct dlio_writer *w)
{
	buf_fini(&w->block);
	buf_fini(&w->defaults);
}
