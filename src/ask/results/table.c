/* SPDX-License-Identifier: Apache-2.0 */
/* table.c - --table: figures of many results, one row each, as text, CSV or JSON lines. */
#include "ask/results/results_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ask/ask.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "report/text/text.h"

/* ---- columns ---- */

static const double kib = 1024, mib = 1048576, gib = 1073741824;

/* The unit at the end of a key, which the title replaces by the unit of the column. */
static const struct {
	const char *ending, *unit;
} endings[] = {
	{ "bytes_per_sec", "bytes/s" },
	{ "bits_per_sec", "bits/s" },
	{ "bytes", "bytes" },
	{ "_ns", "ns" },
};

/* Titles: "sample_bytes_per_sec" becomes "sample", "stall_ns.p99" becomes "stall p99". */
static void set_title(struct figure_column *c, const char *unit)
{
	const char *path = c->figure->path;
	size_t len = strlen(path), end = len;
	const char *part = strstr(path, "_ns.");

	if (strcmp(unit, "ns") == 0 && part) {
		snprintf(c->title, sizeof(c->title), "%.*s %s", (int)(part - path), path, part + 4);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(endings); i++) {
		size_t n = strlen(endings[i].ending);

		if (strcmp(endings[i].unit, unit) == 0 && len >= n &&
		    strcmp(path + len - n, endings[i].ending) == 0)
			end = len - n;
	}
	while (end > 0 && strchr("_.", path[end - 1]))
		end--;
	snprintf(c->title, sizeof(c->title), "%.*s", (int)end, path);
}

static void append_unit(struct figure_column *c, const char *unit)
{
	size_t len = strlen(c->title);

	snprintf(c->title + len, sizeof(c->title) - len, "%s%s", len ? ", " : "", unit);
}

static int decimals_for(double largest)
{
	int d = largest < 9.9995 ? 3 : largest < 99.995 ? 2 : largest < 999.95;

	for (double limit = 0.09995; largest < limit && d < 9; limit /= 10)
		d++;
	return largest > 0 ? d : 0;
}

/* The largest unit in which the largest figure is at least one. */
static void scale_bytes(struct figure_column *c, double largest, bool is_rate, bool is_alone)
{
	struct rate_unit unit = show_rate_unit(largest);
	const char *name = unit.name;

	c->scale = unit.bytes;
	if (!is_rate) {
		c->scale = largest >= gib ? gib : largest >= mib ? mib : kib;
		name = largest >= gib ? "GiB" : largest >= mib ? "MiB" : "KiB";
	}
	set_title(c, is_rate ? "bytes/s" : "bytes");
	if (is_rate && is_alone)
		c->title[0] = '\0';
	append_unit(c, name);
}

void column_init(struct figure_column *c, const struct figure *f, const struct figure_value *values,
		 size_t count, size_t stride, bool is_alone)
{
	struct buf cell = { 0 };
	double largest = 0;

	for (size_t i = 0; i < count; i++) {
		const struct figure_value *value = &values[i * stride];
		bool is_number = value->kind == VALUE_WHOLE || value->kind == VALUE_REAL;

		if (is_number && fabs(value->real) > largest)
			largest = fabs(value->real);
	}
	memset(c, 0, sizeof(*c));
	c->figure = f;
	snprintf(c->title, sizeof(c->title), "%s", f->key);

	bool is_rate = figure_has_unit(f, "bytes/s");

	c->kind = COLUMN_SCALED;
	c->scale = 1;
	if (figure_is_ns(f)) {
		c->scale = 1e6;
		set_title(c, "ns");
		append_unit(c, "ms");
	} else if (is_rate || figure_has_unit(f, "bytes")) {
		scale_bytes(c, largest, is_rate, is_alone);
	} else if (figure_has_unit(f, "bits/s")) {
		c->scale = 1e9;
		set_title(c, "bits/s");
		append_unit(c, "Gb/s");
	} else if (figure_has_unit(f, "KiB/s") || figure_has_unit(f, "ms")) {
		append_unit(c, f->row->unit);
	} else if (figure_has_unit(f, "%")) {
		c->kind = COLUMN_PERCENT;
	} else if (f->kind != FIGURE_METRIC) {
		c->kind = COLUMN_PLAIN;
	}

	c->decimals = c->kind == COLUMN_PERCENT ? 1 : decimals_for(largest / c->scale);
	c->width = (int)printable_columns(c->title);
	for (size_t i = 0; i < count; i++) {
		buf_reset(&cell);
		column_cell(c, &values[i * stride], &cell);
		int width = (int)printable_columns(buf_str(&cell));
		if (width > c->width)
			c->width = width;
	}
	buf_fini(&cell);
}

