/* SPDX-License-Identifier: Apache-2.0 */
/* json_read.c - reads structs from the JSON that json.c writes. */
#include "report/document/document.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/log.h"
#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"
#include "stat/hist.h"

struct json_missing {
	const struct mlgen_field *row;
	const void *base;
};

/* A block holds many short texts; a larger allocation has its own block. */
#define BLOCK_BYTES ((size_t)16 << 10)

struct json_block {
	struct json_block *next;
	size_t used, bytes;
	max_align_t data[];
};

void json_store_fini(struct json_store *s)
{
	for (struct json_block *b = s->blocks, *next; b; b = next) {
		next = b->next;
		mem_free(b);
	}
	vec_fini(&s->missing);
	memset(s, 0, sizeof(*s));
}

void *json_store_alloc(struct json_store *s, size_t bytes)
{
	size_t whole = round_up(bytes, sizeof(max_align_t));
	struct json_block *b = s->blocks;

	if (!b || whole > b->bytes - b->used) {
		size_t room = u64_max(whole, BLOCK_BYTES);

		b = mem_zalloc(sizeof(*b) + room);
		b->bytes = room;
		b->next = s->blocks;
		s->blocks = b;
	}
	b->used += whole;
	return (char *)b->data + b->used - whole;
}

char *json_store_text(struct json_store *s, const char *text)
{
	struct buf shown = { 0 };

	if (!printable_is(text)) {
		printable_add(&shown, text);
		text = buf_str(&shown);
	}
	size_t bytes = strlen(text) + 1;
	char *copy = memcpy(json_store_alloc(s, bytes), text, bytes);
	buf_fini(&shown);
	return copy;
}

struct hist *json_store_hist(struct json_store *s)
{
	struct hist *h = json_store_alloc(s, sizeof(*h));

	h->min_ns = UINT64_MAX;
	return h;
}

static void *store_grow(void *owner, void *p, size_t had, size_t bytes)
{
	void *all = json_store_alloc(owner, bytes);

	return had ? memcpy(all, p, had) : all;
}

static struct hist *store_hist_copy(void *owner, struct hist *from)
{
	struct hist *h = json_store_hist(owner);

	hist_merge(h, from);
	return h;
}

static const char *store_text(void *owner, const char *text)
{
	return json_store_text(owner, text);
}

const struct merge_memory json_store_memory = { store_grow, store_hist_copy, store_text };

bool json_store_is_missing(const struct json_store *s, const struct mlgen_field *row,
			   const void *base)
{
	for (size_t i = 0; i < s->missing.count; i++)
		if (s->missing.at[i].row == row && s->missing.at[i].base == base)
			return true;
	return false;
}

/* A value and its position in the document. */
struct json_place {
	const struct json_reader *r;
	json_t *value; /* NULL = missing */
	const struct json_place *outer;
	const char *key; /* key in `outer`; NULL = element `index` of `outer` */
	size_t index;
	struct mlgen_err *err;
};

struct read_hist {
	struct hist hist; /* must be the first member: callers have a pointer to it */
	double stddev;
};

/* "jobs[0].ml.steps" */
static void append_path(struct buf *out, const struct json_place *p)
{
	if (p->outer)
		append_path(out, p->outer);
	if (p->key)
		buf_addf(out, "%s%s", out->len ? "." : "", p->key);
	else
		buf_addf(out, "[%zu]", p->index);
}

static int json_read_fail(const struct json_place *p, const char *what)
{
	struct buf path = { 0 };

	append_path(&path, p);
	mlgen_fail(p->err, -EINVAL, "%s: %s: %s", p->r->file, buf_str(&path), what);
	buf_fini(&path);
	return -EINVAL;
}

static struct json_place member_of(const struct json_place *outer, const char *key, json_t *value)
{
	return (struct json_place){
		.r = outer->r, .value = value, .outer = outer, .key = key, .err = outer->err
	};
}

static struct json_place item_of(const struct json_place *list, size_t i)
{
	return (struct json_place){ .r = list->r,
				    .value = json_array_get(list->value, i),
				    .outer = list,
				    .index = i,
				    .err = list->err };
}

static int read_count(const struct json_place *p, uint64_t *out)
{
	json_int_t v = json_integer_value(p->value);

	if (!json_is_integer(p->value) || v < 0)
		return json_read_fail(p, "must be a whole number from 0");
	*out = (uint64_t)v;
	return 0;
}

static int read_number(const struct json_place *p, double *out)
{
	if (!json_is_number(p->value))
		return json_read_fail(p, "must be a number");
	*out = json_number_value(p->value);
	return 0;
}

/* Readers, one per type: set `member`, which is still unknown, from a value. */
#define READ(type)                                                                                 \
	static int read_##type(const struct json_place *p,                                         \
			       __attribute__((unused)) const struct mlgen_field *f, void *member)

