/* SPDX-License-Identifier: Apache-2.0 */
/* fields_text.c - what fields say about themselves, and the nearest spelling. */
#include "job/fields.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "base/units.h"
#include "base/util.h"
#include "job/field_types.h"

/* Longer names are no misspelt options. */
#define NAME_MAX_LEN 48

/* Longer lists of choices do not stand in a usage line. */
#define CHOICES_MAX_LEN 48

/* Above this an upper limit is only the width of the type. */
#define NO_UPPER_LIMIT 1e18

struct nearest {
	char name[NAME_MAX_LEN + 1];
	size_t len;
	size_t best; /* distance; what is farther is not offered */
	const char *found;
};

static size_t normalize(char *out, const char *name)
{
	size_t n = 0;

	for (; name[n]; n++) {
		if (n == NAME_MAX_LEN)
			return 0;
		out[n] = (char)tolower((unsigned char)name[n]);
		if (out[n] == '-')
			out[n] = '_';
	}
	out[n] = '\0';
	return n;
}

static size_t min3(size_t a, size_t b, size_t c)
{
	size_t m = a < b ? a : b;

	return m < c ? m : c;
}

/* Insert, delete, replace and swap of neighbours each count one. */
static size_t distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t rows[3][NAME_MAX_LEN + 1];
	size_t *before = rows[0], *prev = rows[1], *now = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		prev[j] = j;
	for (size_t i = 1; i <= a_len; i++) {
		size_t *spare = before;

		now[0] = i;
		for (size_t j = 1; j <= b_len; j++) {
			size_t differs = a[i - 1] != b[j - 1];

			now[j] = min3(prev[j] + 1, now[j - 1] + 1, prev[j - 1] + differs);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    before[j - 2] + 1 < now[j])
				now[j] = before[j - 2] + 1;
		}
		before = prev;
		prev = now;
		now = spare;
	}
	return prev[b_len];
}

static bool nearest_init(struct nearest *n, const char *name)
{
	size_t third = 0, most = 0;

	memset(n, 0, sizeof(*n));
	n->len = normalize(n->name, name);
	third = (n->len + 2) / 3;
	/* samples_per_second is samples_per_sec. */
	most = n->len < 14 ? 2 : 3;
	n->best = (third < most ? third : most) + 1;
	return n->len > 0;
}

static void nearest_try(struct nearest *n, const char *candidate)
{
	char name[NAME_MAX_LEN + 1];
	size_t len = candidate ? normalize(name, candidate) : 0;
	size_t d = 0;

	if (!len)
		return;
	d = distance(n->name, n->len, name, len);
	/* A word without any letter in common is no misspelling. */
	if (d < n->best && d < len) {
		n->best = d;
		n->found = candidate;
	}
}

const char *field_nearest(const struct mlgen_field *const *tables, const char *name)
{
	struct nearest n;

	if (!nearest_init(&n, name))
		return NULL;
	for (; *tables; tables++) {
		for (const struct mlgen_field *f = *tables; f->name; f++) {
			nearest_try(&n, f->name);
			nearest_try(&n, f->alias);
		}
	}
	return n.found;
}

const char *field_nearest_word(const char *const *words, const char *name)
{
	struct nearest n;

	if (!nearest_init(&n, name))
		return NULL;
	for (; *words; words++)
		nearest_try(&n, *words);
	return n.found;
}

bool field_is_spelling(const struct mlgen_field *f, const struct mlgen_choice *choice)
{
	for (const struct mlgen_choice *c = f->choices; c < choice; c++) {
		if (c->value == choice->value)
			return true;
	}
	return false;
}

void field_choices_text(struct buf *out, const struct mlgen_field *f, const char *between)
{
	for (const struct mlgen_choice *c = f->choices; c->name; c++) {
		if (!field_is_spelling(f, c))
			buf_addf(out, "%s%s", c == f->choices ? "" : between, c->name);
	}
}

bool field_has_long_choices(const struct mlgen_field *f)
{
	size_t len = 0;

	for (const struct mlgen_choice *c = f->choices; c && c->name; c++)
		len += field_is_spelling(f, c) ? 0 : strlen(c->name) + 1;
	return len > CHOICES_MAX_LEN;
}

void field_type_text(struct buf *out, const struct mlgen_field *f)
{
	const struct field_type *type = field_type_of(f);

	if (!type || type->word) {
		buf_add(out, type ? type->word : "TEXT");
		return;
	}
	if (!field_has_long_choices(f)) {
		field_choices_text(out, f, "|");
		return;
	}
	for (const char *c = f->name; *c; c++)
		buf_addc(out, (char)toupper((unsigned char)*c));
}

void field_limit_text(struct buf *out, const struct mlgen_field *f, double limit)
{
	field_type_of(f)->limit(out, limit);
}

void field_range_text(struct buf *out, const struct mlgen_field *f)
{
	if (f->def)
		buf_addf(out, "default %s", f->def);
	else
		buf_add(out, "not set by default");
	if (f->min == 0 && f->max == 0)
		return;
	if (f->max >= NO_UPPER_LIMIT) {
		buf_add(out, ", at least ");
		field_limit_text(out, f, f->min);
		return;
	}
	buf_add(out, ", ");
	field_limit_text(out, f, f->min);
	buf_add(out, " to ");
	field_limit_text(out, f, f->max);
}
