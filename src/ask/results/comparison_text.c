/* SPDX-License-Identifier: Apache-2.0 */
/* comparison_text.c - print a comparison as a table or as lines of JSON. */
#include "ask/results/results_internal.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "base/vec.h"

/* ---- JSON lines ---- */

static json_t *real_or_null(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

static json_t *line_object(const struct comparison *c)
{
	json_t *o = json_object();

	json_object_set_new(o, "jobname", json_string(c->of[0]->job->doc.jobname));
	return o;
}

static void print_line(FILE *to, json_t *o)
{
	jsonfile_dump(to, o, 0);
	json_decref(o);
	fputc('\n', to);
}

void comparison_print_json(FILE *to, const struct comparison *c, const struct comparison_rows *rows)
{
	struct record_options at = { 0 };
	const char *option;

	while ((option = comparison_next_option(c, &at))) {
		json_t *o = line_object(c), *values = json_array();

		for (size_t i = 0; i < c->count; i++) {
			const char *text = record_option(c->of[i], option);

			json_array_append_new(values, text ? json_string(text) : json_null());
		}
		json_object_set_new(o, "option", json_string(option));
		json_object_set_new(o, "values", values);
		print_line(to, o);
	}
	for (size_t i = 0; i < rows->count; i++) {
		const struct comparison_row *row = &rows->of[i];
		json_t *o = line_object(c), *values = json_array();
		json_t *differences = json_array(), *marks = json_array(), *noise = json_array();

		for (size_t k = 0; k < c->count; k++) {
			const char *word = k ? comparison_mark_word(row->marks[k]) : NULL;
			bool is_known = figure_shown_kind(&row->values[k]) != VALUE_NONE;

			json_array_append_new(
				values, real_or_null(is_known ? row->values[k].real : (double)NAN));
			json_array_append_new(differences,
					      k ? real_or_null(row->difference[k]) : json_null());
			json_array_append_new(noise, k ? real_or_null(row->noise[k]) : json_null());
			json_array_append_new(marks, word ? json_string(word) : json_null());
		}
		json_object_set_new(o, "figure", json_string(row->figure.path));
		json_object_set_new(o, "values", values);
		json_object_set_new(o, row->is_points ? "difference_points" : "difference_percent",
				    differences);
		json_object_set_new(o, row->is_points ? "noise_points" : "noise_percent", noise);
		json_object_set_new(o, "marks", marks);
		json_object_set_new(o, "decides", json_boolean(row->decides));
		print_line(to, o);
	}
}

/* ---- tables ---- */

#define LABEL_WIDTH 17
#define VALUE_WIDTH 12
#define DIFFERENCE_WIDTH 9 /* "+102%" */
#define STACKED_WIDTH 14   /* "worse +100.0%" */
/* Longer names and options are cut at the start. */
#define VALUE_WIDTH_MAX 26
/* A larger difference is printed as a factor, "12 x". */
#define PERCENT_MAX 999.5

/* Conditions that may explain a difference, in addition to options. */
static const char *const circumstances[] = {
	"mlgen version",
	"machine.hostname",
	"machine.kernel",
	"machine.cpus",
	"machine.memory_bytes",
	"storage.filesystem",
	"storage.mount_source",
	"storage.device",
	"storage.scheduler",
	"verdict.name",
	"complete",
};

/* An option or a condition that differs between the results. */
struct sheet_line {
	char *label;
	char *cells[COMPARISON_FILES];
};

/* The table that is being built. */
struct sheet {
	FILE *to;
	const struct comparison *c;
	int label, value;
	bool is_stacked; /* differences are on a line of their own */
	VEC(struct sheet_line) lines;
};

static const char *document_name(const struct comparison *c, size_t i)
{
	for (size_t k = 0; k < c->count; k++)
		if (k != i && strcmp(c->docs[k].name, c->docs[i].name) == 0)
			return c->docs[i].shown;
	return c->docs[i].name;
}

static void print_value(const struct sheet *s, const char *text)
{
	size_t max = (size_t)s->value;
	struct buf cell = { 0 };

	if (printable_columns(text) <= max) {
		printable_pad(&cell, text, s->value);
		fprintf(s->to, "  %s", buf_str(&cell));
		buf_fini(&cell);
		return;
	}
	/* Do not start within a UTF-8 character. */
	while (printable_columns(text) > max - 3 || ((unsigned char)*text & 0xc0) == 0x80)
		text++;
	fprintf(s->to, "  ...%s", text);
}

static void widen(struct sheet *s, const char *text)
{
	int len = (int)printable_columns(text);

	if (len > s->value)
		s->value = len < VALUE_WIDTH_MAX ? len : VALUE_WIDTH_MAX;
}

/* ---- options and conditions that differ ---- */

/* The caller fills the cells with allocated text. */
static struct sheet_line *add_line(struct sheet *s, const char *label)
{
	vec_push(&s->lines, (struct sheet_line){ .label = mem_strdup(label) });
	return vec_last(&s->lines);
}

static bool same_value(const struct figure_value *a, const struct figure_value *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == VALUE_TEXT)
		return strcmp(a->text, b->text) == 0;
	return a->kind == VALUE_NONE || a->whole == b->whole;
}

