/* SPDX-License-Identifier: Apache-2.0 */
/* columns.c - parse the options columns= and read_columns= of a table. */
#include "data/formats/parquet/parquet_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"

#define NAME_BYTES (COLUMN_NAME_MAX + 1)
/* The most digits of a number in a name. */
#define DIGITS_MAX 9

/* Rows are in the order of enum column_kind. */
static const struct column_type {
	const char *name;
	unsigned bytes;
} types[] = {
	{ "int8", 1 },    { "int32", 4 },   { "int64", 8 },
	{ "float16", 2 }, { "float32", 4 }, { "float64", 8 },
};

#define TYPES ARRAY_LEN(types)

/* The names of one entry: PREFIX, or PREFIX followed by each number. */
struct name_range {
	const char *option;
	char prefix[NAME_BYTES];
	unsigned digits; /* 0 = one name without a number */
	unsigned long first, last;
};

/* Return the next entry without the white space around it; the caller frees it. *rest becomes NULL
 * after the last entry; the next call then returns NULL. */
static char *next_entry(const char **rest)
{
	const char *from = *rest;

	if (!from)
		return NULL;
	size_t n = strcspn(from, ",");
	*rest = from[n] ? from + n + 1 : NULL;
	while (n > 0 && (*from == ' ' || *from == '\t')) {
		from++;
		n--;
	}
	while (n > 0 && (from[n - 1] == ' ' || from[n - 1] == '\t'))
		n--;
	return mem_strndup(from, n);
}

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";

static int columns_check_name(const char *option, const char *name, struct mlgen_err *err)
{
	size_t n = strlen(name);

	if (n == 0)
		return mlgen_fail(err, -EINVAL, "%s: a name is missing before or after a comma",
				  option);
	if (n > COLUMN_NAME_MAX)
		return mlgen_fail(err, -EINVAL, "%s: '%.30s...': a name has at most %d characters",
				  option, name, COLUMN_NAME_MAX);
	if (strspn(name, letters) != n)
		return mlgen_fail(err, -EINVAL,
				  "%s: '%.255s': a name may have letters, digits, '_' and '-'; a "
				  "range of names is written feature_000..026",
				  option, name);
	return 0;
}

static size_t digits_at_end(const char *text)
{
	size_t n = strlen(text), digits = 0;

	while (digits < n && text[n - digits - 1] >= '0' && text[n - digits - 1] <= '9')
		digits++;
	return digits;
}

static int fail_range(const struct name_range *n, const char *last, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "%s: '%s..%.255s' is not a range; write two numbers with the same number "
			  "of digits, at most %d: feature_000..026",
			  n->option, n->prefix, last, DIGITS_MAX);
}

static int names_parse(struct name_range *n, const char *option, const char *text,
		       struct mlgen_err *err)
{
	const char *dots = strstr(text, "..");
	char *name = dots ? mem_strndup(text, (size_t)(dots - text)) : mem_strdup(text);

	*n = (struct name_range){ .option = option };
	int r = columns_check_name(option, name, err);
	if (r == 0)
		memcpy(n->prefix, name, strlen(name) + 1);
	mem_free(name);
	if (r || !dots)
		return r;

	/* n->prefix is the text before the two dots, and `last` is the text after the dots. */
	const char *last = dots + 2;
	size_t digits = digits_at_end(n->prefix);
	size_t last_digits = digits_at_end(last);
	char *first = n->prefix + strlen(n->prefix) - digits;

	if (digits == 0 || digits > DIGITS_MAX || last_digits == 0 || last_digits > DIGITS_MAX ||
	    last_digits != strlen(last))
		return fail_range(n, last, err);
	n->first = strtoul(first, NULL, 10);
	n->last = strtoul(last, NULL, 10);
	if (n->last < n->first)
		return mlgen_fail(err, -EINVAL,
				  "%s: '%s..%s' runs backwards; write the smaller number first",
				  n->option, n->prefix, last);
	/* 8..12 needs no leading zeros, but in 08..112 the name of 8 is unclear. */
	if (digits > last_digits || (digits < last_digits && digits > 1 && *first == '0'))
		return fail_range(n, last, err);
	if (n->last - n->first >= COLUMNS_MAX)
		return mlgen_fail(err, -EINVAL, "%s: '%s..%s' has more than %d columns", n->option,
				  n->prefix, last, COLUMNS_MAX);
	n->digits = (unsigned)digits;
	*first = '\0';
	return 0;
}

