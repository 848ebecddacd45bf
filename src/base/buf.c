/* SPDX-License-Identifier: Apache-2.0 */
/* buf.c - a string that grows. */
#include "base/buf.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

/* Make room for n more bytes and the zero byte. */
static void make_room(struct buf *b, size_t n)
{
	assert(n < SIZE_MAX / 4 && b->len < SIZE_MAX / 4);
	size_t need = b->len + n + 1;
	if (need <= b->size)
		return;
	size_t size = b->size ? b->size : 32;
	while (size < need)
		size *= 2;
	b->s = mem_realloc(b->s, size);
	b->size = size;
	b->s[b->len] = '\0';
}

void buf_init(struct buf *b)
{
	memset(b, 0, sizeof(*b));
}

void buf_fini(struct buf *b)
{
	mem_free(b->s);
	buf_init(b);
}

void buf_reset(struct buf *b)
{
	buf_cut(b, 0);
}

void buf_cut(struct buf *b, size_t len)
{
	assert(len <= b->len);
	b->len = len;
	if (b->s)
		b->s[len] = '\0';
}

void buf_add(struct buf *b, const char *s)
{
	buf_addn(b, s, strlen(s));
}

void buf_addn(struct buf *b, const char *s, size_t n)
{
	make_room(b, n);
	if (n) /* s may be NULL if n is 0 */
		memcpy(b->s + b->len, s, n);
	b->len += n;
	b->s[b->len] = '\0';
}

void buf_addc(struct buf *b, char c)
{
	buf_addn(b, &c, 1);
}

void buf_addf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	int len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	assert(len >= 0);

	make_room(b, (size_t)len);
	va_start(ap, fmt);
	vsnprintf(b->s + b->len, (size_t)len + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)len;
}

const char *buf_str(const struct buf *b)
{
	return b->s ? b->s : "";
}

char *buf_detach(struct buf *b)
{
	char *s = b->s ? b->s : mem_strdup("");

	buf_init(b);
	return s;
}
