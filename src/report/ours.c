/* SPDX-License-Identifier: Apache-2.0 */
/* ours.c - see ours.h. */
#include "report/ours.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "trace/trace_iolog.h"
#include "trace/trace_reader.h"

/* Bytes read of a file. A page names its program after some lines only. */
#define FIRST_BYTES 1024

static bool begins(const char *first, size_t bytes, const char *with)
{
	size_t len = strlen(with);

	return bytes >= len && memcmp(first, with, len) == 0;
}

static bool is_json(const char *first, size_t bytes)
{
	return begins(first, bytes, "{\n  \"mlgen version\": \"") ||
	       begins(first, bytes, "{\n  \"fio version\": \"mlgen-");
}

/* The title is what versions without a generator have. */
static bool is_html(const char *first, size_t bytes)
{
	static const char generator[] = "content=\"mlgen\"";
	static const char title[] = "<title>mlgen</title>";

	return begins(first, bytes, "<!DOCTYPE html>\n") &&
	       (memmem(first, bytes, generator, sizeof(generator) - 1) ||
		memmem(first, bytes, title, sizeof(title) - 1));
}

static bool is_log(const char *first, size_t bytes)
{
	return begins(first, bytes, "time,seconds,job,phase,") ||
	       begins(first, bytes, "seconds,opens,metadata,");
}

static bool is_trace(const char *first, size_t bytes)
{
	return trace_is_magic(first, bytes);
}

static const struct ours {
	const char *is; /* "trace" */
	bool (*holds)(const char *first, size_t bytes);
	bool replaces_descriptor;
} kinds[] = {
	[OURS_JSON] = { "JSON document of mlgen's", is_json, false },
	[OURS_HTML] = { "page of mlgen's", is_html, false },
	[OURS_LOG] = { "log of mlgen's", is_log, false },
	[OURS_TRACE] = { "trace", is_trace, true },
	[OURS_IOLOG] = { "iolog of fio's", trace_iolog_is, true },
};

int ours_open(int fd, const char *path)
{
	char link[64];
	int again;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	again = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (again < 0 && path)
		again = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return again < 0 ? -errno : again;
}

/* Bytes, or -errno. */
static ssize_t read_first(const struct place *p, char to[FIRST_BYTES])
{
	int fd = ours_open(p->fd, p->path);
	ssize_t n;

	if (fd < 0)
		return fd;
	n = pread(fd, to, FIRST_BYTES, 0);
	n = n < 0 ? -errno : n;
	close(fd);
	return n;
}

int ours_check(const struct place *p, enum ours_kind kind, bool force, struct mlgen_err *err)
{
	const struct ours *ours = &kinds[kind];
	char first[FIRST_BYTES];

	if (p->kind != PLACE_FILE || force || (p->is_handed_over && !ours->replaces_descriptor))
		return 0;
	ssize_t n = read_first(p, first);
	if (n < 0)
		return mlgen_fail(err, (int)n,
				  "%s=%s: what is in it cannot be read: %s; only a %s is replaced: "
				  "name another file, or add --force",
				  p->option, p->given, strerror((int)-n), ours->is);
	if (n > 0 && !ours->holds(first, (size_t)n))
		return mlgen_fail(err, -EEXIST,
				  "%s=%s: is there, and is no %s; it is not overwritten: name "
				  "another file, or add --force",
				  p->option, p->given, ours->is);
	return 0;
}
