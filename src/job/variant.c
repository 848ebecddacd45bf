/* SPDX-License-Identifier: Apache-2.0 */
/* variant.c - one of several words, some of which have an argument of their own. */
#include "job/variant.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "job/pair.h"

#define NUMBER_MAX 1000000000u
#define SIZE_MAX_BYTES (UINT64_C(1) << 62)

/* Of a choice's word; every one there is is shorter. */
#define WORD_BYTES 32

const char *variant_form(const struct mlgen_choice *c)
{
	const char *colon = strchr(c->name, ':');

	return colon ? colon + 1 : NULL;
}

size_t variant_word_length(const struct mlgen_choice *c)
{
	const char *form = variant_form(c);

	return form ? (size_t)(form - c->name) : strlen(c->name);
}

static bool has_form(const struct mlgen_choice *c, const char *begin)
{
	return strncmp(variant_form(c), begin, strlen(begin)) == 0;
}

static bool takes_second(const struct mlgen_choice *c)
{
	return strchr(variant_form(c), '[') != NULL;
}

static bool is_between(uint64_t n, uint64_t most)
{
	return n >= 1 && n <= most;
}

static int check_argument(const struct variant *v, const struct mlgen_choice *c, bool has_second,
			  const char *text, struct mlgen_err *err)
{
	bool is_size = has_form(c, "SIZE");
	int len = (int)variant_word_length(c);

	if (is_size && !is_between(v->number, SIZE_MAX_BYTES))
		return mlgen_fail(err, -ERANGE, "'%.*s%s': write a size from 1 byte to 4e", len,
				  c->name, text);
	if ((!is_size && !is_between(v->number, NUMBER_MAX)) ||
	    (has_second && !is_between(v->second, NUMBER_MAX)))
		return mlgen_fail(err, -ERANGE, "'%.*s%s': write a number from 1 to %u", len,
				  c->name, text, NUMBER_MAX);
	return 0;
}

static int read_dist(struct variant *v, const char *text, unsigned kb_base, struct mlgen_err *err)
{
	int rc = dist_parse(&v->dist, text, DIST_NUMBERS, NULL, kb_base, err);

	if (rc == 0 && dist_mean(&v->dist) <= 0)
		rc = mlgen_fail(err, -ERANGE, "'%s': write one above 0", text);
	return rc;
}

static int read_argument(struct variant *v, const struct mlgen_choice *c, const char *text,
			 unsigned kb_base, struct mlgen_err *err)
{
	size_t len = takes_second(c) ? strcspn(text, ":") : strlen(text);
	char *first = mem_strndup(text, len);
	int rc = has_form(c, "SIZE") ? size_parse(&v->number, first, kb_base, err)
				     : units_u64(first, &v->number, err);

	mem_free(first);
	if (rc == 0 && text[len])
		rc = units_u64(text + len + 1, &v->second, err);
	return rc ? rc : check_argument(v, c, text[len] != '\0', text, err);
}

static const struct mlgen_choice *nearest_choice(const struct mlgen_choice *choices,
						 const char *text)
{
	char names[32][WORD_BYTES];
	const char *words[ARRAY_LEN(names) + 1];
	const char *nearest;
	size_t n = 0;

	for (; n < ARRAY_LEN(names) && choices[n].name; n++) {
		snprintf(names[n], WORD_BYTES, "%.*s", (int)variant_word_length(&choices[n]),
			 choices[n].name);
		words[n] = names[n];
	}
	words[n] = NULL;
	nearest = field_nearest_word(words, text);
	for (size_t i = 0; i < n; i++) {
		if (words[i] == nearest)
			return &choices[i];
	}
	return NULL;
}

static int fail_unknown(const struct mlgen_choice *choices, const char *text, struct mlgen_err *err)
{
	const struct mlgen_choice *nearest = nearest_choice(choices, text);
	struct buf names = { 0 };
	int rc;

	for (const struct mlgen_choice *c = choices; c->name; c++)
		buf_addf(&names, " %s", c->name);
	rc = mlgen_fail(err, -EINVAL, "'%s' is none of%s%s%s%s", text, buf_str(&names),
			nearest ? "; did you mean '" : "", nearest ? nearest->name : "",
			nearest ? "'?" : "");
	buf_fini(&names);
	return rc;
}

static bool is_choice(const struct mlgen_choice *c, const char *text)
{
	return variant_form(c) ? strncasecmp(c->name, text, variant_word_length(c)) == 0
			       : strcasecmp(c->name, text) == 0;
}

size_t variant_dist_at(const struct mlgen_choice *choices, const char *value)
{
	for (const struct mlgen_choice *c = choices; c->name; c++) {
		if (variant_form(c) && has_form(c, "DIST") && is_choice(c, value))
			return variant_word_length(c);
	}
	return strlen(value);
}

int variant_parse(struct variant *out, const struct mlgen_choice *choices, const char *text,
		  unsigned kb_base, struct mlgen_err *err)
{
	for (const struct mlgen_choice *c = choices; c->name; c++) {
		if (!is_choice(c, text))
			continue;
		*out = (struct variant){ .kind = c->value };
		text += variant_word_length(c);
		if (!variant_form(c))
			return 0;
		return has_form(c, "DIST") ? read_dist(out, text, kb_base, err)
					   : read_argument(out, c, text, kb_base, err);
	}
	return fail_unknown(choices, text, err);
}

static void format_argument(struct buf *out, const struct variant *v, const struct mlgen_choice *c)
{
	char text[UNITS_TEXT_BYTES];

	if (has_form(c, "DIST"))
		dist_format(out, &v->dist, DIST_NUMBERS);
	else if (has_form(c, "SIZE"))
		buf_add(out, units_put_size(text, v->number));
	else
		buf_addf(out, "%" PRIu64, v->number);
	if (v->second)
		buf_addf(out, ":%" PRIu64, v->second);
}

void variant_format(struct buf *out, const struct variant *v, const struct mlgen_choice *choices)
{
	for (const struct mlgen_choice *c = choices; c->name; c++) {
		if (c->value != v->kind)
			continue;
		buf_addn(out, c->name, variant_word_length(c));
		if (variant_form(c))
			format_argument(out, v, c);
		return;
	}
}
