/* SPDX-License-Identifier: Apache-2.0 */
/* fields.c - walk tables of fields: defaults, parsing, formatting, help texts. */
#include "field/field_internal.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"

/* Function heads, one per type. */
#define UNKNOWN(type)                                                                              \
	static void unknown_##type(__attribute__((unused)) const struct mlgen_field *f,            \
				   void *member)

UNKNOWN(bool)
{
	*(bool *)member = false;
}

UNKNOWN(u64)
{
	*(uint64_t *)member = f->flags & MLGEN_NULLABLE ? UINT64_MAX : 0;
}

UNKNOWN(f64)
{
	*(double *)member = (double)NAN;
}

UNKNOWN(choice)
{
	*(int *)member = 0;
}

/* The struct holds the text itself, or a pointer to it. */
UNKNOWN(text)
{
	memset(member, 0, f->stride ? f->stride : sizeof(char *));
}

UNKNOWN(hist)
{
	*(struct hist **)member = NULL;
}

/* `items` stays, because its memory may be reused. */
UNKNOWN(list)
{
	((struct metric_list *)member)->count = 0;
}

UNKNOWN(object)
{
	fields_set_unknown(f->sub, member);
}

void field_set_unknown(const struct mlgen_field *f, void *member)
{
	static void (*const types[])(const struct mlgen_field *, void *) = {
		[MLGEN_BOOL] = unknown_bool,   [MLGEN_U64] = unknown_u64,
		[MLGEN_SIZE] = unknown_u64,    [MLGEN_TIME] = unknown_u64,
		[MLGEN_F64] = unknown_f64,     [MLGEN_PERCENT] = unknown_f64,
		[MLGEN_ENUM] = unknown_choice, [MLGEN_STR] = unknown_text,
		[MLGEN_HIST] = unknown_hist,   [MLGEN_OBJECT] = unknown_object,
		[MLGEN_LIST] = unknown_list,   [MLGEN_F64_ARRAY] = unknown_list,
		[MLGEN_MAP] = unknown_list,    [MLGEN_TEXTS] = unknown_text,
	};

	if (f->type < ARRAY_LEN(types) && types[f->type])
		types[f->type](f, member);
}

void fields_set_unknown(const struct mlgen_field *table, void *base)
{
	for (const struct mlgen_field *f = table; f->name; f++)
		field_set_unknown(f, (char *)base + f->off);
}

const struct mlgen_field *field_row(const struct mlgen_field *table, const char *name, size_t len)
{
	for (; table->name; table++)
		if (strncasecmp(table->name, name, len) == 0 && !table->name[len])
			return table;
	return NULL;
}

bool field_is_list(const struct mlgen_field *row)
{
	return row->type == MLGEN_LIST || row->type == MLGEN_F64_ARRAY;
}

/* Parse the index in ".0" and advance the path; false if there is no index. */
static bool parse_index(const char **path, size_t *index)
{
	size_t len = **path ? strspn(*path + 1, "0123456789") : 0;
	char next = len ? (*path)[1 + len] : '?';

	if (len > 9 || (next && next != '.'))
		return false;
	*index = strtoul(*path + 1, NULL, 10);
	*path += 1 + len;
	return true;
}

void field_path_init(struct field_path *p, const struct mlgen_field *table, const char *path)
{
	size_t len = strcspn(path, ".");

	*p = (struct field_path){
		.table = table,
		.row = field_row(table, path, len),
		.part = path,
		.end = path + len,
		.rest = path + len,
	};
	p->is_element = p->row && field_is_list(p->row) && parse_index(&p->rest, &p->index);
}

bool field_path_next(struct field_path *p)
{
	bool is_inside = p->row && p->row->sub && (p->is_element || !field_is_list(p->row));

	if (!is_inside || !p->rest[0] || !p->rest[1])
		return false;
	field_path_init(p, p->row->sub, p->rest + 1);
	return true;
}

const void *field_path_member(const struct field_path *p, const void *base)
{
	const char *at = (const char *)base + p->row->off;
	const struct metric_list *list = (const void *)at;
	size_t bytes = p->row->type == MLGEN_LIST ? p->row->stride : sizeof(double);

	if (!p->is_element)
		return at;
	return p->index < list->count ? (const char *)list->items + p->index * bytes : NULL;
}

/* Any member type of an option, except for strings. */
union value {
	bool truth;
	uint64_t u64;
	double f64;
	int choice;
	struct dist dist;
	struct f64_list list;
	struct u64_pair pair;
	struct size_share share;
	struct u64_share u64_share;
	struct cache_size cache_size;
	struct variant variant;
};