READ(bool)
{
	*(bool *)member = json_is_true(p->value);
	if (!json_is_boolean(p->value))
		return json_read_fail(p, "must be true or false");
	return 0;
}

READ(u64)
{
	return read_count(p, member);
}

READ(f64)
{
	return read_number(p, member);
}

READ(choice)
{
	const char *name = json_string_value(p->value);

	for (const struct mlgen_choice *c = f->choices; name && c->name; c++)
		if (strcmp(c->name, name) == 0) {
			*(int *)member = c->value;
			return 0;
		}
	return json_read_fail(p, "is not a known value");
}

/* The struct contains the text itself or a pointer to the text. */
READ(text)
{
	const char *text = json_string_value(p->value);

	if (!text)
		return json_read_fail(p, "must be text");
	char *copy = json_store_text(p->r->store, text);
	if (f->stride)
		snprintf(member, f->stride, "%s", copy);
	else
		memcpy(member, &copy, sizeof(copy));
	return 0;
}

READ(lines)
{
	size_t n = json_array_size(p->value);
	struct buf all = { 0 };
	int rc = 0;

	if (!json_is_array(p->value))
		return json_read_fail(p, "must be a list");
	for (size_t i = 0; i < n && rc == 0; i++) {
		const struct json_place item = item_of(p, i);

		if (!json_is_string(item.value)) {
			rc = json_read_fail(&item, "must be text");
			break;
		}
		buf_add(&all, i ? "\n" : "");
		printable_add(&all, json_string_value(item.value));
	}
	char *copy = n ? json_store_alloc(p->r->store, all.len + 1) : NULL;
	if (copy)
		memcpy(copy, buf_str(&all), all.len + 1);
	memcpy(member, &copy, sizeof(copy));
	buf_fini(&all);
	return rc;
}

/* ---- latencies ---- */

static int read_bins(const struct json_place *outer, struct hist *h)
{
	json_t *bins = json_object_get(outer->value, "bins");
	const struct json_place p = member_of(outer, "bins", bins);

	if (!json_is_object(bins))
		return json_read_fail(&p, "must be an object");
	void *at = json_object_iter(bins);
	for (; at; at = json_object_iter_next(bins, at)) {
		const char *key = json_object_iter_key(at);
		const struct json_place bin = member_of(&p, key, json_object_iter_value(at));
		uint64_t ns, n = 0;

		if (units_u64(key, &ns, NULL) < 0 || hist_bucket_midpoint(hist_bucket_of(ns)) != ns)
			return json_read_fail(&bin, "is not a bin of mlgen's histograms");
		if (read_count(&bin, &n) < 0)
			return -EINVAL;
		if (n > UINT64_MAX - h->count)
			return json_read_fail(&bin, "is too large to be counted");
		h->buckets[hist_bucket_of(ns)] += n;
		h->count += n;
	}
	return 0;
}

static int read_member_count(const struct json_place *outer, const char *key, uint64_t *out)
{
	const struct json_place p = member_of(outer, key, json_object_get(outer->value, key));

	return read_count(&p, out);
}

static int read_member_f64(const struct json_place *outer, const char *key, double *out)
{
	const struct json_place p = member_of(outer, key, json_object_get(outer->value, key));

	if (read_number(&p, out) < 0)
		return -EINVAL;
	return *out < 0 || *out > 1e19 ? json_read_fail(&p, "must be a number of nanoseconds") : 0;
}

/* The document has no sums; they follow from the mean, which has 15 digits. */
static int read_sums(const struct json_place *p, struct read_hist *out)
{
	struct hist *h = &out->hist;
	double mean, stddev;

	if (read_member_f64(p, "mean", &mean) < 0 || read_member_f64(p, "stddev", &stddev) < 0)
		return -EINVAL;
	double n = (double)h->count, sum = rint(mean * n);
	h->sum_ns = sum < 1.8e19 ? (uint64_t)sum : UINT64_MAX;
	h->sum_squares = (stddev * stddev + mean * mean) * n;
	out->stddev = stddev;
	return 0;
}

READ(hist)
{
	uint64_t n, in_range = 0;

	if (!json_is_object(p->value))
		return json_read_fail(p, "must be an object");
	if (read_member_count(p, "N", &n) < 0)
		return -EINVAL;
	if (n == 0)
		return 0;
	struct read_hist *read = json_store_alloc(p->r->store, sizeof(*read));
	struct hist *h = &read->hist;
	if (read_bins(p, h) < 0 || read_member_count(p, "min", &h->min_ns) < 0 ||
	    read_member_count(p, "max", &h->max_ns) < 0 || read_sums(p, read) < 0)
		return -EINVAL;
	if (h->count != n)
		return json_read_fail(p, "its bins do not add up to N");
	if (h->min_ns > h->max_ns)
		return json_read_fail(p, "min is above max");
	for (unsigned b = hist_first_bucket(h); b <= hist_last_bucket(h); b++)
		in_range += h->buckets[b];
	if (in_range != n)
		return json_read_fail(p, "has a bin below min or above max");
	*(struct hist **)member = h;
	return 0;
}

