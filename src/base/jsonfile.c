/* SPDX-License-Identifier: Apache-2.0 */
/* jsonfile.c - see jsonfile.h. */
#include "base/jsonfile.h"

#include <errno.h>
#include <fcntl.h>
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/below.h"
#include "base/units.h"

struct json_output {
	FILE *to;
	bool is_in_text; /* between two quotation marks */
};

static int put_real(const char *s, size_t n, FILE *to)
{
	char given[64] = "", text[UNITS_TEXT_BYTES];

	if (n >= sizeof(given))
		return fwrite(s, 1, n, to) == n ? 0 : -1;
	memcpy(given, s, n);
	if (fputs(units_put_f64(text, strtod(given, NULL)), to) == EOF)
		return -1;
	return strpbrk(text, ".e") || fputs(".0", to) != EOF ? 0 : -1;
}

/* jansson hands over tokens: a quotation mark, text, a number. */
static int put_token(const char *s, size_t n, void *arg)
{
	struct json_output *o = arg;

	if (n == 1 && *s == '"')
		o->is_in_text = !o->is_in_text;
	else if (!o->is_in_text && (isdigit((unsigned char)*s) || *s == '-') &&
		 (memchr(s, '.', n) || memchr(s, 'e', n)))
		return put_real(s, n, o->to);
	return fwrite(s, 1, n, o->to) == n ? 0 : -1;
}

int jsonfile_dump(FILE *to, const json_t *root, size_t flags)
{
	struct json_output o = { .to = to };

	/* 17 digits are enough for every double; put_real() drops those that say nothing. */
	return json_dump_callback(root, put_token, &o, flags | JSON_REAL_PRECISION(17)) ? -EIO : 0;
}

static int write_document(FILE *to, const json_t *root, bool is_synced)
{
	errno = 0;
	if (jsonfile_dump(to, root, JSON_INDENT(2)) != 0 || fputc('\n', to) == EOF ||
	    fflush(to) == EOF)
		return errno ? -errno : -EIO;
	if (is_synced && fsync(fileno(to)) != 0)
		return -errno;
	return 0;
}

static int write_file(int folder_fd, const char *name, const json_t *root, bool is_synced)
{
	int fd = below_create(folder_fd, name);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");
	int r;

	if (fd < 0)
		return fd;
	if (!to) {
		r = -errno;
		close(fd);
		return r;
	}
	r = write_document(to, root, is_synced);
	if (fclose(to) != 0 && r == 0)
		r = -errno;
	return r;
}

int jsonfile_replace(int folder_fd, const char *name, const json_t *root, bool is_synced)
{
	char temporary[NAME_MAX + 1];
	int n = snprintf(temporary, sizeof(temporary), ".%s.part", name);
	int r;

	if (n > NAME_MAX)
		return -ENAMETOOLONG;
	r = write_file(folder_fd, temporary, root, is_synced);
	if (r == 0 && renameat(folder_fd, temporary, folder_fd, name) != 0)
		r = -errno;
	if (r)
		unlinkat(folder_fd, temporary, 0);
	return r || !is_synced ? r : below_sync(folder_fd);
}