/* Room for the longest name of a range. The prefix is at least a digit shorter than a name, but the
 * last number may have DIGITS_MAX digits. */
#define EXPANDED_BYTES (NAME_BYTES + DIGITS_MAX)

static void columns_name_of(const struct name_range *n, unsigned long number,
			    char out[EXPANDED_BYTES])
{
	if (n->digits)
		snprintf(out, EXPANDED_BYTES, "%s%0*lu", n->prefix, (int)n->digits, number);
	else
		snprintf(out, EXPANDED_BYTES, "%s", n->prefix);
}

/* Parse "N]". */
static int parse_list(struct column *c, const char *entry, char *text, struct mlgen_err *err)
{
	size_t n = strlen(text);
	uint64_t values;

	if (n < 2 || text[n - 1] != ']')
		return mlgen_fail(err, -EINVAL, "columns: '%.255s': a list is written NAME:TYPE[N]",
				  entry);
	text[n - 1] = '\0';
	if (units_u64(text, &values, NULL) || values == 0)
		return mlgen_fail(
			err, -EINVAL,
			"columns: '%.255s': the number of values in a list must be at least 1",
			entry);
	if (values > INT32_MAX / c->bytes)
		return mlgen_fail(err, -EINVAL,
				  "columns: %s: more than %" PRId32
				  " bytes in a row; use several columns",
				  entry, INT32_MAX);
	c->is_list = true;
	c->bytes *= values;
	return 0;
}

/* Parse "TYPE" or "TYPE[N]"; the text is modified. */
static int parse_type(struct column *c, const char *entry, char *text, struct mlgen_err *err)
{
	const char *words[TYPES + 1] = { 0 }, *nearest;
	char *list = strchr(text, '[');

	if (list)
		*list = '\0';
	for (size_t i = 0; i < TYPES; i++) {
		words[i] = types[i].name;
		if (strcmp(types[i].name, text) != 0)
			continue;
		c->kind = (enum column_kind)i;
		c->bytes = types[i].bytes;
		return list ? parse_list(c, entry, list + 1, err) : 0;
	}
	nearest = field_nearest_word(words, text);
	return mlgen_fail(err, -EINVAL,
			  "columns: '%.255s': '%.255s' is not one of int8 int32 int64 float16 "
			  "float32 float64%s%s%s",
			  entry, text, nearest ? "; did you mean '" : "", nearest ? nearest : "",
			  nearest ? "'?" : "");
}

/* Add a column like `like` for each of the names. */
static int add_columns(struct columns *c, const struct name_range *names, const struct column *like,
		       struct mlgen_err *err)
{
	size_t n = names->last - names->first + 1;

	if (n > COLUMNS_MAX - c->count)
		return mlgen_fail(err, -EINVAL, "columns: more than %d of them", COLUMNS_MAX);
	c->list = mem_realloc(c->list, (c->count + n) * sizeof(*c->list));
	for (size_t i = 0; i < n; i++) {
		char name[EXPANDED_BYTES];

		columns_name_of(names, names->first + i, name);
		if (columns_check_name("columns", name, err))
			return -EINVAL;
		c->list[c->count] = *like;
		c->list[c->count].name = mem_strdup(name);
		c->list[c->count++].is_read = true;
	}
	return 0;
}

static int add_entry(struct columns *c, const char *entry, struct mlgen_err *err)
{
	const char *colon = strchr(entry, ':');
	struct column like = { 0 };
	struct name_range names;

	if (!colon)
		return mlgen_fail(
			err, -EINVAL,
			"columns: '%.255s' has no type; write NAME:TYPE, separated by commas",
			entry);
	char *name = mem_strndup(entry, (size_t)(colon - entry));
	char *type = mem_strdup(colon + 1);
	int r = names_parse(&names, "columns", name, err);
	if (r == 0)
		r = parse_type(&like, entry, type, err);
	if (r == 0)
		r = add_columns(c, &names, &like, err);
	mem_free(name);
	mem_free(type);
	return r;
}

