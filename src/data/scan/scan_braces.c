/* SPDX-License-Identifier: Apache-2.0 */
/* scan_braces.c - names with braces, as bash and WebDataset write many of them in one. */
#include "data/scan/scan_internal.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

/* Digits of an end of a range, as many as fit int64_t. */
#define DIGITS_MAX 18

/* Bytes of all names of one. */
#define BYTES_MAX ((size_t)256 << 20)

/* In "a{b,c}d": the parts between which the braces stand. */
struct pair {
	const char *open, *close; /* NULL: there are none */
	bool has_comma;           /* of this pair, not of one within */
};

struct brace_range {
	int64_t first, last, step;
	int width; /* of numbers with zeros in front; 0 = none */
	bool is_letters;
};

void namelist_add(struct namelist *l, char *name)
{
	vec_push(l, name);
	l->bytes += strlen(name) + 1;
}

void namelist_fini(struct namelist *l)
{
	for (size_t i = 0; i < l->count; i++)
		mem_free(l->at[i]);
	vec_fini(l);
	*l = (struct namelist){ 0 };
}

/* ---- ranges ---- */

/* An end of a range: what is behind it, or NULL. */
static const char *read_number(const char *s, const char *end, int64_t *v)
{
	bool is_negative = s < end && *s == '-';
	const char *from;

	*v = 0;
	s += s < end && (*s == '-' || *s == '+');
	for (from = s; s < end && isdigit((unsigned char)*s); s++) {
		if (s - from == DIGITS_MAX)
			return NULL;
		*v = *v * 10 + (*s - '0');
	}
	if (is_negative)
		*v = -*v;
	return s == from ? NULL : s;
}

/* Zeros in front of a number say how wide all of its range are. */
static int width_of(const char *from, const char *end)
{
	const char *digits = from + (*from == '-' || *from == '+');

	return *digits == '0' && end - digits > 1 ? (int)(end - from) : 0;
}

static const char *read_end(struct brace_range *r, const char *s, const char *end, int64_t *v)
{
	const char *from = s;
	int width;

	if (r->is_letters) {
		if (s == end || !isalpha((unsigned char)*s))
			return NULL;
		*v = (unsigned char)*s;
		return s + 1;
	}
	s = read_number(s, end, v);
	width = s ? width_of(from, s) : 0;
	if (width > r->width)
		r->width = width;
	return s;
}

static const char *behind_dots(const char *s, const char *end)
{
	return s && end - s > 2 && s[0] == '.' && s[1] == '.' ? s + 2 : NULL;
}

/* "000..127" or "a..f", with "..2" behind it or not. */
static bool read_range(struct brace_range *r, const char *s, const char *end)
{
	*r = (struct brace_range){ .step = 1, .is_letters = s < end && isalpha((unsigned char)*s) };
	s = behind_dots(read_end(r, s, end, &r->first), end);
	s = s ? read_end(r, s, end, &r->last) : NULL;
	if (s && s != end) {
		s = behind_dots(s, end);
		s = s ? read_number(s, end, &r->step) : NULL;
	}
	if (s != end)
		return false;
	if (r->step < 0)
		r->step = -r->step;
	if (r->step == 0)
		r->step = 1;
	return true;
}

/* ---- names ---- */

static bool is_full(const struct namelist *l)
{
	return l->is_over || l->count > BRACES_MAX || l->bytes > BYTES_MAX;
}

static int too_many(const char *name, struct mlgen_err *err)
{
	return mlgen_fail(err, -E2BIG,
			  "%.80s%s: its braces stand for more names than the %u that can be; a "
			  "glob, or file_list=FILE, takes more",
			  name, strlen(name) > 80 ? "..." : "", BRACES_MAX);
}

/* The first pair that is more than two letters of the name. */
static struct pair find_pair(const char *name)
{
	for (const char *open = name; (open = strchr(open, '{')); open++) {
		struct pair p = { .open = open };
		struct brace_range r;
		unsigned depth = 0;

		for (const char *c = open; *c && !p.close; c++) {
			depth += *c == '{';
			p.has_comma |= *c == ',' && depth == 1;
			if (*c == '}' && --depth == 0)
				p.close = c;
		}
		if (p.close && (p.has_comma || read_range(&r, open + 1, p.close)))
			return p;
	}
	return (struct pair){ 0 };
}

/* The name with `n` bytes of `part` in place of the pair. */
static char *with_part(const char *name, const struct pair *p, const char *part, size_t n)
{
	size_t before = (size_t)(p->open - name), after = strlen(p->close + 1);
	char *s = mem_zalloc(before + n + after + 1);

	memcpy(s, name, before);
	memcpy(s + before, part, n);
	memcpy(s + before + n, p->close + 1, after);
	return s;
}

static void put_range(struct namelist *to, const char *name, const struct pair *p,
		      const struct brace_range *r)
{
	uint64_t far = r->last > r->first ? (uint64_t)r->last - (uint64_t)r->first
					  : (uint64_t)r->first - (uint64_t)r->last;
	uint64_t count = far / (uint64_t)r->step + 1;

	to->is_over = count > BRACES_MAX;
	for (uint64_t i = 0; i < count && !is_full(to); i++) {
		int64_t by = (int64_t)i * r->step;
		int64_t v = r->last > r->first ? r->first + by : r->first - by;
		char text[32];
		int n = r->is_letters ? snprintf(text, sizeof(text), "%c", (int)v)
				      : snprintf(text, sizeof(text), "%0*" PRId64, r->width, v);

		namelist_add(to, with_part(name, p, text, (size_t)n));
	}
}

static void put_parts(struct namelist *to, const char *name, const struct pair *p)
{
	const char *from = p->open + 1;
	unsigned depth = 0;

	for (const char *c = from; c <= p->close && !is_full(to); c++) {
		depth += *c == '{';
		if (depth == 0 && (*c == ',' || c == p->close)) {
			namelist_add(to, with_part(name, p, from, (size_t)(c - from)));
			from = c + 1;
		}
		depth -= *c == '}' && depth;
	}
}

/* One pair of every name, from the left; until there are none. */
static bool expand_once(struct namelist *from, struct namelist *to)
{
	bool any = false;

	for (size_t i = 0; i < from->count && !is_full(to); i++) {
		struct pair p = find_pair(from->at[i]);
		struct brace_range r;

		if (!p.open)
			namelist_add(to, mem_strdup(from->at[i]));
		else if (!p.has_comma && read_range(&r, p.open + 1, p.close))
			put_range(to, from->at[i], &p, &r);
		else
			put_parts(to, from->at[i], &p);
		any |= p.open != NULL;
	}
	return any;
}

int braces_expand(struct namelist *to, const char *name, struct mlgen_err *err)
{
	struct namelist now = { 0 };
	bool any = true;

	namelist_add(&now, mem_strdup(name));
	while (any && !is_full(&now)) {
		struct namelist next = { 0 };

		any = expand_once(&now, &next);
		namelist_fini(&now);
		now = next;
	}
	if (is_full(&now)) {
		namelist_fini(&now);
		return too_many(name, err);
	}
	for (size_t i = 0; i < now.count; i++)
		namelist_add(to, now.at[i]);
	mem_free(now.at);
	return 0;
}
