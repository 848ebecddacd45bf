/* SPDX-License-Identifier: Apache-2.0 */
/* trace_text.c - a name of any bytes as printable UTF-8, and exactly back. */
#include "trace/trace_text.h"

#include <stdint.h>
#include <string.h>

/* Bytes of the UTF-8 sequence there that may be shown; 0 = it may not. */
static size_t shown_sequence(const unsigned char *s, size_t left)
{
	static const uint32_t least[] = { 0, 0, 0xa0, 0x800, 0x10000 };
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t point = s[0] & (0x7fu >> n);

	if (s[0] < 0xc2 || s[0] > 0xf4 || left < n)
		return 0;
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		point = point << 6 | (s[i] & 0x3f);
	}
	/* Too long for its value, or a C1 control; half of a UTF-16 pair; beyond Unicode. */
	return point < least[n] || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff) ? 0 : n;
}

static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '\\';
}

void trace_text_put(struct buf *out, const char *s, size_t bytes)
{
	static const char digits[] = "0123456789ABCDEF";
	const unsigned char *at = (const unsigned char *)s, *end = at + bytes;

	while (at < end) {
		size_t n = 0;

		while (at + n < end && is_plain(at[n]))
			n++;
		if (n == 0 && *at >= 0x80)
			n = shown_sequence(at, (size_t)(end - at));
		buf_addn(out, (const char *)at, n);
		at += n;
		if (n)
			continue;
		buf_addc(out, '\\');
		if (*at == '\\') {
			buf_addc(out, '\\');
		} else {
			buf_addc(out, 'x');
			buf_addc(out, digits[*at >> 4]);
			buf_addc(out, digits[*at & 15]);
		}
		at++;
	}
}

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

const char *trace_text_take(char *s, size_t *bytes)
{
	char *end = s + *bytes, *to = memchr(s, '\\', *bytes);

	for (char *at = to; at && at < end;) {
		if (*at != '\\') {
			*to++ = *at++;
		} else if (end - at >= 2 && at[1] == '\\') {
			*to++ = '\\';
			at += 2;
		} else if (end - at >= 4 && at[1] == 'x' && hex_value(at[2]) >= 0 &&
			   hex_value(at[3]) >= 0) {
			*to++ = (char)(hex_value(at[2]) << 4 | hex_value(at[3]));
			at += 4;
		} else {
			return at;
		}
	}
	if (to)
		*bytes = (size_t)(to - s);
	return NULL;
}