void column_cell(const struct figure_column *c, const struct figure_value *v, struct buf *out)
{
	char count[UNITS_TEXT_BYTES];
	bool is_whole = v->kind == VALUE_WHOLE && c->scale <= 1 && c->kind == COLUMN_SCALED;

	if (figure_shown_kind(v) == VALUE_NONE)
		buf_addc(out, '-');
	else if (v->kind == VALUE_BOOL)
		buf_add(out, v->whole ? "true" : "false");
	else if (v->text)
		printable_add(out, *v->text ? v->text : "-");
	else if (is_whole)
		buf_add(out, units_human_count(count, v->whole));
	else
		buf_addf(out, "%.*f", c->decimals, v->real / c->scale);
}

/* ---- tables ---- */

#define KEYS_MAX 64
/* At most this many unreadable files are reported by name. */
#define FAULTS_SHOWN 10

struct figure_table {
	char *keys; /* the figures point into this */
	struct figure figures[KEYS_MAX];
	size_t columns;
	struct figure_value *cells; /* row by row */
	size_t with_errors;
	size_t rows, room;
};

static int read_keys(struct figure_table *t, const char *keys, struct mlgen_err *err)
{
	t->keys = mem_strdup(keys);
	for (char *key = t->keys, *next; key; key = next) {
		next = strchr(key, ',');
		if (next)
			*next++ = '\0';
		key += strspn(key, " \t");
		for (size_t len = strlen(key); len && strchr(" \t", key[len - 1]);)
			key[--len] = '\0';
		if (!*key)
			return mlgen_fail(err, -EINVAL,
					  "a key is missing; write keys with commas between them: "
					  "accelerators,au_percent");
		for (size_t i = 0; i < t->columns; i++)
			if (strcmp(t->figures[i].key, key) == 0)
				return mlgen_fail(err, -EINVAL, "%s: is given twice", key);
		if (t->columns == KEYS_MAX)
			return mlgen_fail(err, -EINVAL, "more than %d keys", KEYS_MAX);
		if (figure_init(&t->figures[t->columns++], key, err) < 0)
			return -EINVAL;
	}
	return 0;
}

static void add_document(struct figure_table *t, const struct results_file *doc)
{
	for (size_t j = 0; j < doc->count; j++) {
		size_t bytes = t->columns * sizeof(*t->cells);

		t->cells = mem_grow(t->cells, &t->room, t->rows + 1, bytes);
		struct figure_value *row = &t->cells[t->rows++ * t->columns];
		memset(row, 0, bytes);

		/* Figures leave out failed operations, but look like any other figures. */
		if (record_has_too_many_errors(&doc->records[j]) &&
		    ++t->with_errors <= FAULTS_SHOWN)
			log_note("%s: job '%s' had more errors than max_errors allows; its "
				 "figures cover only what did not fail",
				 doc->path, doc->records[j].job->doc.jobname);
		for (size_t i = 0; i < t->columns; i++)
			figure_value(&t->figures[i], &doc->records[j], &row[i]);
	}
}

/* Read one file at a time. Files that are not results are reported. */
static int read_files(struct figure_table *t, char *const *files, size_t count)
{
	size_t faults = 0;

	for (size_t i = 0; i < count; i++) {
		struct results_file doc;
		struct mlgen_err err = { 0 };

		if (results_open_scored(&doc, files[i], &err) == 0)
			add_document(t, &doc);
		else if (++faults <= FAULTS_SHOWN)
			log_error("%s", err.text);
		results_close(&doc);
	}
	if (t->with_errors > FAULTS_SHOWN)
		log_note("and %zu more jobs with errors", t->with_errors - FAULTS_SHOWN);
	if (faults > FAULTS_SHOWN)
		log_error("and %zu more of %zu files", faults - FAULTS_SHOWN, count);
	return faults ? -EINVAL : 0;
}

/* ---- text ---- */

static bool is_alone(const struct figure_table *t)
{
	unsigned rates = 0;

	for (size_t i = 0; i < t->columns; i++)
		rates += figure_has_unit(&t->figures[i], "bytes/s");
	return rates == 1;
}

static void append_padded(struct buf *line, const char *text, int width)
{
	if (line->len)
		buf_add(line, "  ");
	printable_pad(line, text, width);
}