static void add_circumstance(struct sheet *s, const char *key)
{
	struct figure figure;
	struct figure_value values[COMPARISON_FILES] = { 0 };
	struct figure_column column;
	bool differs = false;

	if (figure_init(&figure, key, NULL) < 0)
		return;
	for (size_t i = 0; i < s->c->count; i++)
		figure_value(&figure, s->c->of[i], &values[i]);
	for (size_t i = 1; i < s->c->count; i++)
		differs |= !same_value(&values[i], &values[0]);
	if (differs) {
		column_init(&column, &figure, values, s->c->count, 1, false);
		struct sheet_line *l = add_line(s, column.title);
		for (size_t i = 0; i < s->c->count; i++) {
			struct buf cell = { 0 };

			column_cell(&column, &values[i], &cell);
			l->cells[i] = buf_detach(&cell);
		}
	}
	for (size_t i = 0; i < s->c->count; i++)
		figure_value_fini(&values[i]);
}

/* ---- figures ---- */

/* Append "+0.3", "-1.3%", "+102%" or "22,255 x". */
static void append_difference(struct buf *out, const struct comparison_row *row, size_t i)
{
	double d = fmin(row->difference[i], 1e12);
	char times[UNITS_TEXT_BYTES];

	if (isnan(row->difference[i]))
		buf_addc(out, '-');
	else if (row->is_points)
		buf_addf(out, "%+.*f", row->noise_of == SPREAD_NONE ? 0 : 1,
			 fabs(d) < 0.05 ? 0 : d);
	else if (d >= PERCENT_MAX)
		buf_addf(out, "%s x", units_human_count(times, (uint64_t)(1 + d / 100)));
	else
		buf_addf(out, "%+.*f%%", fabs(d) < 99.95 ? 1 : 0, fabs(d) < 0.05 ? 0 : d);
}

/* Print the words after two values and their difference, or below them if the line would be too
 * long, and end the line. Text in brackets is kept together. */
static void print_words(const struct sheet *s, const char *words)
{
	size_t columns = wrap_columns(), first = strcspn(words, "(");
	size_t indent = (size_t)s->label + 2 * (2 + (size_t)s->value) + DIFFERENCE_WIDTH + 2;
	bool is_whole = indent + strlen(words) <= columns;

	if (!*words) {
		fputc('\n', s->to);
		return;
	}
	if (!is_whole && words[first])
		first--; /* leave out the space */
	if (indent + first > columns) {
		indent = (size_t)s->label + 2;
		is_whole = true;
		fprintf(s->to, "\n%*s", (int)indent, "");
	} else {
		fputs("  ", s->to);
	}
	if (is_whole || !words[first])
		fprintf(s->to, "%s\n", words);
	else
		fprintf(s->to, "%.*s\n%*s%s\n", (int)first, words, (int)indent, "",
			words + first + 1);
}

/* Print the difference of two results after their values. */
static void print_difference(const struct sheet *s, const struct comparison_row *row)
{
	const char *percent = row->is_points ? "" : "%";
	struct buf text = { 0 };

	append_difference(&text, row, 1);
	fprintf(s->to, "%*s", DIFFERENCE_WIDTH, buf_str(&text));
	buf_reset(&text);
	if (row->marks[1] == MARK_SAME && row->noise_of == SPREAD_NONE) {
		fputs(row->limit[1] > 0 ? "  allowed\n" : "\n", s->to);
		buf_fini(&text);
		return;
	}
	if (row->marks[1] == MARK_SAME && !isnan(s->c->tolerance))
		buf_add(&text, "within tolerance");
	else if (row->marks[1])
		buf_add(&text, comparison_mark_word(row->marks[1]));
	if (row->marks[1] == MARK_SAME && !isnan(s->c->tolerance))
		buf_addf(&text, " (%g%s)", s->c->tolerance, percent);
	else if (row->marks[1] == MARK_SAME)
		buf_addf(&text, " (%s%.*f%s)", isnan(row->noise[1]) ? "unknown: " : "",
			 row->limit[1] < 99.95 ? 1 : 0, row->limit[1], percent);
	print_words(s, buf_str(&text));
	buf_fini(&text);
}

