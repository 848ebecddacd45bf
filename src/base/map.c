/* SPDX-License-Identifier: Apache-2.0 */
/* map.c - maps of numbers and of byte strings, and sets of numbers as ranges. */
#include "base/map.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

#define FIRST_SIZE 64
#define BLANKS " \t"

struct map_slot {
	uint64_t key;
	uint64_t number; /* number of the key + 1; 0 = free */
};

/* The last step of splitmix64, because keys are mostly small and dense. */
static uint64_t map_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static struct map_slot *find_slot(struct map_slot *slots, uint64_t size, uint64_t key)
{
	uint64_t i = map_mix(key) & (size - 1);

	while (slots[i].number && slots[i].key != key)
		i = (i + 1) & (size - 1);
	return &slots[i];
}

static void map_grow(struct map *m)
{
	uint64_t size = m->size ? 2 * m->size : FIRST_SIZE;
	struct spill to = { .most = m->slots.most };

	spill_reserve(&to, size * sizeof(struct map_slot));
	for (uint64_t i = 0; i < m->size; i++) {
		const struct map_slot *s = (const struct map_slot *)m->slots.at + i;

		if (s->number)
			*find_slot(to.at, size, s->key) = *s;
	}
	spill_free(&m->slots);
	m->slots = to;
	m->size = size;
}

uint32_t map_number(struct map *m, uint64_t key, bool *is_new)
{
	/* At most two of three slots are in use. */
	if (UINT64_C(3) * m->count >= 2 * m->size)
		map_grow(m);
	struct map_slot *s = find_slot(m->slots.at, m->size, key);
	*is_new = !s->number;
	if (*is_new)
		*s = (struct map_slot){ key, ++m->count };
	return (uint32_t)(s->number - 1);
}

bool map_find(const struct map *m, uint64_t key, uint32_t *number)
{
	const struct map_slot *s = m->size ? find_slot(m->slots.at, m->size, key) : NULL;

	if (!s || !s->number)
		return false;
	*number = (uint32_t)(s->number - 1);
	return true;
}

void map_fini(struct map *m)
{
	spill_free(&m->slots);
	*m = (struct map){ 0 };
}

/* ---- byte strings ---- */

/* The factor is odd, and half of its bits are set. */
static uint64_t mix_in(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 32;
}

/* Hash eight bytes at a time, each mixed with the previous ones. */
static uint64_t hash_of(const char *text, size_t bytes)
{
	uint64_t hash = bytes, word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word)) {
		memcpy(&word, text, sizeof(word));
		hash = mix_in(hash, word);
		text += sizeof(word);
	}
	word = 0;
	memcpy(&word, text, bytes);
	return mix_in(hash, word);
}

static bool has_at(const struct map_text *m, uint32_t number, const void *text, size_t bytes)
{
	size_t had_bytes = 0;
	const char *had = map_text_at(m, number, &had_bytes);

	return had_bytes == bytes && memcmp(had, text, bytes) == 0;
}

static void add_text(struct map_text *m, uint32_t number, const void *text, size_t bytes)
{
	spill_reserve(&m->starts, ((size_t)number + 1) * sizeof(uint64_t));
	spill_reserve(&m->text, m->end + bytes + 1);
	((uint64_t *)m->starts.at)[number] = m->end;
	char *to = (char *)m->text.at + m->end;
	memcpy(to, text, bytes);
	to[bytes] = '\0';
	m->end += bytes + 1;
}

uint32_t map_text_number(struct map_text *m, const void *text, size_t bytes, bool *is_new)
{
	for (uint64_t key = hash_of(text, bytes);; key++) {
		uint32_t number = map_number(&m->keys, key, is_new);

		if (*is_new)
			add_text(m, number, text, bytes);
		if (*is_new || has_at(m, number, text, bytes))
			return number;
	}
}

bool map_text_find(const struct map_text *m, const void *text, size_t bytes, uint32_t *number)
{
	uint64_t key = hash_of(text, bytes);

	while (map_find(&m->keys, key, number)) {
		if (has_at(m, *number, text, bytes))
			return true;
		key++;
	}
	return false;
}

void map_text_fini(struct map_text *m)
{
	map_fini(&m->keys);
	spill_free(&m->starts);
	spill_free(&m->text);
	*m = (struct map_text){ 0 };
}

const char *map_text_at(const struct map_text *m, uint32_t number, size_t *bytes)
{
	const uint64_t *starts = m->starts.at;

	if (number >= m->keys.count)
		return NULL;
	if (bytes)
		*bytes = (number + 1 < m->keys.count ? starts[number + 1] : m->end) -
			 starts[number] - 1;
	return (const char *)m->text.at + starts[number];
}

/* Read a number and return the text after it, or NULL. A number above UINT64_MAX becomes
 * UINT64_MAX, which is not below any `end`. */
static const char *read_number(const char *s, uint64_t *number)
{
	const char *from = s += strspn(s, BLANKS);

	for (*number = 0; *s >= '0' && *s <= '9'; s++) {
		if (__builtin_mul_overflow(*number, 10, number) ||
		    __builtin_add_overflow(*number, (uint64_t)(*s - '0'), number))
			*number = UINT64_MAX;
	}
	return s == from ? NULL : s + strspn(s, BLANKS);
}