static void print_text(FILE *to, const struct figure_table *t)
{
	struct figure_column columns[KEYS_MAX];
	struct buf line = { 0 }, cell = { 0 };

	for (size_t i = 0; i < t->columns; i++) {
		column_init(&columns[i], &t->figures[i], &t->cells[i], t->rows, t->columns,
			    is_alone(t));
		append_padded(&line, columns[i].title, columns[i].width);
	}
	fprintf(to, "%s\n", buf_str(&line));
	for (size_t r = 0; r < t->rows; r++) {
		buf_reset(&line);
		for (size_t i = 0; i < t->columns; i++) {
			buf_reset(&cell);
			column_cell(&columns[i], &t->cells[r * t->columns + i], &cell);
			append_padded(&line, buf_str(&cell), columns[i].width);
		}
		fprintf(to, "%s\n", buf_str(&line));
	}
	buf_fini(&line);
	buf_fini(&cell);
}

/* ---- CSV and JSON ---- */

static void print_quoted(FILE *to, const char *text)
{
	if (!strpbrk(text, ",\"\r\n")) {
		fputs(text, to);
		return;
	}
	fputc('"', to);
	for (; *text; text++)
		fprintf(to, *text == '"' ? "\"\"" : "%c", *text);
	fputc('"', to);
}

static void print_csv(FILE *to, const struct figure_table *t)
{
	for (size_t i = 0; i < t->columns; i++) {
		fputs(i ? "," : "", to);
		print_quoted(to, t->figures[i].key);
	}
	fputc('\n', to);
	for (size_t c = 0; c < t->rows * t->columns; c++) {
		enum figure_kind kind = figure_shown_kind(&t->cells[c]);
		char text[UNITS_TEXT_BYTES];

		if (kind == VALUE_WHOLE)
			fprintf(to, "%" PRIu64, t->cells[c].whole);
		else if (kind == VALUE_BOOL)
			fputs(t->cells[c].whole ? "true" : "false", to);
		else if (kind == VALUE_REAL)
			fputs(units_format_f64(text, t->cells[c].real), to);
		else if (kind == VALUE_TEXT)
			print_quoted(to, t->cells[c].text);
		fputc((c + 1) % t->columns ? ',' : '\n', to);
	}
}

static json_t *cell_value(const struct figure_value *v)
{
	switch (figure_shown_kind(v)) {
	case VALUE_WHOLE:
		return json_integer((json_int_t)v->whole);
	case VALUE_BOOL:
		return json_boolean(v->whole);
	case VALUE_REAL:
		return json_real(v->real);
	case VALUE_TEXT:
		return json_string(v->text);
	case VALUE_NONE:
		break;
	}
	return json_null();
}

static void print_json(FILE *to, const struct figure_table *t)
{
	for (size_t r = 0; r < t->rows; r++) {
		json_t *row = json_object();

		for (size_t i = 0; i < t->columns; i++)
			json_object_set_new(row, t->figures[i].key,
					    cell_value(&t->cells[r * t->columns + i]));
		jsonfile_dump(to, row, 0);
		json_decref(row);
		fputc('\n', to);
	}
}

static int print_table(FILE *to, const struct figure_table *t, int format)
{
	switch (format) {
	case OUTPUT_TEXT:
		print_text(to, t);
		return EXIT_RAN;
	case OUTPUT_CSV:
		print_csv(to, t);
		return EXIT_RAN;
	case OUTPUT_JSON:
		print_json(to, t);
		return EXIT_RAN;
	default:
		log_error("output-format: --table prints text, csv or json");
		return EXIT_USAGE;
	}
}

int table_files(const struct ask *a, const char *keys)
{
	struct figure_table t = { .keys = NULL };
	struct mlgen_err err = { 0 };
	int status = EXIT_USAGE;

	if (read_keys(&t, keys, &err) < 0)
		log_error("table: %s", err.text);
	else if (read_files(&t, a->set->files, a->set->file_count) == 0) {
		if (a->json)
			print_json(a->json, &t);
		status = print_table(a->to, &t, a->set->settings.output_format);
	}
	for (size_t i = 0; i < t.rows * t.columns; i++)
		figure_value_fini(&t.cells[i]);
	mem_free(t.cells);
	mem_free(t.keys);
	return status;
}

int ask_table(const struct ask *a)
{
	return table_files(a, a->set->settings.table);
}
