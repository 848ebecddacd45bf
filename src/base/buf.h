/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h - a string that grows. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* A zeroed struct is the empty string; `s` is NULL then, so read buf_str(). */
struct buf {
	char *s;
	size_t len;
	size_t size;
};

void buf_init(struct buf *b);
void buf_fini(struct buf *b);            /* takes a zeroed struct */
void buf_reset(struct buf *b);           /* empty, memory kept */
void buf_cut(struct buf *b, size_t len); /* back to its first `len` bytes */
void buf_add(struct buf *b, const char *s);
void buf_addn(struct buf *b, const char *s, size_t n);
void buf_addc(struct buf *b, char c);
__attribute__((format(printf, 2, 3))) void buf_addf(struct buf *b, const char *fmt, ...);

/* The string, never NULL; owned by the buf. */
const char *buf_str(const struct buf *b);

/* The string, now the caller's (mem_free); the buf is empty again. */
char *buf_take(struct buf *b);
