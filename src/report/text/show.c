/* SPDX-License-Identifier: Apache-2.0 */
/* show.c - formats figures, and expands templates of sentences. */
#include "report/text/text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"
#include "job/job.h"

/* The number of classes of request sizes on a line. */
#define SIZES_SHOWN 4

struct named_percent {
	const char *name;
	double percent;
};

/* Round each part down, then give the tenths that are missing from 1000 to the parts that lost
 * most. */
static void round_shares(const struct named_percent *parts, unsigned n, struct show_shares *s)
{
	double sum = 0;
	double lost[SHOW_SHARES];
	unsigned left = 1000;

	for (unsigned i = 0; i < n; i++)
		sum += parts[i].percent > 0 ? parts[i].percent : 0;
	s->count = sum > 0 ? n : 0;
	for (unsigned i = 0; i < s->count; i++) {
		double p = parts[i].percent > 0 ? parts[i].percent : 0;
		double tenths = p / sum * 1000;
		/* 62.8 of 100 must give 628 tenths, although the quotient is slightly less. */
		double whole = floor(tenths + 1e-9);

		s->of[i].name = parts[i].name;
		s->of[i].tenths = (unsigned)whole;
		lost[i] = tenths - whole;
		left -= s->of[i].tenths;
	}
	for (; s->count > 0 && left > 0; left--) {
		unsigned max = 0;

		for (unsigned i = 1; i < s->count; i++)
			if (lost[i] > lost[max])
				max = i;
		s->of[max].tenths++;
		lost[max] = -1;
	}
}

struct rate_unit show_rate_unit(double bytes_per_sec)
{
	if (bytes_per_sec >= BYTES_PER_GIB)
		return (struct rate_unit){ "GiB/s", BYTES_PER_GIB };
	return (struct rate_unit){ "MiB/s", BYTES_PER_MIB };
}

struct rate_unit show_report_unit(const struct ml_result *ml)
{
	return show_rate_unit(isnan(ml->demand_bytes_per_sec) ? ml->sample_bytes_per_sec
							      : ml->demand_bytes_per_sec);
}

int show_rate_decimals(const struct rate_unit *u, double largest)
{
	int decimals = u->bytes > BYTES_PER_MIB ? 2 : largest < 9.95 ? 2 : 1;

	if (!(largest > 0) || largest >= 999.5)
		return 0;
	if (largest >= 99.5)
		return decimals - 1;
	for (double limit = 0.0995; largest < limit && decimals < 8; limit /= 10)
		decimals++;
	return decimals;
}

char *show_rate(char *out, const struct rate_unit *u, double bytes_per_sec)
{
	double v = bytes_per_sec / u->bytes;

	if (isnan(v))
		snprintf(out, UNITS_TEXT_BYTES, "unknown");
	else
		snprintf(out, UNITS_TEXT_BYTES, "%.*f %s", show_rate_decimals(u, v), v, u->name);
	return out;
}

char *show_seconds(char *out, double seconds)
{
	int decimals = seconds >= 99.95 ? 0 : seconds >= 9.995 ? 1 : seconds >= 0.9995 ? 2 : 3;

	if (isnan(seconds))
		snprintf(out, UNITS_TEXT_BYTES, "unknown");
	else
		snprintf(out, UNITS_TEXT_BYTES, "%.*f", decimals, seconds);
	return out;
}

/* "41.2", "1047", "8": three digits, but all digits before the point. */
static char *three_digits(char *out, double v)
{
	snprintf(out, UNITS_TEXT_BYTES, v < 999.5 ? "%.3g" : "%.0f", v);
	return out;
}

char *show_part_of(char *out, double part, double whole)
{
	char a[UNITS_TEXT_BYTES], b[UNITS_TEXT_BYTES];
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	unsigned u = 0;
	double unit = 1;

	while (whole / unit >= 1023.5 && u + 1 < ARRAY_LEN(units)) {
		unit *= 1024;
		u++;
	}
	/* Prefer "41.2 of 1047 GiB" to "0.0402 of 1.02 TiB". */
	if (u > 0 && whole / unit < 9.7 && part / unit < 1) {
		unit /= 1024;
		u--;
	}
	double p = part / unit;
	if (p > 0 && p < 0.001)
		p = 0.001;
	snprintf(out, SHOW_PART_BYTES, "%s of %s %s", three_digits(a, p),
		 three_digits(b, whole / unit), units[u]);
	return out;
}

