/* SPDX-License-Identifier: Apache-2.0 */
/* darshan_row.c - a line of darshan-dxt-parser's text that says what was read or written. */
#include "import/trace/darshan_row.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "trace/trace_number.h"

#define COLUMNS "MODULE RANK read|write SEGMENT OFFSET LENGTH START END"

enum column {
	COLUMN_MODULE,
	COLUMN_RANK,
	COLUMN_WAY,
	COLUMN_SEGMENT,
	COLUMN_OFFSET,
	COLUMN_LENGTH,
	COLUMN_START,
	COLUMN_END,
	COLUMNS_ALWAYS
};

/* Ranks are pids, and their numbers plus one. */
#define RANK_MOST (UINT32_MAX - 1u)
/* A century; a job's begin is of this one. */
#define SECONDS_MOST UINT64_C(3200000000)

struct word {
	const char *s;
	size_t bytes;
};

/* A line, on its way. */
struct words {
	const char *at, *end;
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Blanks part words, but not within [  3]. False: there is none. */
static bool next_word(struct words *l, struct word *w)
{
	bool is_bracket;

	while (l->at < l->end && is_blank(*l->at))
		l->at++;
	w->s = l->at;
	is_bracket = l->at < l->end && *l->at == '[';
	while (l->at < l->end && (is_bracket || !is_blank(*l->at))) {
		bool is_last = is_bracket && *l->at == ']';

		l->at++;
		if (is_last)
			break;
	}
	w->bytes = (size_t)(l->at - w->s);
	return w->bytes > 0;
}

const char *darshan_seconds(const char *s, size_t bytes, uint64_t *ns, unsigned *decimals)
{
	const char *point = memchr(s, '.', bytes);
	size_t whole = point ? (size_t)(point - s) : bytes;
	uint64_t seconds = 0, fraction = 0, unit = NS_PER_S;
	const char *wrong = trace_number_take(s, whole, SECONDS_MOST, &seconds);

	*decimals = 0;
	for (size_t i = whole + 1; !wrong && i < bytes; i++) {
		if (s[i] < '0' || s[i] > '9')
			return "is no number of seconds";
		unit /= 10;
		fraction += unit * (uint64_t)(s[i] - '0');
		++*decimals;
	}
	*ns = seconds * NS_PER_S + fraction;
	return wrong;
}

/* ---- cell by cell ---- */

struct taking {
	struct darshan_row *row;
	char *why;
	size_t why_bytes;
};

static const char *darshan_row_say(struct taking *t, const char *what, struct word w,
				   const char *wrong)
{
	snprintf(t->why, t->why_bytes, "the %s '%.*s' %s", what, (int)u64_min(w.bytes, 40), w.s,
		 wrong);
	return t->why;
}

static const char *take_number(struct taking *t, const char *what, struct word w, uint64_t most,
			       uint64_t *out)
{
	const char *wrong = trace_number_take(w.s, w.bytes, most, out);

	return wrong ? darshan_row_say(t, what, w, wrong) : NULL;
}

static const char *take_time(struct taking *t, const char *what, struct word w, uint64_t *ns)
{
	const char *wrong = darshan_seconds(w.s, w.bytes, ns, &t->row->decimals);

	return wrong ? darshan_row_say(t, what, w, wrong) : NULL;
}

static bool word_is(struct word w, const char *text)
{
	return w.bytes == strlen(text) && memcmp(w.s, text, w.bytes) == 0;
}

static const char *take_cell(struct taking *t, enum column c, struct word w)
{
	struct darshan_row *r = t->row;
	uint64_t segment;

	switch (c) {
	case COLUMN_MODULE:
		r->module = w.s;
		r->module_bytes = w.bytes;
		return NULL;
	case COLUMN_RANK:
		return take_number(t, "rank", w, RANK_MOST, &r->rank);
	case COLUMN_WAY:
		r->is_write = word_is(w, "write");
		return r->is_write || word_is(w, "read")
			       ? NULL
			       : darshan_row_say(t, "word", w, "is neither read nor write");
	case COLUMN_SEGMENT:
		return take_number(t, "segment", w, UINT64_MAX, &segment);
	case COLUMN_OFFSET:
		return take_number(t, "offset", w, INT64_MAX, &r->off);
	case COLUMN_LENGTH:
		return take_number(t, "length", w, INT64_MAX, &r->bytes);
	case COLUMN_START:
		return take_time(t, "start", w, &r->start_ns);
	default:
		return take_time(t, "end", w, &r->end_ns);
	}
}

/* The object storage targets, which a trace does not have, and the thread. */
static const char *take_rest(struct taking *t, struct words *l)
{
	struct darshan_row *r = t->row;
	struct word w;

	while (next_word(l, &w)) {
		if (*w.s == '[') {
			if (w.s[w.bytes - 1] != ']')
				return darshan_row_say(t, "list", w, "has no end");
			continue;
		}
		if (r->has_thread)
			return darshan_row_say(t, "word", w, "is one too many");
		const char *wrong = take_number(t, "thread", w, UINT64_MAX - 1, &r->thread);

		if (wrong)
			return wrong;
		r->has_thread = true;
	}
	return NULL;
}

const char *darshan_row_take(struct darshan_row *r, const char *line, size_t bytes, char *why,
			     size_t why_bytes)
{
	struct words l = { line, line + bytes };
	struct taking t = { r, why, why_bytes };
	const char *wrong = NULL;
	struct word w;

	*r = (struct darshan_row){ 0 };
	for (unsigned c = 0; !wrong && c < COLUMNS_ALWAYS; c++) {
		if (!next_word(&l, &w)) {
			snprintf(why, why_bytes, "%u words, and a line has %d: " COLUMNS, c,
				 COLUMNS_ALWAYS);
			return why;
		}
		wrong = take_cell(&t, c, w);
	}
	if (!wrong)
		wrong = take_rest(&t, &l);
	if (wrong || r->end_ns >= r->start_ns)
		return wrong;
	return "ends before it begins";
}
