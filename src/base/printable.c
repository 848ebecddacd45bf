/* SPDX-License-Identifier: Apache-2.0 */
/* printable.c - text of others as a terminal can show it without obeying it. */
#include "base/printable.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

/* Code points that are written as escapes, first to last. */
static const uint32_t hidden[][2] = {
	{ 0x80, 0x9f },     /* C1 controls (ECMA-48) */
	{ 0x61c, 0x61c },   /* Arabic letter mark */
	{ 0x200e, 0x200f }, /* left-to-right and right-to-left mark */
	{ 0x2028, 0x202e }, /* separators; embeddings and overrides */
	{ 0x2066, 0x2069 }, /* isolates (Unicode UAX #9) */
};

static bool is_hidden(uint32_t point)
{
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (point >= hidden[i][0] && point <= hidden[i][1])
			return true;
	return false;
}

/* Bytes of the UTF-8 sequence at s, with its code point; 0 = it is none. */
static size_t sequence(const unsigned char *s, size_t left, uint32_t *point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (s[0] < 0xc2 || s[0] > 0xf4 || left < n)
		return 0;
	*point = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*point = *point << 6 | (s[i] & 0x3f);
	}
	/* Too long for its value, half of a UTF-16 pair, or beyond Unicode. */
	if (*point < least[n] || *point > 0x10ffff || (*point >= 0xd800 && *point <= 0xdfff))
		return 0;
	return n;
}

static size_t escape_byte(unsigned char c, char out[PRINTABLE_BYTES])
{
	const char *letter = c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : NULL;
	int n = letter ? snprintf(out, PRINTABLE_BYTES, "%s", letter)
		       : snprintf(out, PRINTABLE_BYTES, "\\x%02x", c);

	return (size_t)n;
}

size_t printable_next(const char **s, const char *end, char out[PRINTABLE_BYTES])
{
	const unsigned char *at = (const unsigned char *)*s;
	uint32_t point = 0;
	size_t n;

	if (*at >= 0x20 && *at < 0x7f) {
		out[0] = *(*s)++;
		return 1;
	}
	n = sequence(at, (size_t)(end - *s), &point);
	*s += n ? n : 1;
	if (n && is_hidden(point))
		return (size_t)snprintf(out, PRINTABLE_BYTES, "\\u%04x", point);
	if (n)
		memcpy(out, at, n);
	return n ? n : escape_byte(*at, out);
}

void printable_add(struct buf *out, const char *s)
{
	const char *end = s + strlen(s);
	char next[PRINTABLE_BYTES];

	while (s < end) {
		size_t n = printable_next(&s, end, next);

		buf_addn(out, next, n);
	}
}

void printable_add_lines(struct buf *out, const char *s, size_t bytes)
{
	const char *end = s + bytes;
	char next[PRINTABLE_BYTES];

	while (s < end) {
		if (*s == '\n' || *s == '\t') {
			buf_addc(out, *s++);
			continue;
		}
		size_t n = printable_next(&s, end, next);
		buf_addn(out, next, n);
	}
}

size_t printable_copy(char *out, size_t size, const char *s)
{
	const char *end = s + strlen(s);
	char next[PRINTABLE_BYTES];
	size_t len = 0;

	while (s < end) {
		size_t n = printable_next(&s, end, next);

		if (len + n >= size)
			break;
		memcpy(out + len, next, n);
		len += n;
	}
	out[len] = '\0';
	return len;
}

size_t printable_columns(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void printable_pad(struct buf *out, const char *s, int columns)
{
	int used = (int)printable_columns(s);
	int before = columns - used, behind = -columns - used;

	buf_addf(out, "%*s%s%*s", before > 0 ? before : 0, "", s, behind > 0 ? behind : 0, "");
}

bool printable_is(const char *s)
{
	const char *end = s + strlen(s);
	char next[PRINTABLE_BYTES];

	while (s < end) {
		const char *from = s;
		size_t n = printable_next(&s, end, next);

		if (n != (size_t)(s - from) || memcmp(next, from, n) != 0)
			return false;
	}
	return true;
}
