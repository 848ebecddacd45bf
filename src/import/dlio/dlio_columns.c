/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_columns.c - the columns of a Parquet file, as DLIO's YAML lists them. */
#include "import/dlio/dlio_parts.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/mem.h"
#include "base/util.h"

/* As many as columns= takes. */
#define COLUMNS_MAX 10000
#define NAME_MAX_BYTES 64
#define VALUES_MAX 1e9

static const struct type {
	const char *words; /* of DLIO and NumPy */
	const char *name;  /* of mlgen */
	unsigned bytes;
} types[] = {
	{ "float32 f32", "float32", 4 },
	{ "float64 f64 double", "float64", 8 },
	{ "float16 f16 int16 uint16", "float16", 2 },
	{ "int8 i8 uint8 bool", "int8", 1 },
	{ "int32 i32 uint32", "int32", 4 },
	{ "int64 i64 uint64", "int64", 8 },
};

struct col {
	char name[NAME_MAX_BYTES];
	size_t order; /* of its first like */
	const struct type *type;
	double values;
	bool is_read;
};

struct cols {
	struct col *list;
	size_t count, read_count;
	double row_bytes;
};

/* ---- reading ---- */

static const struct type *find_type(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (dlio_has_word(types[i].words, word))
			return &types[i];
	return NULL;
}