static void print_row(const struct sheet *s, const struct comparison_row *row)
{
	struct figure_column column;
	char label[128];

	column_init(&column, &row->figure, row->values, s->c->count, 1, true);
	const char *unit = strrchr(column.title, ' ');
	bool is_scaled = column.kind == COLUMN_SCALED && column.scale > 1;
	if (!row->label || !is_scaled)
		snprintf(label, sizeof(label), "%s", row->label ? row->label : column.title);
	else
		snprintf(label, sizeof(label), "%s, %s", row->label,
			 unit ? unit + 1 : column.title);
	fprintf(s->to, "%-*s", s->label, label);
	for (size_t i = 0; i < s->c->count; i++) {
		struct buf cell = { 0 };

		column_cell(&column, &row->values[i], &cell);
		if (column.kind == COLUMN_PERCENT && cell.len > 1)
			buf_addc(&cell, '%');
		print_value(s, buf_str(&cell));
		buf_fini(&cell);
	}
	if (!s->is_stacked) {
		print_difference(s, row);
		return;
	}

	/* The differences of three or more results are printed below their values. An unmarked
	 * difference is within the noise. */
	struct buf text = { 0 };
	fprintf(s->to, "\n%*s", s->label + 2 + s->value, "");
	for (size_t i = 1; i < s->c->count; i++) {
		buf_reset(&text);
		if (row->marks[i] > MARK_SAME)
			buf_addf(&text, "%s ", comparison_mark_word(row->marks[i]));
		append_difference(&text, row, i);
		print_value(s, buf_str(&text));
	}
	fputc('\n', s->to);
	buf_fini(&text);
}

void comparison_print(FILE *to, const struct comparison *c, const struct comparison_rows *rows)
{
	struct sheet s = { .to = to,
			   .c = c,
			   .label = LABEL_WIDTH,
			   .value = c->count > 2 ? STACKED_WIDTH : VALUE_WIDTH,
			   .is_stacked = c->count > 2 };
	struct record_options at = { 0 };
	const char *option;

	while ((option = comparison_next_option(c, &at))) {
		struct sheet_line *l = add_line(&s, option);

		for (size_t i = 0; i < c->count; i++) {
			const char *text = record_option(c->of[i], option);

			l->cells[i] = mem_strdup(text ? text : "-");
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(circumstances); i++)
		add_circumstance(&s, circumstances[i]);
	for (size_t i = 0; i < c->count; i++) {
		widen(&s, document_name(c, i));
		for (size_t k = 0; k < s.lines.count; k++)
			widen(&s, s.lines.at[k].cells[i]);
	}

	const char *name = c->of[0]->job->doc.jobname;
	struct buf cell = { 0 };
	char *cut = mem_strdup(c->is_one_of_many ? name : "");

	while ((int)printable_columns(cut) > s.label)
		cut[strlen(cut) - 1] = '\0';
	printable_pad(&cell, cut, -s.label);
	fputs(buf_str(&cell), to);
	buf_fini(&cell);
	mem_free(cut);
	for (size_t i = 0; i < c->count; i++)
		print_value(&s, document_name(c, i));
	fputc('\n', to);

	for (size_t k = 0; k < s.lines.count; k++) {
		fprintf(to, "%-*s", s.label, s.lines.at[k].label);
		for (size_t i = 0; i < c->count; i++)
			print_value(&s, s.lines.at[k].cells[i]);
		fputc('\n', to);
	}
	for (size_t i = 0; i < rows->count; i++)
		print_row(&s, &rows->of[i]);

	for (size_t k = 0; k < s.lines.count; k++) {
		mem_free(s.lines.at[k].label);
		for (size_t i = 0; i < c->count; i++)
			mem_free(s.lines.at[k].cells[i]);
	}
	vec_fini(&s.lines);
}