double json_read_stddev(const struct hist *h)
{
	return ((const struct read_hist *)h)->stddev;
}

/* ---- objects and lists ---- */

static int read_table(const struct json_place *p, const struct mlgen_field *table, char *base);

READ(object)
{
	return read_table(p, f->sub, member);
}

READ(list)
{
	size_t n = json_array_size(p->value);

	if (!json_is_array(p->value))
		return json_read_fail(p, "must be a list");
	if (n == 0)
		return 0;
	char *items = json_store_alloc(p->r->store, n * f->stride);
	for (size_t i = 0; i < n; i++) {
		const struct json_place item = item_of(p, i);

		if (read_table(&item, f->sub, items + i * f->stride) < 0)
			return -EINVAL;
	}
	*(struct metric_list *)member = (struct metric_list){ items, n };
	return 0;
}

READ(f64s)
{
	size_t n = json_array_size(p->value);

	if (!json_is_array(p->value))
		return json_read_fail(p, "must be a list");
	if (n == 0)
		return 0;
	double *items = json_store_alloc(p->r->store, n * sizeof(*items));
	for (size_t i = 0; i < n; i++) {
		const struct json_place item = item_of(p, i);

		items[i] = (double)NAN;
		if (!json_is_null(item.value) && read_number(&item, &items[i]) < 0)
			return -EINVAL;
	}
	*(struct metric_list *)member = (struct metric_list){ items, n };
	return 0;
}

READ(map)
{
	size_t n = json_object_size(p->value), i = 0;

	if (!json_is_object(p->value))
		return json_read_fail(p, "must be an object");
	if (n == 0)
		return 0;
	struct metric_pair *pairs = json_store_alloc(p->r->store, n * sizeof(*pairs));
	const char *key;
	json_t *value;
	json_object_foreach(p->value, key, value)
	{
		const struct json_place item = member_of(p, key, value);
		if (!json_is_string(value) && !json_is_null(value))
			return json_read_fail(&item, "must be text");
		if (!printable_is(key))
			continue; /* mlgen writes no such key */
		pairs[i].key = json_store_text(p->r->store, key);
		if (json_is_string(value))
			pairs[i].value = json_store_text(p->r->store, json_string_value(value));
		i++;
	}
	*(struct metric_list *)member = (struct metric_list){ pairs, i };
	return 0;
}

/* Types that only options have do not occur in a document. */
static int read_member(const struct json_place *p, const struct mlgen_field *f, void *member)
{
	static int (*const types[])(const struct json_place *, const struct mlgen_field *,
				    void *) = {
		[MLGEN_BOOL] = read_bool,   [MLGEN_U64] = read_u64,
		[MLGEN_SIZE] = read_u64,    [MLGEN_TIME] = read_u64,
		[MLGEN_F64] = read_f64,     [MLGEN_PERCENT] = read_f64,
		[MLGEN_ENUM] = read_choice, [MLGEN_STR] = read_text,
		[MLGEN_HIST] = read_hist,   [MLGEN_OBJECT] = read_object,
		[MLGEN_LIST] = read_list,   [MLGEN_F64_ARRAY] = read_f64s,
		[MLGEN_MAP] = read_map,     [MLGEN_TEXTS] = read_lines,
	};

	return f->type < ARRAY_LEN(types) && types[f->type] ? types[f->type](p, f, member) : 0;
}

static int read_table(const struct json_place *p, const struct mlgen_field *table, char *base)
{
	if (!json_is_object(p->value))
		return json_read_fail(p, "must be an object");
	for (const struct mlgen_field *f = table; f->name; f++) {
		json_t *value = json_object_get(p->value, f->name);
		const struct json_place member = member_of(p, f->name, value);

		field_set_unknown(f, base + f->off);
		if (!value || json_is_null(value))
			vec_push(&p->r->store->missing, (struct json_missing){ f, base });
		else if (read_member(&member, f, base + f->off) < 0)
			return -EINVAL;
	}
	return 0;
}

int json_read_struct(const struct json_reader *r, json_t *o, const struct mlgen_field *table,
		     void *base, const char *path, struct mlgen_err *err)
{
	const struct json_place p = { .r = r, .value = o, .key = path, .err = err };

	return read_table(&p, table, base);
}
