/* SPDX-License-Identifier: Apache-2.0 */
/* text_block.c - one job's part of the text report, and how its lines are laid out. */
#include "report/text_block.h"

#include <string.h>

/* How much of the text goes on a line of `room`: whole words, and whole items
 * of a list where that leaves the line more than half full. */
static size_t line_length(const char *text, size_t room)
{
	size_t len = strlen(text);
	size_t space = 0, item = 0;
	if (len <= room)
		return len;
	for (size_t i = 1; i <= room; i++) {
		if (text[i] != ' ')
			continue;
		space = i;
		if (text[i - 1] == ',' || text[i - 1] == ';')
			item = i;
	}
	if (item > room / 2)
		return item;
	return space ? space : room;
}

/* Two lines break at a `;` in the second half of the first, if there is one. */
static size_t first_length(const char *text, size_t room, size_t next_room)
{
	size_t len = line_length(text, room);
	for (size_t i = len; text[len] && i > room / 2; i--)
		if (text[i] == ' ' && text[i - 1] == ';' &&
		    strlen(text + i + 1) <= next_room)
			return i;
	return len;
}

void text_put(struct buf *out, const char *label, size_t indent,
	      const char *text)
{
	size_t start = strlen(label);
	/* A long label pushes its first line to the right, not the others. */
	size_t first = start + 2 > indent ? start + 3 : indent;
	buf_addf(out, "%-*s", (int)first, label);
	size_t len =
		first_length(text, TEXT_COLUMNS - first, TEXT_COLUMNS - indent);
	buf_addn(out, text, len);
	buf_addc(out, '\n');
	for (text += len; *text; text += len) {
		text += strspn(text, " ");
		len = line_length(text, TEXT_COLUMNS - indent);
		buf_addf(out, "%*s", (int)indent, "");
		buf_addn(out, text, len);
		buf_addc(out, '\n');
	}
}
