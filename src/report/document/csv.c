/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - writes the log of --log: one row per interval and job. */
#include "report/document/document.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/log.h"
#include "base/util.h"

struct csv {
	FILE *to;
	struct buf row;
	char *path;
	bool was_made;   /* csv_open() created the file */
	bool is_emptied; /* the first row empties the file */
	int failed;      /* -errno of the first failed write */
	bool started;
	uint64_t start_ns; /* time 0 of the column `seconds` */
	struct hist *scratch;
};

/* Append a text, made printable so that the file can be followed on a terminal. It is quoted only
 * if it has a comma or a quote. */
static void append_text(struct buf *out, const char *text)
{
	struct buf shown = { 0 };

	printable_add(&shown, text);
	const char *quote = strpbrk(buf_str(&shown), ",\"") ? "\"" : "";
	buf_add(out, quote);
	for (const char *c = buf_str(&shown); *c; c++) {
		if (*c == '"')
			buf_addc(out, '"');
		buf_addc(out, *c);
	}
	buf_add(out, quote);
	buf_fini(&shown);
}

/* A figure that does not apply to this interval, or is unknown, leaves the cell empty. */
static void append_cell(struct csv *c, const struct live_field *f, const struct live_span *s)
{
	struct buf *out = &c->row;
	double percent;
	uint64_t ns;

	switch (f->field.type) {
	case MLGEN_STR:
		append_text(out, *(const char *const *)live_now(f, s));
		break;
	case MLGEN_ENUM:
		for (const struct mlgen_choice *h = f->field.choices; h->name; h++)
			if (h->value == *(const int *)live_now(f, s))
				buf_add(out, h->name);
		break;
	case MLGEN_PERCENT:
		percent = live_percent(f, s);
		if (f->kind == LIVE_SHARE && isnan(percent))
			percent = 0; /* no step has ended */
		if (!isnan(percent))
			buf_addf(out, "%.2f", percent);
		break;
	case MLGEN_HIST:
		ns = live_percentile(f, s, c->scratch);
		if (ns != UINT64_MAX)
			buf_addf(out, "%" PRIu64, ns);
		break;
	case MLGEN_TIME:
		buf_addf(out, "%.3f", (double)live_count(f, s) / NS_PER_S);
		break;
	default:
		if (live_count(f, s) != UINT64_MAX)
			buf_addf(out, "%" PRIu64, live_count(f, s));
	}
}

/* Write the row, and keep the first error. */
static void write_row(struct csv *c)
{
	buf_addc(&c->row, '\n');
	errno = 0;
	if ((fputs(buf_str(&c->row), c->to) < 0 || fflush(c->to) != 0) && c->failed == 0)
		c->failed = errno ? -errno : -EIO;
	buf_reset(&c->row);
}

static void csv_start(struct csv *c, uint64_t now_ns)
{
	struct stat st;

	c->started = true;
	c->start_ns = now_ns;
	if (c->is_emptied && fstat(fileno(c->to), &st) == 0 && S_ISREG(st.st_mode) &&
	    ftruncate(fileno(c->to), 0) < 0)
		c->failed = -errno;
	buf_reset(&c->row);
	for (const struct live_field *f = live_fields; f->field.name; f++)
		if (live_is_column(f))
			buf_addf(&c->row, "%s%s", f == live_fields ? "" : ",", f->field.name);
	write_row(c);
}

static int open_place(struct csv *c, struct place *p, struct mlgen_err *err)
{
	int rc = 0;

	c->path = mem_strdup(p->path ? p->path : p->given);
	c->was_made = p->kind == PLACE_NEW;
	/* If the descriptor was handed over, another program owns the content of the file. */
	c->is_emptied = p->kind != PLACE_STREAM && !p->is_handed_over;
	if (c->was_made)
		rc = place_create(p, err);
	else if (c->is_emptied)
		rc = place_lock(p, err);
	if (rc < 0)
		return rc;
	c->to = fdopen(p->fd, "w");
	if (!c->to)
		return mlgen_fail(err, -errno, "log=%s: %s", p->given, strerror(errno));
	p->fd = -1;
	return 0;
}

int csv_open(struct csv **out, struct place *p, struct mlgen_err *err)
{
	struct csv *c = mem_zalloc(sizeof(*c));
	int rc = open_place(c, p, err);

	place_close(p);
	*out = NULL;
	if (rc < 0) {
		mem_free(c->path);
		mem_free(c);
		return rc;
	}
	buf_init(&c->row);
	c->scratch = hist_new();
	*out = c;
	return 0;
}

void csv_row(struct csv *c, const struct live_span *s)
{
	struct live_host host = *s->host;
	const struct live_span logged = { s->now, s->before, &host };
	uint64_t now_ns = s->now->now_ns;

	if (!c->started)
		csv_start(c, s->before->now_ns);
	host.log_ns = now_ns > c->start_ns ? now_ns - c->start_ns : 0;

	/* Several rows may share a column (live_field.field); a column to which none of them
	 * applies is empty. */
	for (const struct live_field *f = live_fields; f->field.name; f++) {
		if (f->is_unlogged)
			continue;
		if (f != live_fields && f->field.help)
			buf_addc(&c->row, ',');
		if (live_applies(f, &logged))
			append_cell(c, f, &logged);
	}

	write_row(c);
}

int csv_close(struct csv *c)
{
	if (!c)
		return 0;
	int rc = c->failed;
	if (fclose(c->to) != 0 && rc == 0)
		rc = -errno;
	if (c->was_made && !c->started)
		unlink(c->path);
	buf_fini(&c->row);
	hist_free(c->scratch);
	mem_free(c->path);
	mem_free(c);
	return rc;
}