static void *member(const struct mlgen_field *f, void *base)
{
	return (char *)base + f->off;
}

static const void *const_member(const struct mlgen_field *f, const void *base)
{
	return (const char *)base + f->off;
}

/* Release the memory of a member before it is set or freed. */
static void drop_member(const struct mlgen_field *f, void *base)
{
	const struct field_type *type = field_type_of(f);

	if (type && type->drop)
		type->drop(member(f, base));
}

/* Set a member to the unset value, that of an option without a default. */
static void set_unset(const struct mlgen_field *f, void *base)
{
	const struct field_type *type = field_type_of(f);
	double nan_value = (double)NAN;
	char *s = NULL;

	if (!type) {
		memcpy(&s, member(f, base), sizeof(s));
		mem_free(s);
		memset(member(f, base), 0, sizeof(s));
	} else if (type->is_real) {
		memcpy(member(f, base), &nan_value, sizeof(nan_value));
	} else {
		drop_member(f, base);
		memset(member(f, base), 0, type->bytes);
	}
}

static const char *get_string(const struct mlgen_field *f, const void *base)
{
	const char *s = NULL;

	memcpy(&s, const_member(f, base), sizeof(s));
	return s;
}

static void get_value(const struct mlgen_field *f, const void *base, union value *v)
{
	memset(v, 0, sizeof(*v));
	memcpy(v, const_member(f, base), field_type_of(f)->bytes);
}

size_t field_path_at(const struct mlgen_field *f, const char *value)
{
	size_t at = strlen(value);

	if (f->flags & MLGEN_BESIDE)
		return 0;
	if (f->type == MLGEN_VARIANT)
		at = variant_dist_at(f->choices, value);
	else if (f->type == MLGEN_SIZE_DIST || f->type == MLGEN_TIME_DIST ||
		 f->type == MLGEN_NUMBER_DIST)
		at = 0;
	if (strncmp(value + at, DIST_FILE_WORD, strlen(DIST_FILE_WORD)) == 0)
		return at + strlen(DIST_FILE_WORD);
	return strlen(value);
}

size_t field_count(const struct mlgen_field *table)
{
	size_t n = 0;

	while (table[n].name)
		n++;
	return n;
}

bool field_name_equal(const char *a, const char *b)
{
	for (;; a++, b++) {
		char x = *a == '-' ? '_' : *a;
		char y = *b == '-' ? '_' : *b;

		if (x != y)
			return false;
		if (!x)
			return true;
	}
}

const struct mlgen_field *field_find(const struct mlgen_field *table, const char *name)
{
	for (const struct mlgen_field *f = table; f && f->name; f++) {
		if (field_name_equal(f->name, name) ||
		    (f->alias && field_name_equal(f->alias, name)))
			return f;
	}
	return NULL;
}

void field_defaults(const struct mlgen_field *table, void *base)
{
	for (const struct mlgen_field *f = table; f && f->name; f++) {
		set_unset(f, base);
		if (f->def) {
			int rc = field_parse(f, base, f->def, 1024, NULL);

			/* A test parses the defaults of every table. */
			assert(rc == 0);
			(void)rc;
		}
	}
}

void field_fini(const struct mlgen_field *table, void *base)
{
	for (const struct mlgen_field *f = table; f && f->name; f++) {
		if (f->type == MLGEN_STR)
			set_unset(f, base);
		else
			drop_member(f, base);
	}
}

int field_parse(const struct mlgen_field *f, void *base, const char *text, unsigned kb_base,
		struct mlgen_err *err)
{
	const struct field_type *type = field_type_of(f);
	struct mlgen_err why = { 0 };
	union value v;
	int rc = 0;

	if (!*text && !f->def) {
		set_unset(f, base);
		return 0;
	}
	if (!*text)
		return mlgen_fail(err, -EINVAL, "%s: the value is missing", f->name);
	if (f->type == MLGEN_STR) {
		mem_replace(member(f, base), text);
		return 0;
	}
	/* A text may set only one half of a pair; the other half is kept. */
	get_value(f, base, &v);
	if (type->parse(f, &v, text, kb_base, &why))
		return mlgen_fail(err, why.code, "%s: %s", f->name, why.text);
	rc = type->check ? type->check(f, &v, text, err) : 0;
	if (rc == 0) {
		drop_member(f, base);
		memcpy(member(f, base), &v, type->bytes);
	} else if (type->drop) {
		type->drop(&v);
	}
	return rc;
}

