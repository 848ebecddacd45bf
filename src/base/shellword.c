/* SPDX-License-Identifier: Apache-2.0 */
/* shellword.c - arguments as a shell takes them back. */
#include "base/shellword.h"

#include <stdbool.h>
#include <string.h>

void shellword_add(struct buf *out, const char *arg)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./,:@%^";
	bool quoted = !arg[0] || arg[strspn(arg, plain)];

	if (out->len)
		buf_addc(out, ' ');
	if (quoted)
		buf_addc(out, '\'');
	for (; *arg; arg++) {
		if (*arg == '\'')
			buf_add(out, "'\\'");
		buf_addc(out, *arg);
	}
	if (quoted)
		buf_addc(out, '\'');
}
