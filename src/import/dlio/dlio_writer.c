/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_writer.c - the lines of a job file that is made of DLIO's configuration. */
#include "import/dlio/dlio_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "job/job.h"

/* Comments are as wide as those of the jobs that come with mlgen. */
#define WIDTH 100
/* A longer line nobody reads; columns are put together then. */
#define OPTION_MAX 190

const struct dlio_value *dlio_take(struct dlio_writer *w, const char *path)
{
	const struct dlio_key *k = dlio_key_of(path);
	const struct dlio_value *v = dlio_value(w->c, path);
	const char *dot = strrchr(path, '.');

	if (!v->node && !v->is_used && !k->is_quiet && (k->def || k->type == DLIO_TIME))
		buf_addf(&w->defaults, "%s%s=%s", w->defaults.len ? ", " : "", dot ? dot + 1 : path,
			 k->def ? k->def : "0");
	return dlio_use(w, path);
}

const struct dlio_value *dlio_use(struct dlio_writer *w, const char *path)
{
	struct dlio_value *v = &w->c->values[dlio_key_of(path) - dlio_keys];

	v->is_used = true;
	return v;
}

/* ---- options ---- */

void dlio_option(struct dlio_writer *w, const char *fmt, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	buf_addf(&w->block, "%s\n", line);
}

/* In the YAML the stdev is a key of its own, which replaces that of a normal time. */
static void take_stdev(struct dlio_writer *w, const char *path, struct dlio_time *t)
{
	char stdev[64];

	snprintf(stdev, sizeof(stdev), "%s_stdev", path);
	if (t->kind <= DLIO_NORMAL && dlio_is_set(w->c, stdev)) {
		t->kind = DLIO_NORMAL;
		t->b = dlio_take(w, stdev)->number;
	}
	if (t->kind == DLIO_POISSON)
		dlio_say(w, "DLIO draws whole seconds of a Poisson distribution; here they are "
			    "normal, of the same mean and stdev.");
}

void dlio_option_of(struct dlio_writer *w, const char *path)
{
	const struct dlio_key *k = dlio_key_of(path);
	struct dlio_value v = *dlio_take(w, path);

	if (k->type == DLIO_TIME)
		take_stdev(w, path, &v.time);
	buf_addf(&w->block, "%s=", k->option);
	k->convert(&w->block, &v);
	buf_addc(&w->block, '\n');
}

void dlio_option_as(struct dlio_writer *w, const char *path, const char *fmt, ...)
{
	char value[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	dlio_take(w, path);
	dlio_option(w, "%s=%s", dlio_key_of(path)->option, value);
}

bool dlio_option_text(struct dlio_writer *w, const char *name, const char *text)
{
	if (!*text || jobreader_cannot_hold(text) || strlen(name) + strlen(text) > OPTION_MAX)
		return false;
	buf_addf(&w->block, "%s=%s\n", name, text);
	return true;
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

		buf_addf(&text, "Not in the YAML, so DLIO's defaults: %s.", buf_str(&w->defaults));
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
