/* SPDX-License-Identifier: Apache-2.0 */
/* wrap.c - break a text for people into lines. */
#include "base/wrap.h"

#include <stdbool.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t wrap_columns(void)
{
	struct winsize size;

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col < WRAP_COLUMNS)
		return WRAP_COLUMNS;
	return size.ws_col;
}

size_t wrap_column_of(const struct buf *out)
{
	size_t n = 0;

	while (n < out->len && buf_str(out)[out->len - 1 - n] != '\n')
		n++;
	return n;
}

static void next_line(struct buf *out, size_t indent)
{
	buf_addf(out, "\n%*s", (int)indent, "");
}

void wrap_words(struct buf *out, size_t indent, size_t columns, const char *text)
{
	size_t column = wrap_column_of(out);
	bool is_first = column <= indent;

	while (*text) {
		size_t word = strcspn(text, " ");

		if (!is_first && column + 1 + word > columns) {
			next_line(out, indent);
			column = indent;
		} else if (!is_first) {
			buf_addc(out, ' ');
			column++;
		}
		buf_addn(out, text, word);
		column += word;
		is_first = false;
		text += word + strspn(text + word, " ");
	}
}

/* How much of the text goes on a line of `room`: whole words, and whole items of a list where that
 * leaves the line more than half full. A word that is longer than the line is a path that will be
 * copied: it is not cut. */
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
	return space ? space : strcspn(text, " ");
}

/* Two lines break at a `;` in the second half of the first, if there is one. */
static size_t first_length(const char *text, size_t room, size_t next_room)
{
	size_t len = line_length(text, room);

	for (size_t i = len; text[len] && i > room / 2; i--)
		if (text[i] == ' ' && text[i - 1] == ';' && strlen(text + i + 1) <= next_room)
			return i;
	return len;
}

void wrap_lists(struct buf *out, size_t indent, size_t columns, const char *text)
{
	size_t room = columns - indent;
	size_t len = first_length(text, columns - wrap_column_of(out), room);

	buf_addn(out, text, len);
	for (text += len; *text; text += len) {
		text += strspn(text, " ");
		len = line_length(text, room);
		next_line(out, indent);
		buf_addn(out, text, len);
	}
}
