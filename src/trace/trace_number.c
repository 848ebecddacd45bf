/* SPDX-License-Identifier: Apache-2.0 */
/* trace_number.c - whole numbers as digits, of which a trace as text has ten million. */
#include "trace/trace_number.h"

const char *trace_number_take(const char *s, size_t bytes, uint64_t most, uint64_t *out)
{
	uint64_t v = 0;

	if (!bytes)
		return "is empty";
	if (*s == '-')
		return "is negative";
	for (size_t i = 0; i < bytes; i++) {
		if (s[i] < '0' || s[i] > '9')
			return "is no whole number";
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return "is too large";
	}
	*out = v;
	return v > most ? "is too large" : NULL;
}

const char *trace_number_take_signed(const char *s, size_t bytes, int64_t *out)
{
	uint64_t is_less = bytes > 1 && *s == '-', v = 0;
	const char *wrong =
		trace_number_take(s + is_less, bytes - is_less, (uint64_t)INT64_MAX + is_less, &v);

	if (!wrong)
		*out = is_less ? (int64_t)-v : (int64_t)v;
	return wrong && is_less && s[1] == '-' ? "is no whole number" : wrong;
}

void trace_number_put(struct buf *out, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + v % 10);
	while ((v /= 10));
	buf_addn(out, digits + at, sizeof(digits) - at);
}

void trace_number_put_signed(struct buf *out, int64_t v)
{
	if (v < 0)
		buf_addc(out, '-');
	trace_number_put(out, v < 0 ? -(uint64_t)v : (uint64_t)v);
}
