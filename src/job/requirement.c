/* SPDX-License-Identifier: Apache-2.0 */
/* requirement.c - what --require says, taken apart. */
#include "job/jobset.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"

#define BLANKS " \t\n"
#define METRIC_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_."

static int fail_comparison(const char *part, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "require=%s: no comparison. Quote it: --require='%s>=90' (the shell took "
			  "'>' as a redirection)",
			  part, *part ? part : "au");
}

/* Blanks may stand around the parts of a comparison, not in them. */
static const char *skip_blanks(const char *at)
{
	return at + strspn(at, BLANKS);
}

static bool is_of(const char *metric, const char *unit)
{
	return strstr(metric, unit) != NULL;
}

/* "1m" is a million, as rates are counted: not the 1,048,576 of a size. */
static int read_count(const char *text, double *value, struct mlgen_err *err)
{
	static const char suffixes[] = "kmgt";
	size_t len = strlen(text);
	const char *s = len ? strchr(suffixes, tolower(text[len - 1])) : NULL;
	char *number = mem_strndup(text, len - (s != NULL));
	int rc = s ? units_f64(number, value, NULL) : -EINVAL;

	mem_free(number);
	if (rc)
		return mlgen_fail(err, -EINVAL,
				  "'%s': must be a number, such as 200 or 1.5m; k, m, g and t are "
				  "powers of 1000",
				  text);
	for (; s >= suffixes; s--)
		*value *= 1000;
	return 0;
}

/* Read a value in the unit that the metric's name ends with: "1ms" of stall_ns.p99, "10g" of
 * bytes_per_sec, "90%" of au. A metric without a unit is a count: "200k" of read.iops. */
static int read_value(struct requirement *q, const char *text, struct mlgen_err *err)
{
	uint64_t n;
	int rc = 0;

	if (units_f64(text, &q->value, NULL) == 0)
		return 0;
	if (is_of(q->metric, "_ns"))
		rc = units_time(text, "ns", &n, err);
	else if (is_of(q->metric, "bytes"))
		rc = units_size(text, 1024, &n, err);
	else if (strcmp(q->metric, "au") == 0 || is_of(q->metric, "percent") ||
		 is_of(q->metric, "cpu"))
		return units_percent(text, &q->value, err);
	else
		return read_count(text, &q->value, err);
	if (rc == 0)
		q->value = (double)n;
	return rc;
}

static int read_requirement(const char *part, struct requirement *out, struct mlgen_err *err)
{
	size_t len = strspn(part, METRIC_CHARACTERS);
	const char *op = skip_blanks(part + len);
	size_t op_len = strspn(op, "<>=");
	const char *value = skip_blanks(op + op_len);
	struct mlgen_err why = { 0 };

	if (!part[len])
		return fail_comparison(part, err);
	memset(out, 0, sizeof(*out));
	if (len && len < sizeof(out->metric) && op_len && op_len < sizeof(out->op)) {
		memcpy(out->metric, part, len);
		memcpy(out->op, op, op_len);
	}
	if (strcmp(out->op, "=") == 0)
		memcpy(out->op, "==", 3);
	if (!out->op[0] || !strstr(" >= <= > < == ", out->op))
		return mlgen_fail(err, -EINVAL,
				  "require=%s: not a comparison; write METRIC>=NUMBER, with one of "
				  ">= <= > < ==",
				  part);
	if (read_value(out, value, &why))
		return mlgen_fail(err, -EINVAL, "require=%s: %s", part, why.text);
	return 0;
}

/* The length of what stands before the next comma or "and"; *next is behind that, NULL = it was the
 * last. */
static size_t part_length(const char *text, const char **next)
{
	const char *at = text;

	while (*at && *at != ',') {
		const char *word = at + strspn(at, BLANKS);

		if (word > at && strncmp(word, "and", 3) == 0 && strchr(BLANKS, word[3])) {
			*next = word + 3;
			return (size_t)(at - text);
		}
		at = word > at ? word : at + 1;
	}
	*next = *at ? at + 1 : NULL;
	return (size_t)(at - text);
}

/* Without the blanks around it. */
static char *copy_part(const char *text, size_t len)
{
	size_t before = strspn(text, BLANKS);

	if (before > len)
		before = len;
	while (len > before && strchr(BLANKS, text[len - 1]))
		len--;
	return mem_strndup(text + before, len - before);
}

int jobset_requirements(const char *text, struct requirement *out, unsigned max,
			struct mlgen_err *err)
{
	unsigned n = 0;

	for (const char *at = text, *next = NULL; at; at = next) {
		size_t len = part_length(at, &next);
		char *part = copy_part(at, len);
		int rc = 0;

		if (n == max)
			rc = mlgen_fail(err, -EINVAL, "require: more than %u comparisons", max);
		else
			rc = read_requirement(part, &out[n++], err);
		mem_free(part);
		if (rc)
			return rc;
	}
	return (int)n;
}
