/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h - a string that grows. */
#pragma once

#include <stdarg.h>
#include <stddef.h>

/* A zeroed struct is the empty string with s = NULL, so read it with buf_str(). */
struct buf {
	char *s;
	size_t len;
	size_t size;
};

void buf_init(struct buf *b);
void buf_fini(struct buf *b);            /* accepts a zeroed struct */
void buf_reset(struct buf *b);           /* empty it, but keep the memory */
void buf_cut(struct buf *b, size_t len); /* keep the first `len` bytes */
void buf_add(struct buf *b, const char *s);
void buf_addn(struct buf *b, const char *s, size_t n);
void buf_addc(struct buf *b, char c);
__attribute__((format(printf, 2, 3))) void buf_addf(struct buf *b, const char *fmt, ...);

/* Return the string, never NULL; owned by the buf. */
const char *buf_str(const struct buf *b);

/* Return the string, which the caller frees (mem_free), and empty the buf. */
char *buf_detach(struct buf *b);
