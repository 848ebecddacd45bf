/* SPDX-License-Identifier: Apache-2.0 */
/* printable.c - text for terminals, shells and people: escaped, wrapped, quoted. */
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/files.h"
#include "base/util.h"

/* Ranges of code points that are written as escapes. */
static const uint32_t hidden[][2] = {
	{ 0x80, 0x9f },     /* C1 controls (ECMA-48) */
	{ 0x61c, 0x61c },   /* Arabic letter mark */
	{ 0x200e, 0x200f }, /* left-to-right and right-to-left mark */
	{ 0x2028, 0x202e }, /* separators; embeddings and overrides */
	{ 0x2066, 0x2069 }, /* isolates (Unicode UAX #9) */
};

static bool is_hidden(uint32_t point)
{
	for (size_t i = 0; i < ARRAY_LEN(hidden); i++)
		if (point >= hidden[i][0] && point <= hidden[i][1])
			return true;
	return false;
}

/* Length of the UTF-8 sequence at s, with its code point; 0 = invalid. */
static size_t sequence(const unsigned char *s, size_t left, uint32_t *point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (s[0] < 0xc2 || s[0] > 0xf4 || left < n)
		return 0;
	*point = s[0] & (0x7fu >> n);
	for (size_t i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*point = *point << 6 | (s[i] & 0x3f);
	}
	/* Overlong, half of a UTF-16 pair, or beyond Unicode. */
	if (*point < least[n] || *point > 0x10ffff || (*point >= 0xd800 && *point <= 0xdfff))
		return 0;
	return n;
}

size_t printable_next(const char **s, const char *end, char out[PRINTABLE_BYTES])
{
	const unsigned char *at = (const unsigned char *)*s;
	const char *letter;
	uint32_t point = 0;
	size_t n;

	if (*at >= 0x20 && *at < 0x7f) {
		out[0] = *(*s)++;
		return 1;
	}
	n = sequence(at, (size_t)(end - *s), &point);
	*s += n ? n : 1;
	if (n && is_hidden(point))
		return (size_t)snprintf(out, PRINTABLE_BYTES, "\\u%04x", point);
	if (n) {
		memcpy(out, at, n);
		return n;
	}
	letter = *at == '\n' ? "\\n" : *at == '\r' ? "\\r" : *at == '\t' ? "\\t" : NULL;
	if (letter)
		return (size_t)snprintf(out, PRINTABLE_BYTES, "%s", letter);
	return (size_t)snprintf(out, PRINTABLE_BYTES, "\\x%02x", *at);
}

void printable_add(struct buf *out, const char *s)
{
	const char *end = s + strlen(s);
	char next[PRINTABLE_BYTES];

	while (s < end) {
		size_t n = printable_next(&s, end, next);

		buf_addn(out, next, n);
	}
}

void printable_add_lines(struct buf *out, const char *s, size_t bytes)
{
	const char *end = s + bytes;
	char next[PRINTABLE_BYTES];

	while (s < end) {
		if (*s == '\n' || *s == '\t') {
			buf_addc(out, *s++);
			continue;
		}
		size_t n = printable_next(&s, end, next);
		buf_addn(out, next, n);
	}
}

size_t printable_copy(char *out, size_t size, const char *s)
{
	const char *end = s + strlen(s);
	char next[PRINTABLE_BYTES];
	size_t len = 0;

	while (s < end) {
		size_t n = printable_next(&s, end, next);

		if (len + n >= size)
			break;
		memcpy(out + len, next, n);
		len += n;
	}
	out[len] = '\0';
	return len;
}

size_t printable_columns(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void printable_pad(struct buf *out, const char *s, int columns)
{
	int used = (int)printable_columns(s);
	int before = columns - used, after = -columns - used;

	buf_addf(out, "%*s%s%*s", before > 0 ? before : 0, "", s, after > 0 ? after : 0, "");
}

bool printable_is(const char *s)
{
	const char *end = s + strlen(s);
	char next[PRINTABLE_BYTES];

	while (s < end) {
		const char *from = s;
		size_t n = printable_next(&s, end, next);

		if (n != (size_t)(s - from) || memcmp(next, from, n) != 0)
			return false;
	}
	return true;
}

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

/*
 * Length of the text that goes on a line of `room` columns: whole words, and whole list items if
 * these fill more than half of the line. A word longer than the line is a path to be copied, and is
 * not cut.
 */
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

void wrap_lists(struct buf *out, size_t indent, size_t columns, const char *text)
{
	size_t room = columns - indent, first_room = columns - wrap_column_of(out);
	size_t len = line_length(text, first_room);

	/* A text of two lines breaks at a `;` in the second half of the first, if there is one. */
	for (size_t i = len; text[len] && i > first_room / 2; i--) {
		if (text[i] == ' ' && text[i - 1] == ';' && strlen(text + i + 1) <= room) {
			len = i;
			break;
		}
	}
	buf_addn(out, text, len);
	for (text += len; *text; text += len) {
		text += strspn(text, " ");
		len = line_length(text, room);
		next_line(out, indent);
		buf_addn(out, text, len);
	}
}

#define LINE_BYTES 512
#define BLANKS " \t\r\n"

int wordlines_read(struct wordlines *w, const struct wordlines_format *sort, void *arg)
{
	char line[LINE_BYTES];
	const char *wrong;
	FILE *f;
	int rc = filekind_open(&f, AT_FDCWD, w->path, 0, sort->most_bytes, &wrong);

	if (rc)
		return mlgen_fail(w->err, rc, "%s%s: %s", sort->option, w->path,
				  wrong ? wrong : strerror(-rc));
	w->line = 0;
	while (rc == 0 && fgets(line, sizeof(line), f)) {
		size_t n = strlen(line);
		char *text = line + (w->line++ ? 0 : bom_bytes(line, n));
		bool is_whole = n && (line[n - 1] == '\n' || (n < LINE_BYTES - 1 && feof(f)));

		text[strcspn(text, "#")] = '\0';
		if (!is_whole)
			rc = wordlines_fail(w, -EINVAL,
					    "the line has more than %d bytes, or contains zero "
					    "bytes; is this %s?",
					    LINE_BYTES - 2, sort->noun);
		else if (text[strspn(text, BLANKS)])
			rc = sort->take(arg, text);
	}
	if (rc == 0 && ferror(f))
		rc = mlgen_fail(w->err, -errno, "%s%s: %s", sort->option, w->path, strerror(errno));
	fclose(f);
	return rc;
}

char *wordlines_word(char **at)
{
	char *word = *at + strspn(*at, BLANKS);
	size_t n = strcspn(word, BLANKS);

	*at = word + n;
	if (**at)
		*(*at)++ = '\0';
	return n ? word : NULL;
}

int wordlines_fail(const struct wordlines *w, int code, const char *fmt, ...)
{
	char what[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return mlgen_fail(w->err, code, "%s:%u: %s", w->path, w->line, what);
}

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