char *show_percent(char *out, double percent)
{
	if (isnan(percent))
		snprintf(out, UNITS_TEXT_BYTES, "unknown");
	else
		snprintf(out, UNITS_TEXT_BYTES, "%.1f%%", percent);
	return out;
}

char *show_gigabits(char *out, double bits_per_sec)
{
	double gigabits = bits_per_sec / 1e9;

	snprintf(out, UNITS_TEXT_BYTES, gigabits < 100 ? "%.3g" : "%.0f", gigabits);
	return out;
}

char *show_accelerators(char *out, uint64_t n, const char *name)
{
	if (name)
		snprintf(out, SHOW_ACCELERATORS_BYTES, "%" PRIu64 " x %s", n, name);
	else
		snprintf(out, SHOW_ACCELERATORS_BYTES, "%" PRIu64 " accelerator%s", n,
			 n == 1 ? "" : "s");
	return out;
}

void show_accelerator_time(const struct time_percent *t, struct show_shares *s)
{
	const struct named_percent parts[] = {
		{ "compute", t->compute },       { "stall", t->stall },
		{ "barrier", t->barrier },       { "host barrier", t->host_barrier },
		{ "checkpoint", t->checkpoint }, { "evaluation", t->evaluation },
		{ "oversleep", t->oversleep },   { "other", t->other },
	};

	round_shares(parts, ARRAY_LEN(parts), s);
}

void show_loader_time(const struct loader_percent *l, struct show_shares *s)
{
	const struct named_percent parts[] = {
		{ "read", l->read }, { "write", l->write }, { "open", l->open },
		{ "stat", l->stat }, { "fsync", l->fsync }, { "close", l->close },
		{ "reap", l->reap }, { "cpu", l->cpu },     { "other", l->other },
		{ "idle", l->idle },
	};

	_Static_assert(ARRAY_LEN(parts) <= SHOW_SHARES, "room for every part");
	round_shares(parts, ARRAY_LEN(parts), s);
}

void show_rank_time(const struct rank_percent *r, struct show_shares *s)
{
	const struct named_percent parts[] = {
		{ "write", r->write }, { "read", r->read },   { "fsync", r->fsync },
		{ "open", r->open },   { "close", r->close }, { "data", r->data },
		{ "other", r->other },
	};

	round_shares(parts, ARRAY_LEN(parts), s);
}

double show_share(const struct show_shares *s, const char *name)
{
	for (unsigned i = 0; i < s->count; i++)
		if (!strcmp(s->of[i].name, name))
			return s->of[i].tenths / 10.0;
	return 0;
}

void show_sizes(struct buf *out, const struct sizes *s)
{
	struct sizes_share shares[SIZES_SHOWN];
	char size[UNITS_TEXT_BYTES];
	unsigned n = sizes_shares(s, shares, SIZES_SHOWN);

	for (unsigned i = 0; i < n; i++)
		buf_addf(out, "%s%.0f%% %s", i ? ", " : "", shares[i].percent,
			 units_human_bytes(size, (double)shares[i].bytes));
}

double show_io_percent(const struct loader_percent *l)
{
	return l->open + l->stat + l->read + l->write + l->fsync + l->close + l->reap;
}

char *show_fio_number(char *out, double v, bool is_binary)
{
	static const char *const units[] = { "", "k", "M", "G", "T", "P" };
	static const char *const binary[] = { "", "Ki", "Mi", "Gi", "Ti", "Pi" };
	double base = is_binary ? 1024 : 1000;
	size_t unit = 0;

	/* fio truncates to select the unit, then rounds the rest: 1023.9 MiB becomes 1024. */
	while (floor(v) > 9999 && unit + 1 < ARRAY_LEN(units)) {
		v /= base;
		unit++;
	}
	int decimals = unit == 0 || v >= 99.95 ? 0 : v >= 9.995 ? 1 : 2;
	snprintf(out, UNITS_TEXT_BYTES, "%.*f%s", decimals, v,
		 is_binary ? binary[unit] : units[unit]);
	return out;
}

bool show_has_quota(const struct host_result *h)
{
	return h->cpu_percent_of && strncmp(h->cpu_percent_of, "quota", 5) == 0;
}

/* ---- tokens of a template ---- */

