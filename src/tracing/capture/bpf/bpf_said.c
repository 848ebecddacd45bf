/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_said.c - see bpf_said.h. */
#include "tracing/capture/bpf/bpf_said.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <bpf/libbpf.h>

/* A failed load says hundreds of kilobytes, and its end is what counts. libbpf hands no state to
 * its printer, so this is one for all. */
#define SAID_BYTES 700
static char said[2 * SAID_BYTES + 1];

__attribute__((format(printf, 2, 0))) static int keep(enum libbpf_print_level level,
						      const char *format, va_list ap)
{
	size_t had = strlen(said);
	int n;

	if (level == LIBBPF_DEBUG)
		return 0;
	if (had > SAID_BYTES) {
		memmove(said, said + had - SAID_BYTES, SAID_BYTES + 1);
		had = SAID_BYTES;
	}
	n = vsnprintf(said + had, SAID_BYTES, format, ap);
	for (char *c = said + had; *c; c++)
		if (*c == '\n' || *c == '\t')
			*c = ' ';
	return n;
}

void said_quiet(void)
{
	said[0] = '\0';
	libbpf_set_print(keep);
}

const char *said_last(void)
{
	size_t had = strlen(said);

	while (had && said[had - 1] == ' ')
		said[--had] = '\0';
	return had > SAID_BYTES ? said + had - SAID_BYTES : said;
}
