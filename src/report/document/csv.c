/* SPDX-License-Identifier: Apache-2.0 */
/* csv.c - --log: one row per interval and job. */
#include "report/document/document.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/printable.h"
#include "base/util.h"

struct csv {
	FILE *to;
	struct buf row;
	char *path;
	bool was_made;   /* by csv_open: there was none */
	bool is_emptied; /* before the first row */
	int failed;      /* -errno of the first failed write */
	bool started;
	uint64_t start_ns; /* of the column `seconds` */
	struct hist *scratch;
};

/* Quoted only where a comma or quote in it asks for it; a row is a line that can be followed on a
 * terminal. */
static void csv_put_text(struct buf *out, const char *text)
{
	struct buf shown = { 0 };

	printable_add(&shown, text);
	if (!strpbrk(buf_str(&shown), ",\"")) {
		buf_add(out, buf_str(&shown));
		buf_fini(&shown);
		return;
	}
	buf_addc(out, '"');
	for (const char *c = buf_str(&shown); *c; c++) {
		if (*c == '"')
			buf_addc(out, '"');
		buf_addc(out, *c);
	}
	buf_addc(out, '"');
	buf_fini(&shown);
}

static void put_choice(struct buf *out, const struct mlgen_choice *choices, int value)
{
	for (const struct mlgen_choice *c = choices; c->name; c++)
		if (c->value == value)
			buf_add(out, c->name);
}

static void put_percent(struct buf *out, const struct live_field *f, const struct live_span *s)
{
	double percent = live_percent(f, s);

	if (f->kind == LIVE_SHARE && isnan(percent))
		percent = 0; /* of steps, and none ended */
	if (!isnan(percent))
		buf_addf(out, "%.2f", percent);
}

static void put_percentile(struct csv *c, const struct live_field *f, const struct live_span *s)
{
	uint64_t ns = live_percentile(f, s, c->scratch);

	if (ns != UINT64_MAX)
		buf_addf(&c->row, "%" PRIu64, ns);
}

/* What does not apply to this interval, or is not known, is empty. */
static void put_cell(struct csv *c, const struct live_field *f, const struct live_span *s)
{
	struct buf *out = &c->row;

	switch (f->field.type) {
	case MLGEN_STR:
		csv_put_text(out, *(const char *const *)live_now(f, s));
		break;
	case MLGEN_ENUM:
		put_choice(out, f->field.choices, *(const int *)live_now(f, s));
		break;
	case MLGEN_PERCENT:
		put_percent(out, f, s);
		break;
	case MLGEN_HIST:
		put_percentile(c, f, s);
		break;
	case MLGEN_TIME:
		buf_addf(out, "%.3f", (double)live_count(f, s) / NS_PER_S);
		break;
	default:
		if (live_count(f, s) != UINT64_MAX)
			buf_addf(out, "%" PRIu64, live_count(f, s));
	}
}

/* The figures that are columns; what a column has no row for is empty. */
static void put_cells(struct csv *c, const struct live_span *s)
{
	for (const struct live_field *f = live_fields; f->field.name; f++) {
		if (f->is_unlogged)
			continue;
		if (f != live_fields && f->field.help)
			buf_addc(&c->row, ',');
		if (live_applies(f, s))
			put_cell(c, f, s);
	}
}

static void put_names(struct buf *out)
{
	for (const struct live_field *f = live_fields; f->field.name; f++)
		if (live_is_column(f))
			buf_addf(out, "%s%s", f == live_fields ? "" : ",", f->field.name);
}

/* A row goes out whole or not at all; what fails first is kept. */
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
	put_names(&c->row);
	write_row(c);
}

static int open_place(struct csv *c, struct place *p, struct mlgen_err *err)
{
	int rc = 0;

	c->path = mem_strdup(p->path ? p->path : p->given);
	c->was_made = p->kind == PLACE_NEW;
	/* A descriptor of another program's: what is before it is not ours. */
	c->is_emptied = p->kind != PLACE_STREAM && !p->is_handed_over;
	if (c->was_made)
		rc = place_make(p, err);
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
	uint64_t now_ns = s->now->now_ns;

	if (!c->started)
		csv_start(c, s->before->now_ns);
	host.log_ns = now_ns > c->start_ns ? now_ns - c->start_ns : 0;
	put_cells(c, &(struct live_span){ s->now, s->before, &host });
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
