/* SPDX-License-Identifier: Apache-2.0 */
/* parquet_names.c - which columns of somebody else's Parquet file read_columns= names. */
#include "data/formats/parquet/parquet_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "data/formats/parquet/parquet.h"

#define DIGITS_MAX 9

static size_t digits_of(const char *s)
{
	return strspn(s, "0123456789");
}

/* "feature_000..026" */
static void parse_range(struct parquet_name *n)
{
	char *dots = strstr(n->text, ".."), *number = dots;

	if (!dots)
		return;
	while (number > n->text && number[-1] >= '0' && number[-1] <= '9')
		number--;
	n->digits = (size_t)(dots - number);
	if (n->digits == 0 || n->digits > DIGITS_MAX || digits_of(dots + 2) != strlen(dots + 2) ||
	    !dots[2] || strlen(dots + 2) > DIGITS_MAX)
		return;
	n->first = strtoul(number, NULL, 10);
	n->last = strtoul(dots + 2, NULL, 10);
	n->is_range = true;
	*number = '\0';
}

int parquet_names_init(struct parquet_names *n, const char *text, struct look *l)
{
	*n = (struct parquet_names){ 0 };
	while (text && *text) {
		size_t len = strcspn(text, ","), blank = strspn(text, " \t");
		size_t end = len;

		while (end > blank && (text[end - 1] == ' ' || text[end - 1] == '\t'))
			end--;
		if (end <= blank || n->count == COLUMNS_MAX)
			return mlgen_fail(l->err, -EINVAL,
					  "read_columns: a name is missing, or there are more than "
					  "%d; names and commas take turns",
					  COLUMNS_MAX);
		n->list = mem_realloc(n->list, (n->count + 1) * sizeof(*n->list));
		n->list[n->count] =
			(struct parquet_name){ .text = mem_strndup(text + blank, end - blank) };
		parse_range(&n->list[n->count++]);
		text += len + (text[len] == ',');
	}
	return 0;
}

void parquet_names_fini(struct parquet_names *n)
{
	for (size_t i = 0; i < n->count; i++)
		mem_free(n->list[i].text);
	mem_free(n->list);
	n->list = NULL;
	n->count = 0;
}

/* Ends the name here, or goes on with what is within? */
static bool parquet_names_ends(const char *rest)
{
	return *rest == '\0' || *rest == '.';
}

static bool is_in_range(const struct parquet_name *n, const char *number)
{
	size_t digits = digits_of(number);
	unsigned long v;

	if (digits < n->digits || digits > DIGITS_MAX || !parquet_names_ends(number + digits) ||
	    (digits > n->digits && *number == '0'))
		return false;
	v = strtoul(number, NULL, 10);
	return v >= n->first && v <= n->last;
}

static bool is_meant(const struct parquet_name *n, const char *column)
{
	size_t len = strlen(n->text);

	if (strncmp(n->text, column, len) != 0)
		return false;
	return n->is_range ? is_in_range(n, column + len) : parquet_names_ends(column + len);
}

bool parquet_names_has(struct parquet_names *n, const char *column)
{
	bool has = n->count == 0;

	snprintf(n->seen, sizeof(n->seen), "%s", column);
	for (size_t i = 0; i < n->count; i++)
		if (is_meant(&n->list[i], column))
			has = n->list[i].is_there = true;
	return has;
}

int parquet_names_check(const struct parquet_names *n, struct look *l)
{
	for (size_t i = 0; i < n->count; i++)
		if (!n->list[i].is_there)
			return mlgen_fail(l->err, -EINVAL,
					  "%s: read_columns: there is no column '%s%s' in it; it "
					  "has '%s', among others",
					  l->path, n->list[i].text,
					  n->list[i].is_range ? "..." : "", n->seen);
	return 0;
}