void *field_parse_value(const struct mlgen_field *f, const char *text, unsigned kb_base,
			struct mlgen_err *err)
{
	const struct field_type *type = field_type_of(f);
	struct mlgen_field alone = *f;
	void *value = NULL;

	alone.off = 0;
	value = mem_zalloc(type ? type->bytes : sizeof(char *));
	if (f->def && (f->type == MLGEN_SIZE_PAIR || f->type == MLGEN_U64_PAIR))
		field_parse(&alone, value, f->def, 1024, NULL);
	if (field_parse(&alone, value, text, kb_base, err) == 0)
		return value;
	mem_free(value);
	return NULL;
}

void field_set_value(const struct mlgen_field *f, void *base, const void *value)
{
	const struct field_type *type = field_type_of(f);

	if (f->type == MLGEN_STR) {
		mem_replace(member(f, base), *(char *const *)value);
		return;
	}
	if (type->hold)
		type->hold(value);
	drop_member(f, base);
	memcpy(member(f, base), value, type->bytes);
}

void field_free_value(const struct mlgen_field *f, void *value)
{
	const struct field_type *type;

	if (!value)
		return;
	type = field_type_of(f);
	if (f->type == MLGEN_STR)
		mem_free(*(char **)value);
	else if (type && type->drop)
		type->drop(value);
	mem_free(value);
}

void field_format(struct buf *out, const struct mlgen_field *f, const void *base)
{
	union value v;

	if (f->type == MLGEN_STR) {
		const char *s = get_string(f, base);

		buf_add(out, s ? s : "");
		return;
	}
	get_value(f, base, &v);
	field_type_of(f)->format(out, f, &v);
}

bool field_is_default(const struct mlgen_field *f, const void *base)
{
	struct mlgen_field at_zero = *f;
	struct buf now = { 0 }, def = { 0 };
	union value v;
	bool is_equal = false;

	if (f->type == MLGEN_STR) {
		const char *s = get_string(f, base);

		return s && f->def ? strcmp(s, f->def) == 0 : !s && !f->def;
	}
	/* Values are compared as text, which also works for NaN. */
	at_zero.off = 0;
	memset(&v, 0, sizeof(v));
	set_unset(&at_zero, &v);
	if (f->def)
		field_parse(&at_zero, &v, f->def, 1024, NULL);
	field_format(&now, f, base);
	field_type_of(f)->format(&def, f, &v);
	is_equal = strcmp(buf_str(&now), buf_str(&def)) == 0;
	buf_fini(&now);
	buf_fini(&def);
	return is_equal;
}

bool field_is_flag(const struct mlgen_field *f)
{
	if (f->type == MLGEN_BOOL)
		return true;
	for (const struct mlgen_choice *c = f->choices; c && c->name; c++) {
		if (strcmp(c->name, "1") == 0)
			return true;
	}
	return false;
}

/* ---- text ---- */

/* Longer names are not compared. */
#define NAME_MAX_LEN 48

/* Longer lists of choices do not fit in a usage line. */
#define CHOICES_MAX_LEN 48

/* A larger upper limit is only the width of the type and is not printed. */
#define NO_UPPER_LIMIT 1e18

struct nearest {
	char name[NAME_MAX_LEN + 1];
	size_t len;
	size_t best; /* distance that a candidate must be below */
	const char *nearest;
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

/* Damerau-Levenshtein distance: insert, delete, replace and swap of neighbours each count one. */
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

			now[j] = u64_min(u64_min(prev[j], now[j - 1]) + 1, prev[j - 1] + differs);
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
	/* Three edits lead from samples_per_second to samples_per_sec. */
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
	/* A word without a letter in common is not a misspelling. */
	if (d < n->best && d < len) {
		n->best = d;
		n->nearest = candidate;
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
	return n.nearest;
}

const char *field_nearest_word(const char *const *words, const char *name)
{
	struct nearest n;

	if (!nearest_init(&n, name))
		return NULL;
	for (; *words; words++)
		nearest_try(&n, *words);
	return n.nearest;
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
	buf_add(out, f->max >= NO_UPPER_LIMIT ? ", at least " : ", ");
	field_limit_text(out, f, f->min);
	if (f->max >= NO_UPPER_LIMIT)
		return;
	buf_add(out, " to ");
	field_limit_text(out, f, f->max);
}