static int columns_compare(const void *a, const void *b)
{
	const struct column *const *x = a, *const *y = b;

	return strcmp((*x)->name, (*y)->name);
}

static int sort_names(struct columns *c, struct mlgen_err *err)
{
	c->by_name = mem_array(c->count, sizeof(*c->by_name));
	for (unsigned i = 0; i < c->count; i++)
		c->by_name[i] = &c->list[i];
	qsort(c->by_name, c->count, sizeof(*c->by_name), columns_compare);
	for (unsigned i = 1; i < c->count; i++)
		if (strcmp(c->by_name[i - 1]->name, c->by_name[i]->name) == 0)
			return mlgen_fail(err, -EINVAL,
					  "columns: %s appears twice; name each column once",
					  c->by_name[i]->name);
	return 0;
}

static int fail_no_column(const struct columns *c, const char *name, struct mlgen_err *err)
{
	const char **words = mem_array(c->count + 1, sizeof(*words));
	int r;

	for (unsigned i = 0; i < c->count; i++)
		words[i] = c->list[i].name;
	const char *nearest = field_nearest_word(words, name);
	if (nearest)
		r = mlgen_fail(err, -EINVAL,
			       "read_columns: there is no column '%s'; did you mean '%s'?", name,
			       nearest);
	else
		r = mlgen_fail(err, -EINVAL,
			       "read_columns: there is no column '%s'; columns= names %u columns, "
			       "from '%s' to '%s'",
			       name, c->count, words[0], words[c->count - 1]);
	mem_free(words);
	return r;
}

static int select_entry(struct columns *c, const char *entry, struct mlgen_err *err)
{
	struct name_range names;
	int r = names_parse(&names, "read_columns", entry, err);

	for (unsigned long i = names.first; r == 0 && i <= names.last; i++) {
		char name[EXPANDED_BYTES];
		struct column *column;

		columns_name_of(&names, i, name);

		struct column key = { .name = name }, *key_at = &key;
		struct column **found = bsearch(&key_at, c->by_name, c->count, sizeof(*c->by_name),
						columns_compare);

		column = found ? *found : NULL;
		if (!column)
			return fail_no_column(c, name, err);
		if (column->is_read)
			return mlgen_fail(err, -EINVAL,
					  "read_columns: %s appears twice; name each column once",
					  name);
		column->is_read = true;
	}
	return r;
}

int columns_parse(struct columns *c, const char *text, struct mlgen_err *err)
{
	char *entry;
	int r = 0;

	while (r == 0 && (entry = next_entry(&text)) != NULL) {
		r = add_entry(c, entry, err);
		mem_free(entry);
	}
	return r ? r : sort_names(c, err);
}

int columns_default(struct columns *c, uint64_t bytes, struct mlgen_err *err)
{
	const struct column like = { .kind = COLUMN_BYTES, .bytes = bytes };
	const struct name_range names = { .prefix = "data" };

	if (bytes > INT32_MAX)
		return mlgen_fail(err, -EINVAL,
				  "sample_size: %" PRIu64 " bytes are more than the %" PRId32
				  " that one column holds; use several columns",
				  bytes, INT32_MAX);
	int r = add_columns(c, &names, &like, err);
	return r ? r : sort_names(c, err);
}

void columns_fini(struct columns *c)
{
	for (unsigned i = 0; i < c->count; i++)
		mem_free(c->list[i].name);
	mem_free(c->list);
	mem_free(c->by_name);
	memset(c, 0, sizeof(*c));
}

int columns_select(struct columns *c, const char *text, struct mlgen_err *err)
{
	char *entry;
	int r = 0;

	/* Without a text there are no entries, and all columns are read. */
	for (unsigned i = 0; i < c->count; i++)
		c->list[i].is_read = !text;
	while (r == 0 && (entry = next_entry(&text)) != NULL) {
		r = select_entry(c, entry, err);
		mem_free(entry);
	}
	return r;
}

uint64_t columns_row_bytes(const struct columns *c)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < c->count; i++)
		bytes += c->list[i].bytes;
	return bytes;
}

uint64_t columns_read_bytes(const struct columns *c)
{
	uint64_t bytes = 0;

	for (unsigned i = 0; i < c->count; i++)
		bytes += c->list[i].is_read ? c->list[i].bytes : 0;
	return bytes;
}