struct template_token {
	enum { TEXT, KEY, OPTION, PLURAL, OPEN, CLOSE, BROKEN, END } kind;
	const char *s;
	size_t len;
};

static bool is_name(const char *name, const char *key, size_t len)
{
	return strlen(name) == len && !strncmp(name, key, len);
}

/* Read the token at `at`. Returns the position after the token. */
static const char *next_token(struct template_token *t, const char *at)
{
	*t = (struct template_token){ .s = at, .len = *at != '\0' };
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

		size_t len = strcspn(t->s, "{}[]");

		t->kind = t->s[len] == '}' && len > 0 ? KEY : BROKEN;
		if (t->kind == KEY && is_name("s", t->s, len))
			t->kind = PLURAL;
		if (t->kind == KEY && t->s[len - 1] == '=')
			t->kind = OPTION;
		t->len = t->kind == OPTION ? len - 1 : len;

		/* A broken token may have no closing character: it ends with the text. */
		return t->s + t->len + (t->kind == OPTION ? 2 : t->kind != BROKEN);
	}
	return at + t->len;
}

/* ---- keys ---- */

/* The row of the struct at `base` that a key names. */
struct target {
	const struct mlgen_field *row;
	const char *base; /* NULL = the template is only checked */
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
		     const struct template_token *key)
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

/* ---- figures: each function appends a text, and returns true if the figure has a value ---- */

static bool is_unit(const struct mlgen_field *f, const char *unit)
{
	return f->unit && !strcmp(f->unit, unit);
}

/* Append a count or bytes. After a `=` a count is written as in an option, without commas. */
static bool append_u64(struct buf *out, const struct mlgen_field *f, uint64_t v)
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

/* A percentage whose row has no unit is an option and is printed exactly. */
static bool append_f64(struct buf *out, const struct mlgen_field *f, double v)
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

/* The struct contains the text itself or a pointer to the text. */
static bool append_string(struct buf *out, const struct mlgen_field *f, const void *at)
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

/* Append the figure of a row. `count` receives the count to which a following {s} refers. */
static bool append_row(struct buf *out, const struct target *t, uint64_t *count)
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
		return append_u64(out, t->row, v);
	case MLGEN_F64:
	case MLGEN_PERCENT:
		memcpy(&real, at, sizeof(real));
		return append_f64(out, t->row, real);
	case MLGEN_STR:
		return append_string(out, t->row, at);
	default:
		field_format(out, t->row, t->base);
		return !(t->row->type == MLGEN_BOOL && !*(const bool *)at);
	}
}

static bool append_key(struct buf *out, const struct template_token *key,
		       const struct template_scope *scopes, const void *page, uint64_t *count)
{
	struct target t;
	bool is_there = find_key(&t, scopes, page, key);

	assert(is_there);
	(void)is_there;
	if (key->kind != OPTION)
		return append_row(out, &t, count);
	const struct job *j = (const void *)t.base;
	buf_addf(out, "%s=", t.row->name);
	job_field_text(j, t.row, j, out);
	return !field_is_default(t.row, j);
}

/* The text of a bracket is removed again at its end if a figure in it had no value. */
void template_append(struct buf *out, const struct template *template, const void *page)
{
	const char *at = template->text;
	size_t opened = 0;
	uint64_t count = 0;
	bool says = true;
	struct template_token t;

	for (at = next_token(&t, at); t.kind != END; at = next_token(&t, at)) {
		if (t.kind == TEXT) {
			buf_addn(out, t.s, t.len);
		} else if (t.kind == PLURAL) {
			buf_add(out, plural(count));
		} else if (t.kind == OPEN) {
			opened = out->len;
			says = true;
		} else if (t.kind != CLOSE) {
			says &= append_key(out, &t, template->scopes, page, &count);
		} else if (!says) {
			buf_cut(out, opened);
		}
	}
}

/* ---- checking templates ---- */

static int check_key(const struct template_token *t, const struct template_scope *scopes,
		     bool *has_count, struct mlgen_err *err)
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
	struct template_token t;
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
		rc = mlgen_fail(err, -EINVAL, "'%s': no ] after [", template->text);
	return rc;
}

/* Symbols that the linker defines for both ends of the section. */
extern const struct template __start_templates[], __stop_templates[];

const struct template *template_next(const struct template *t)
{
	t = t ? t + 1 : __start_templates;
	return t < __stop_templates ? t : NULL;
}
