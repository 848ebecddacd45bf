/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_writer.c - writes options and comments of a job file from a DLIO configuration. */
#include "import/dlio/dlio_writer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "job/job.h"

/* Columns of a comment, as in the jobs that come with mlgen. */
#define WIDTH 100
/* Bytes of an option; a longer line is not readable. */
#define OPTION_MAX 190

const struct dlio_value *dlio_get(struct dlio_writer *w, const char *path)
{
	const struct dlio_key *k = dlio_key_of(path);
	const struct dlio_value *v = dlio_value(w->c, path);
	const char *dot = strrchr(path, '.');

	if (!v->node && !v->is_used && !k->is_quiet && (k->def || k->type == DLIO_TIME))
		buf_addf(&w->defaults, "%s%s=%s", w->defaults.len ? ", " : "", dot ? dot + 1 : path,
			 k->def ? k->def : "0");
	return dlio_get_quietly(w, path);
}

const struct dlio_value *dlio_get_quietly(struct dlio_writer *w, const char *path)
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

void dlio_option_from(struct dlio_writer *w, const char *path)
{
	const struct dlio_key *k = dlio_key_of(path);
	struct dlio_value v = *dlio_get(w, path);
	char stdev[64];

	/* The stdev of a normal time may be a key of its own, which has precedence. */
	snprintf(stdev, sizeof(stdev), "%s_stdev", path);
	if (k->type == DLIO_TIME && v.time.kind <= DLIO_NORMAL && dlio_is_set(w->c, stdev)) {
		v.time.kind = DLIO_NORMAL;
		v.time.b = dlio_get(w, stdev)->number;
	}
	if (k->type == DLIO_TIME && v.time.kind == DLIO_POISSON)
		dlio_comment(w, "DLIO draws whole seconds from a Poisson distribution; here the "
				"times are normal, with the same mean and stdev.");
	buf_addf(&w->block, "%s=", k->option);
	k->convert(&w->block, &v);
	buf_addc(&w->block, '\n');
}

void dlio_option_set(struct dlio_writer *w, const char *path, const char *fmt, ...)
{
	char value[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	dlio_get(w, path);
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

void dlio_comment(struct dlio_writer *w, const char *fmt, ...)
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

void dlio_block(struct dlio_writer *w, const char *heading)
{
	if (heading) {
		buf_addf(w->out, "\n# --- %s ", heading);
		for (size_t width = 8 + strlen(heading); width < 90; width++)
			buf_addc(w->out, '-');
		buf_addc(w->out, '\n');
	}
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
