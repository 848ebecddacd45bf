/* SPDX-License-Identifier: Apache-2.0 */
/* strace_line.h - what a line of strace is, and the call in it, as pieces of the line: numbers,
 * quoted strings, lists, and words that stand for numbers. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"

/* A part of a line; not terminated. s is NULL where there is none. */
struct strace_text {
	const char *s;
	size_t n;
};

static inline bool strace_text_is(struct strace_text t, const char *word)
{
	return t.n == strlen(word) && memcmp(t.s, word, t.n) == 0;
}

static inline bool strace_text_begins(struct strace_text t, const char *with)
{
	return t.n >= strlen(with) && memcmp(t.s, with, strlen(with)) == 0;
}

bool strace_text_has(struct strace_text t, const char *part);

/* The number that it begins with: decimal, or 0x; a sign may be. NULL is 0. */
bool strace_text_number(struct strace_text t, int64_t *out);

/* What a string in quotes stands for, or a path without them, added to `out`. False: it has no
 * quotes, or is cut, or has a byte of zero. */
bool strace_text_unquote(struct strace_text t, struct buf *out);
bool strace_text_unescape(struct strace_text t, struct buf *out);

/* The next one of a list in [] or {}, which is what is left of it. */
bool strace_text_item(struct strace_text *list, struct strace_text *item);
/* Of {a=1, b=2} what stands behind "b=". */
bool strace_text_member(struct strace_text list, const char *name, struct strace_text *value);
bool strace_text_member_number(struct strace_text list, const char *name, int64_t *value);

/* ---- words ---- */

struct strace_words {
	struct strace_word {
		const char *name; /* NULL = empty */
		size_t bytes;
		int64_t value;
	} * words;
	size_t count, size;
};

/* `name` stays the caller's, of `bytes`. */
void strace_words_add(struct strace_words *w, const char *name, size_t bytes, int64_t value);
/* NULL = there is none. */
const struct strace_word *strace_words_find(const struct strace_words *w, struct strace_text t);
void strace_words_fini(struct strace_words *w);

/* The sum of "A|B|0x8000"; words that are not known are nothing. */
uint64_t strace_words_flags(const struct strace_words *w, struct strace_text t);

/* ---- lines ---- */

/* Linux has no greater pid. */
enum { STRACE_TID_MOST = 4194304 };

enum strace_clock {
	STRACE_TIMELESS,
	STRACE_UNIX,     /* -ttt: since 1970 */
	STRACE_DAY,      /* -t, -tt: since midnight */
	STRACE_RELATIVE, /* -r: since the line before */
};

/* What stands before a call, and the rest. */
struct strace_line {
	bool has_tid;
	uint32_t tid;
	enum strace_clock clock;
	uint64_t ns;
	struct strace_text body;
};

/* Takes any line. */
void strace_line_split(struct strace_line *l, struct strace_text line);

/* Takes " <0.000012>" off its end: how long the call took, or TRACE_UNKNOWN. */
uint64_t strace_line_duration(struct strace_text *t);

/* What stands in < > behind a descriptor. */
enum strace_place_kind { PLACE_NONE, PLACE_PATH, PLACE_OTHER };
struct strace_place {
	enum strace_place_kind kind;
	struct strace_text path; /* with escapes */
	bool is_char;            /* a character device, as -yy says */
};

enum { STRACE_ARGS = 8 };

struct strace_call {
	struct strace_text name;
	struct strace_text all; /* arguments */
	struct strace_text args[STRACE_ARGS];
	size_t arg_count;
	bool has_result; /* else it never ended, or nobody knows how */
	int64_t result;  /* a number, or -errno */
	bool failed;
	struct strace_text error; /* its name: ENOENT */
	struct strace_place place;
	uint64_t duration_ns; /* or TRACE_UNKNOWN */
};

/* "NAME(" at its beginning. */
bool strace_call_name(struct strace_text body, struct strace_text *name);

/* A call with its result. NULL, or what is wrong with it: of one without an end there are the
 * arguments, as far as they go. */
const char *strace_call_split(struct strace_call *c, struct strace_text body);

/* "3</a/b>": the number, and the place. False = it is none. AT_FDCWD is AT_FDCWD. */
bool strace_fd(struct strace_text t, int *fd, struct strace_place *place);
