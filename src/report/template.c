/* SPDX-License-Identifier: Apache-2.0 */
/* template.c - see template.h. */
#include "report/template.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"
#include "job/job.h"
#include "report/show.h"

/* ---- text ---- */

struct token {
	enum { TEXT, KEY, OPTION, PLURAL, OPEN, CLOSE, BROKEN, END } kind;
	const char *s;
	size_t len;
};

static bool is_name(const char *name, const char *key, size_t len)
{
	return strlen(name) == len && !strncmp(name, key, len);
}

static void read_key(struct token *t)
{
	size_t len = strcspn(t->s, "{}[]");

	t->kind = t->s[len] == '}' && len > 0 ? KEY : BROKEN;
	if (t->kind == KEY && is_name("s", t->s, len))
		t->kind = PLURAL;
	if (t->kind == KEY && t->s[len - 1] == '=')
		t->kind = OPTION;
	t->len = t->kind == OPTION ? len - 1 : len;
}

/* What comes behind it. */
static const char *next_token(struct token *t, const char *at)
{
	*t = (struct token){ .s = at, .len = *at != '\0' };
	if (!*at)
		t->kind = END;
	else if (*at == '[')
		t->kind = OPEN;
	else if (*at == ']')
		t->kind = CLOSE;
	else if (*at == '}')
		t->kind = BROKEN;
	else if (*at != '{')
		t->len = strcspn(at, "{}[]");
	else {
		t->s++;
		read_key(t);
		/* One that is broken may be the last of the text. */
		return t->s + t->len + (t->kind == OPTION ? 2 : t->kind != BROKEN);
	}
	return at + t->len;
}

/* ---- keys ---- */

/* What a key leads to: a row of the struct at `base`. */
struct target {
	const struct mlgen_field *row;
	const char *base; /* NULL: without a page */
	bool is_option;
};

static bool find_row(struct target *t, const struct mlgen_field *table, const char *base,
		     const char *key, size_t len)
{
	for (const struct mlgen_field *f = table; f->name; f++) {
		size_t name = strlen(f->name);

		if (is_name(f->name, key, len)) {
			t->row = f;
			t->base = base;
			return true;
		}
		if (f->type == MLGEN_OBJECT && len > name && key[name] == '.' &&
		    !strncmp(f->name, key, name) &&
		    find_row(t, f->sub, base ? base + f->off : NULL, key + name + 1,
			     len - name - 1))
			return true;
	}
	return false;
}

static const char *base_of(const struct template_scope *s, const void *page)
{
	const char *at = page, *to;

	if (!at || !s->is_pointer)
		return at ? at + s->off : NULL;
	memcpy(&to, at + s->off, sizeof(to));
	return to;
}

static bool find_key(struct target *t, const struct template_scope *scopes, const void *page,
		     const struct token *key)
{
	for (const struct template_scope *s = scopes; s->name; s++) {
		size_t n = strlen(s->name) + (*s->name != '\0');

		t->is_option = s->table == job_fields;
		if (!strncmp(s->name, key->s, strlen(s->name)) &&
		    find_row(t, s->table, base_of(s, page), key->s + n, key->len - n))
			return true;
	}
	return false;
}

const struct mlgen_field template_bs_fields[] = {
	{ "read", MLGEN_F_SIZE(struct job, bs.read) },
	{ "write", MLGEN_F_SIZE(struct job, bs.write) },
	{ 0 },
};

/* ---- figures: each appends its text, and says whether it says anything ---- */

static bool is_unit(const struct mlgen_field *f, const char *unit)
{
	return f->unit && !strcmp(f->unit, unit);
}

/* A count, or bytes. Behind a `=` it is as an option has it. */
static bool put_u64(struct buf *out, const struct mlgen_field *f, uint64_t v)
{
	char text[UNITS_TEXT_BYTES];

	if (v == UINT64_MAX && (f->flags & MLGEN_NULLABLE)) {
		buf_add(out, "unknown");
		return false;
	}
	if (f->type == MLGEN_SIZE || is_unit(f, "bytes"))
		buf_add(out, units_human_bytes(text, (double)v));
	else if (f->type == MLGEN_TIME)
		buf_add(out, units_human_time(text, v));
	else if (out->len && out->s[out->len - 1] == '=')
		buf_addf(out, "%" PRIu64, v);
	else
		buf_add(out, units_human_count(text, v));
	return v > 0;
}

/* Percent without a unit in its row was asked for, and is exact. */
static bool put_f64(struct buf *out, const struct mlgen_field *f, double v)
{
	struct rate_unit unit = show_rate_unit(v);
	char text[UNITS_TEXT_BYTES];

	if (isnan(v))
		buf_add(out, "unknown");
	else if (is_unit(f, "%"))
		buf_add(out, show_percent(text, v));
	else if (f->type == MLGEN_PERCENT)
		buf_addf(out, "%g%%", v);
	else if (is_unit(f, "bytes"))
		buf_add(out, units_human_bytes(text, v));
	else if (is_unit(f, "bytes/s"))
		buf_add(out, show_rate(text, &unit, v));
	else if (is_unit(f, "s"))
		buf_add(out, show_seconds(text, v));
	else if (is_unit(f, "ns"))
		buf_add(out, units_human_ms(text, v));
	else
		buf_add(out, units_sig4(text, v));
	return !isnan(v);
}

