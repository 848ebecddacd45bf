/* SPDX-License-Identifier: Apache-2.0 */
/* strace_text.h - pieces of a line of strace: numbers, quoted strings, lists, and words that stand
 * for numbers. */
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

/* "12.345" at its beginning, as ns, and what is behind it. */
bool strace_text_seconds(struct strace_text *t, uint64_t *ns);

/* What a string in quotes stands for, or a path without them, added to `out`. False: it has no
 * quotes, or is cut, or has a byte of zero. */
bool strace_text_unquote(struct strace_text t, struct buf *out);
bool strace_text_unescape(struct strace_text t, struct buf *out);

/*
 * What is at *at (up to `end`) and belongs together is passed over: a string, a comment, what
 * stands in < > behind a number, or one byte. The change of the depth of brackets.
 */
int strace_text_pass(const char *begin, const char **at, const char *end);

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