static bool is_name(const char *s)
{
	size_t len = strlen(s);

	if (!len || len >= NAME_MAX_BYTES)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

static void fault(struct dlio_writer *w, const struct yaml_node *n, const char *what)
{
	dlio_fault(w->c, n, "dataset.parquet.columns", "%s", what);
}

static void read_name(struct dlio_writer *w, const struct yaml_node *n, size_t number,
		      struct col *col)
{
	const struct yaml_node *name = yaml_find(n, "name");

	if (!name)
		snprintf(col->name, sizeof(col->name), "column_%zu", number);
	else if (name->kind == YAML_TEXT && is_name(name->text))
		snprintf(col->name, sizeof(col->name), "%s", name->text);
	else
		fault(w, name,
		      "name: a name of letters, digits and '_' is needed, of at most 63 bytes");
}

static void read_type(struct dlio_writer *w, const struct yaml_node *n, struct col *col)
{
	const struct yaml_node *dtype = yaml_find(n, "dtype");
	const struct yaml_node *size = yaml_find(n, "size");

	col->type = !dtype ? &types[0] : dtype->kind == YAML_TEXT ? find_type(dtype->text) : NULL;
	if (!col->type) {
		fault(w, dtype,
		      "dtype: one of float16 float32 float64 int8 int16 int32 int64 is needed");
		col->type = &types[0];
	}
	col->values = 1;
	if (size && (!dlio_number(size, &col->values) || col->values < 1 ||
		     col->values > VALUES_MAX || col->values != floor(col->values)))
		fault(w, size, "size: a whole number from 1 on is needed");
}

static void read_choice(struct dlio_writer *w, const struct yaml_node *n, struct col *col)
{
	const struct yaml_node *read = yaml_find(n, "read");

	col->is_read = true;
	if (!read)
		return;
	if (read->kind != YAML_TEXT ||
	    !dlio_has_word("true True TRUE false False FALSE", read->text))
		fault(w, read, "read: True or False is needed");
	else
		col->is_read = tolower((unsigned char)*read->text) == 't';
}

static void dlio_columns_read_all(struct dlio_writer *w, const struct yaml_node *list,
				  struct cols *cols)
{
	cols->list = mem_array(list->count, sizeof(*cols->list));
	for (size_t i = 0; i < list->count; i++) {
		const struct yaml_node *n = list->at[i].value;
		struct col *col = &cols->list[cols->count++];

		read_name(w, n, i, col);
		read_type(w, n, col);
		read_choice(w, n, col);
		cols->read_count += col->is_read;
		cols->row_bytes += col->type->bytes * col->values;
	}
}

/* ---- writing ---- */

/* Where the number behind a name begins. */
static size_t digits_at(const char *name)
{
	size_t len = strlen(name);

	while (len && isdigit((unsigned char)name[len - 1]))
		len--;
	return len;
}

static bool follows(const struct col *a, const struct col *b)
{
	size_t at = digits_at(a->name);
	const char *x = a->name + at, *y = b->name + at;

	return at && *x && digits_at(b->name) == at && strncmp(a->name, b->name, at) == 0 &&
	       strlen(x) == strlen(y) && strlen(x) < 10 &&
	       strtoul(x, NULL, 10) + 1 == strtoul(y, NULL, 10);
}

static bool is_alike(const struct col *a, const struct col *b)
{
	return a->type == b->type && a->values == b->values;
}

/* Names with ranges; `typed`: each with its type, else those that are read. */
static void add_list(struct buf *out, const struct cols *cols, bool typed)
{
	const struct col *list = cols->list;

	for (size_t i = 0, last; i < cols->count; i = last + 1) {
		for (last = i; last + 1 < cols->count; last++)
			if (!follows(&list[last], &list[last + 1]) ||
			    (typed ? !is_alike(&list[last], &list[last + 1])
				   : !list[last + 1].is_read))
				break;
		if (!typed && !list[i].is_read) {
			last = i;
			continue;
		}
		buf_addf(out, "%s%s", out->len ? "," : "", list[i].name);
		if (last > i)
			buf_addf(out, "..%s", list[last].name + digits_at(list[last].name));
		if (typed)
			buf_addf(out, ":%s", list[i].type->name);
		if (typed && list[i].values > 1)
			buf_addf(out, "[%.0f]", list[i].values);
	}
}

/* Columns that are alike come together, those that are read first. */
static int dlio_columns_compare(const void *a, const void *b)
{
	const struct col *x = a, *y = b;
	int order = COMPARE(x->order, y->order);

	return order ? order : COMPARE(y->is_read, x->is_read);
}

static void regroup(struct cols *cols)
{
	char letter = cols->list[0].name[0];
	int width = snprintf(NULL, 0, "%zu", cols->count - 1);

	for (size_t i = 0; i < cols->count; i++) {
		size_t first = 0;

		while (!is_alike(&cols->list[first], &cols->list[i]))
			first++;
		cols->list[i].order = first;
	}
	qsort(cols->list, cols->count, sizeof(*cols->list), dlio_columns_compare);
	for (size_t i = 0; i < cols->count; i++)
		snprintf(cols->list[i].name, sizeof(cols->list[i].name), "%c%0*zu", letter, width,
			 i);
}

static bool write_lists(struct dlio_writer *w, const struct cols *cols)
{
	size_t start = w->block.len;
	struct buf all = { 0 }, some = { 0 };
	bool fits;

	add_list(&all, cols, true);
	fits = dlio_option_text(w, "columns", buf_str(&all));
	if (fits && cols->read_count < cols->count) {
		add_list(&some, cols, false);
		fits = dlio_option_text(w, "read_columns", buf_str(&some));
	}
	if (!fits && w->block.len > start) {
		w->block.len = start;
		w->block.s[start] = '\0';
	}
	buf_fini(&all);
	buf_fini(&some);
	return fits;
}

static void write_columns(struct dlio_writer *w, struct cols *cols, const struct yaml_node *n)
{
	if (cols->read_count == 0)
		fault(w, n, "read: no column is read");
	if (write_lists(w, cols))
		return;
	regroup(cols);
	dlio_say(w,
		 "%zu columns in the YAML's order would be too long a line: here those of a type "
		 "stand beside each other, %zu of them are read, and the names are mlgen's.",
		 cols->count, cols->read_count);
	if (!write_lists(w, cols))
		fault(w, n, "more kinds of columns than a line of a job file can say");
}

static void compare_bytes(struct dlio_writer *w, double bytes)
{
	const struct dlio_value *v = dlio_take(w, "dataset.record_length_bytes");

	dlio_take(w, "dataset.record_length_bytes_stdev");
	if (v->node && v->number != bytes)
		dlio_say(w, "The columns are %.0f bytes, not the %.12g of record_length_bytes.",
			 bytes, v->number);
}

/* The largest number up to `most` that divides `all`. */
static double divisor(double all, double most)
{
	double best = 1;

	for (double d = 1; d * d <= all; d++) {
		if (fmod(all, d) != 0)
			continue;
		if (d <= most)
			best = fmax(best, d);
		if (all / d <= most)
			best = fmax(best, all / d);
	}
	return best;
}

static void write_row_groups(struct dlio_writer *w)
{
	double said = dlio_take(w, "dataset.parquet.row_group_size")->number;
	double all = dlio_value(w->c, "dataset.num_samples_per_file")->number;
	double rows = divisor(all, said);

	if (2 * rows < fmin(said, all))
		dlio_fault_of(w->c, "dataset.num_samples_per_file",
			      "%.0f are no whole row groups of %.0f (row_group_size), nor of a "
			      "little less; add ++workload.dataset.num_samples_per_file=%.0f",
			      all, said, fmax(floor(all / said), 1) * said);
	else if (said > all)
		dlio_say(w, "A row group of %.0f rows holds all %.0f of a file.", said, all);
	else if (rows != said)
		dlio_say(w,
			 "%.0f rows do not divide the %.0f of a file, so that DLIO's last row "
			 "group is shorter; here all are alike.",
			 said, all);
	dlio_option_as(w, "dataset.parquet.row_group_size", "%.0f", rows);
}

double dlio_write_columns(struct dlio_writer *w)
{
	const struct yaml_node *n = dlio_take(w, "dataset.parquet.columns")->node;
	struct cols cols = { 0 };
	double bytes = 0;

	write_row_groups(w);
	if (!n || !n->count)
		return 0;
	if (n->count > COLUMNS_MAX) {
		fault(w, n, "more than 10,000 columns");
		return 0;
	}
	dlio_columns_read_all(w, n, &cols);
	if (!w->c->fault_count) {
		bytes = cols.row_bytes;
		write_columns(w, &cols, n);
		compare_bytes(w, bytes);
	}
	mem_free(cols.list);
	return bytes;
}