/* Read a range and return the text after it, or NULL. */
static const char *read_range(const char *s, struct range *range)
{
	s = read_number(s, &range->first);
	range->last = range->first;
	if (s && *s == '-')
		s = read_number(s + 1, &range->last);
	return s && (!*s || *s == ',') ? s : NULL;
}

static void ranges_add(struct ranges *r, const struct range *range)
{
	r->items = mem_grow(r->items, &r->room, r->count + 1, sizeof(*r->items));
	r->items[r->count++] = *range;
}

static int ranges_read_all(struct ranges *r, const char *text, uint64_t end, const char *what,
			   struct mlgen_err *err)
{
	for (const char *s = text;; s++) {
		struct range range = { 0 };

		s = read_range(s, &range);
		if (!s)
			return mlgen_fail(err, -EINVAL,
					  "'%.200s' is not a list of %s; write numbers and ranges "
					  "separated by commas, such as 0-7,64",
					  text, what);
		if (range.last < range.first)
			return mlgen_fail(err, -EINVAL,
					  "'%" PRIu64 "-%" PRIu64
					  "' is reversed; write the smaller number first",
					  range.first, range.last);
		if (range.last >= end)
			return mlgen_fail(err, -ERANGE,
					  "%" PRIu64 " is not among the %" PRIu64
					  " %s, which are numbered from 0",
					  range.last, end, what);
		ranges_add(r, &range);
		if (!*s)
			return 0;
	}
}

COMPARE_BY(by_first, struct range, first)

/* Join sorted ranges that touch; a number that occurs twice is an error. */
static int ranges_join(struct ranges *r, struct mlgen_err *err)
{
	size_t n = 1;

	for (size_t i = 1; i < r->count; i++) {
		struct range *last = &r->items[n - 1];

		if (r->items[i].first <= last->last)
			return mlgen_fail(err, -EINVAL, "%" PRIu64 " is in the list twice",
					  r->items[i].first);
		if (r->items[i].first == last->last + 1)
			last->last = r->items[i].last;
		else
			r->items[n++] = r->items[i];
	}
	r->count = n;
	return 0;
}

static void ranges_number(struct ranges *r)
{
	r->numbers = 0;
	for (size_t i = 0; i < r->count; i++) {
		r->items[i].before = r->numbers;
		r->numbers += r->items[i].last - r->items[i].first + 1;
	}
}

int ranges_parse(struct ranges *r, const char *text, uint64_t end, const char *what,
		 struct mlgen_err *err)
{
	int rc;

	*r = (struct ranges){ 0 };
	rc = ranges_read_all(r, text, end, what, err);
	if (rc == 0) {
		qsort(r->items, r->count, sizeof(*r->items), by_first);
		rc = ranges_join(r, err);
	}
	if (rc)
		ranges_fini(r);
	ranges_number(r);
	return rc;
}

void ranges_all(struct ranges *r, uint64_t end)
{
	const struct range all = { .first = 0, .last = end - 1 };

	*r = (struct ranges){ 0 };
	if (end)
		ranges_add(r, &all);
	ranges_number(r);
}

void ranges_fini(struct ranges *r)
{
	mem_free(r->items);
	*r = (struct ranges){ 0 };
}

void ranges_cut(struct ranges *r, uint64_t end)
{
	while (r->count && r->items[r->count - 1].first >= end)
		r->count--;
	if (r->count && r->items[r->count - 1].last >= end)
		r->items[r->count - 1].last = end - 1;
	ranges_number(r);
}

/* The last range whose `before` (or `first`) is at most `value`; NULL = none. */
static const struct range *ranges_find(const struct ranges *r, uint64_t value, bool by_before)
{
	const struct range *at = r->items;
	size_t later = BISECT(i, 0, r->count, (by_before ? at[i].before : at[i].first) > value);

	return later ? &at[later - 1] : NULL;
}

void ranges_cut_below(struct ranges *r, uint64_t first)
{
	size_t drop = 0;

	while (drop < r->count && r->items[drop].last < first)
		drop++;
	for (size_t i = drop; i < r->count; i++)
		r->items[i - drop] = r->items[i];
	r->count -= drop;
	if (r->count && r->items[0].first < first)
		r->items[0].first = first;
	ranges_number(r);
}

void ranges_keep(struct ranges *r, uint64_t from, uint64_t end)
{
	if (end > r->numbers)
		end = r->numbers;
	if (from >= end) {
		r->count = 0;
		ranges_number(r);
		return;
	}
	uint64_t first = ranges_at(r, from), last = ranges_at(r, end - 1);
	ranges_cut(r, last + 1);
	ranges_cut_below(r, first);
}

uint64_t ranges_at(const struct ranges *r, uint64_t i)
{
	const struct range *at = ranges_find(r, i, true);

	assert(i < r->numbers);
	return at->first + (i - at->before);
}

bool ranges_has(const struct ranges *r, uint64_t value)
{
	const struct range *at = ranges_find(r, value, false);

	return at && value <= at->last;
}
