/* SPDX-License-Identifier: Apache-2.0 */
/* view_text.c - see view_text.h. */
#include "report/view_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/printable.h"

/* Letters of `text`, at most so many, as the picture can show them. */
static void view_text_fit(char out[VIEW_TEXT_BYTES], const char *text, unsigned columns,
			  bool is_utf8)
{
	const char *end = text + strlen(text);
	char letter[PRINTABLE_BYTES];
	size_t at = 0;

	while (text < end && columns > 0) {
		size_t n = printable_next(&text, end, letter);
		bool is_ascii = (unsigned char)letter[0] < 0x80;

		/* An escape is several columns. */
		if ((is_ascii && n > columns) || at + n >= VIEW_TEXT_BYTES)
			break;
		if (!is_ascii && !is_utf8) {
			letter[0] = '?';
			n = 1;
		}
		memcpy(out + at, letter, n);
		at += n;
		columns -= is_ascii ? (unsigned)n : 1;
	}
	out[at] = '\0';
}

void view_put(const struct view_pen *pen, unsigned row, unsigned column, unsigned columns,
	      enum view_look look, const char *text)
{
	char shown[VIEW_TEXT_BYTES];

	if (row >= pen->rows || column >= pen->columns)
		return;
	if (columns > pen->columns - column)
		columns = pen->columns - column;
	view_text_fit(shown, text, columns, pen->is_utf8);
	pen->put(pen->to, row, column, look, shown);
}

void view_printf(const struct view_pen *pen, unsigned row, unsigned column, unsigned columns,
		 enum view_look look, const char *fmt, ...)
{
	char text[VIEW_TEXT_BYTES];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	view_put(pen, row, column, columns, look, text);
}