/* Of somebody else, or in the struct itself. */
static bool put_text(struct buf *out, const struct mlgen_field *f, const void *at)
{
	const char *text = at;

	if (!f->stride)
		memcpy(&text, at, sizeof(text));
	buf_add(out, has_text(text) ? text : "unknown");
	return has_text(text);
}

static bool is_shown(enum mlgen_type type)
{
	return type == MLGEN_BOOL || type == MLGEN_U64 || type == MLGEN_F64 || type == MLGEN_SIZE ||
	       type == MLGEN_TIME || type == MLGEN_PERCENT || type == MLGEN_ENUM ||
	       type == MLGEN_STR;
}

static bool is_count(const struct target *t)
{
	return t->row->type == MLGEN_U64 && !is_unit(t->row, "bytes");
}

/* `count` keeps what {s} is the plural of. */
static bool put_row(struct buf *out, const struct target *t, uint64_t *count)
{
	const char *at = t->base + t->row->off;
	uint64_t v;
	double real;

	switch (t->row->type) {
	case MLGEN_U64:
	case MLGEN_SIZE:
	case MLGEN_TIME:
		memcpy(&v, at, sizeof(v));
		if (is_count(t))
			*count = v;
		return put_u64(out, t->row, v);
	case MLGEN_F64:
	case MLGEN_PERCENT:
		memcpy(&real, at, sizeof(real));
		return put_f64(out, t->row, real);
	case MLGEN_STR:
		return put_text(out, t->row, at);
	default:
		field_format(out, t->row, t->base);
		return !(t->row->type == MLGEN_BOOL && !*(const bool *)at);
	}
}

static bool put_option(struct buf *out, const struct target *t)
{
	const struct job *j = (const void *)t->base;

	buf_addf(out, "%s=", t->row->name);
	job_field_text(j, t->row, j, out);
	return !field_is_default(t->row, j);
}

static bool put_key(struct buf *out, const struct token *key, const struct template_scope *scopes,
		    const void *page, uint64_t *count)
{
	struct target t;
	bool is_there = find_key(&t, scopes, page, key);

	assert(is_there);
	(void)is_there;
	return key->kind == OPTION ? put_option(out, &t) : put_row(out, &t, count);
}

/* Brackets that vanish take back what they have appended. */
void template_put(struct buf *out, const struct template *template, const void *page)
{
	const char *at = template->text;
	size_t opened = 0;
	uint64_t count = 0;
	bool says = true;
	struct token t;

	for (at = next_token(&t, at); t.kind != END; at = next_token(&t, at)) {
		if (t.kind == TEXT) {
			buf_addn(out, t.s, t.len);
		} else if (t.kind == PLURAL) {
			buf_add(out, plural(count));
		} else if (t.kind == OPEN) {
			opened = out->len;
			says = true;
		} else if (t.kind != CLOSE) {
			says &= put_key(out, &t, template->scopes, page, &count);
		} else if (!says) {
			buf_cut(out, opened);
		}
	}
}

/* ---- is it well formed? ---- */

static int check_key(const struct token *t, const struct template_scope *scopes, bool *has_count,
		     struct mlgen_err *err)
{
	struct target target;
	int len = (int)t->len;

	if (!find_key(&target, scopes, NULL, t))
		return mlgen_fail(err, -EINVAL, "{%.*s}: no such row", len, t->s);
	if (t->kind == OPTION && !target.is_option)
		return mlgen_fail(err, -EINVAL, "{%.*s=}: no option", len, t->s);
	if (t->kind == KEY && !is_shown(target.row->type))
		return mlgen_fail(err, -EINVAL, "{%.*s}: no figure", len, t->s);
	*has_count |= is_count(&target);
	return 0;
}

int template_check(const struct template *template, struct mlgen_err *err)
{
	const char *at = template->text;
	bool is_open = false, has_count = false;
	struct token t;
	int rc = 0;

	for (at = next_token(&t, at); rc == 0 && t.kind != END; at = next_token(&t, at)) {
		if (t.kind == KEY || t.kind == OPTION)
			rc = check_key(&t, template->scopes, &has_count, err);
		else if (t.kind == PLURAL && !has_count)
			rc = mlgen_fail(err, -EINVAL, "{s}: no count before it");
		else if (t.kind == BROKEN || (t.kind == OPEN && is_open) ||
			 (t.kind == CLOSE && !is_open))
			rc = mlgen_fail(err, -EINVAL, "'%s': not expected", t.s);
		else if (t.kind == OPEN || t.kind == CLOSE)
			is_open = t.kind == OPEN;
	}
	if (rc == 0 && is_open)
		rc = mlgen_fail(err, -EINVAL, "'%s': no ] behind [", template->text);
	return rc;
}

/* The linker's names for both ends. */
extern const struct template __start_templates[], __stop_templates[];

const struct template *template_next(const struct template *t)
{
	t = t ? t + 1 : __start_templates;
	return t < __stop_templates ? t : NULL;
}
