/* SPDX-License-Identifier: Apache-2.0 */
/* wordlines.c - see wordlines.h. */
#include "base/wordlines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/bom.h"
#include "base/filekind.h"

#define LINE_BYTES 512
#define BLANKS " \t\r\n"

static bool is_whole_line(const char *line, FILE *f)
{
	size_t n = strlen(line);

	return n && (line[n - 1] == '\n' || (n < LINE_BYTES - 1 && feof(f)));
}

static int take_line(const struct wordlines_sort *sort, void *arg, char *line)
{
	char *comment = strchr(line, '#');

	if (comment)
		*comment = '\0';
	return line[strspn(line, BLANKS)] ? sort->take(arg, line) : 0;
}

static int read_lines(struct wordlines *w, const struct wordlines_sort *sort, void *arg, FILE *f)
{
	char line[LINE_BYTES];
	size_t skip;
	int rc = 0;

	while (rc == 0 && fgets(line, sizeof(line), f)) {
		skip = w->line++ ? 0 : bom_bytes(line, strlen(line));
		if (is_whole_line(line, f))
			rc = take_line(sort, arg, line + skip);
		else
			rc = wordlines_fail(
				w, -EINVAL,
				"a line of more than %d bytes, or with zero bytes; is this %s?",
				LINE_BYTES - 2, sort->noun);
	}
	if (rc == 0 && ferror(f))
		rc = mlgen_fail(w->err, -errno, "%s%s: %s", sort->option, w->path, strerror(errno));
	return rc;
}

int wordlines_read(struct wordlines *w, const struct wordlines_sort *sort, void *arg)
{
	const char *wrong;
	FILE *f;
	int rc = filekind_open(&f, AT_FDCWD, w->path, 0, sort->most_bytes, &wrong);

	if (rc)
		return mlgen_fail(w->err, rc, "%s%s: %s", sort->option, w->path,
				  wrong ? wrong : strerror(-rc));
	w->line = 0;
	rc = read_lines(w, sort, arg, f);
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
