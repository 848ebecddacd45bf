/* SPDX-License-Identifier: Apache-2.0 */
/* mcgill_form.c - which of McGill's scripts printed a file, and which columns it has. */
#include "import/trace/mcgill_line.h"

#include <string.h>

#include "base/util.h"

static const struct {
	const char *name;
	enum mcgill_kind kind;
} names[] = {
	{ "trace_read", MCGILL_READ },
	{ "trace_write", MCGILL_WRITE },
	{ "trace_openat", MCGILL_OPEN },
	{ "trace_close", MCGILL_CLOSE },
	{ "trace_create_del", MCGILL_CREATE },
	{ "trace_bio", MCGILL_BLOCK },
	{ "trace_mmap", MCGILL_MMAP },
	{ "trace_time_align", MCGILL_CLOCK },
	/* What the set has beside them. */
	{ "cpu.", MCGILL_OTHER },
	{ "gpu.", MCGILL_OTHER },
	{ "iostat.", MCGILL_OTHER },
	{ "pids_", MCGILL_OTHER },
	{ "syscalls.", MCGILL_OTHER },
};

/* Titles; "(B)" and "(ns)" behind them say nothing. */
static const struct {
	const char *title;
	enum mcgill_column column;
} titles[] = {
	{ "TIMESTAMP", MCGILL_TIME },
	{ "PID", MCGILL_PID },
	{ "TID", MCGILL_TID },
	{ "COMM", MCGILL_COMM },
	{ "OFFSET", MCGILL_OFFSET },
	{ "REQ", MCGILL_REQUESTED },
	{ "RET", MCGILL_RETURNED },
	/* What the call returned, too. */
	{ "SIZE", MCGILL_RETURNED },
	{ "LAT", MCGILL_LATENCY },
	{ "LAT(ns)", MCGILL_LATENCY },
	{ "SECTOR", MCGILL_SECTOR },
	{ "FULLPATH", MCGILL_FULLPATH },
	{ "FILENAME", MCGILL_FILENAME },
};

enum mcgill_kind mcgill_kind_of_name(const char *path)
{
	const char *base = strrchr(path, '/');

	base = base ? base + 1 : path;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strncmp(base, names[i].name, strlen(names[i].name)) == 0)
			return names[i].kind;
	return MCGILL_NONE;
}

static bool title_is(const char *at, size_t bytes, const char *title)
{
	return bytes == strlen(title) && memcmp(at, title, bytes) == 0;
}

static void add_column(struct mcgill_form *f, const char *at, size_t bytes)
{
	enum mcgill_column column = MCGILL_SKIPPED;

	f->has_sector |= title_is(at, bytes, "SECTOR");
	f->has_queue |= title_is(at, bytes, "QLAT(ns)");
	/* "BUFFER ADDR" is one. */
	if (*at == '(' || title_is(at, bytes, "ADDR") || f->count == MCGILL_COLUMNS)
		return;
	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		if (title_is(at, bytes, titles[i].title))
			column = titles[i].column;
	f->column[f->count++] = (unsigned char)column;
}

static bool has_column(const struct mcgill_form *f, enum mcgill_column column)
{
	return memchr(f->column, (int)column, f->count);
}

/* Names are behind all others, wherever a header has them. */
static void put_names_last(struct mcgill_form *f)
{
	bool has_path = has_column(f, MCGILL_FULLPATH);
	size_t kept = 0;

	for (size_t i = 0; i < f->count; i++)
		if (f->column[i] < MCGILL_FULLPATH)
			f->column[kept++] = f->column[i];
	f->count = kept;
	if (has_path && f->count < MCGILL_COLUMNS)
		f->column[f->count++] = MCGILL_FULLPATH;
	/* One that an old header does not mention is there all the same. */
	if (f->count < MCGILL_COLUMNS)
		f->column[f->count++] = MCGILL_FILENAME;
}

/* Of a file by another name. */
static enum mcgill_kind kind_by_columns(const char *line, const struct mcgill_form *f)
{
	if (strstr(line, " FUNCTION "))
		return MCGILL_CREATE;
	if (strstr(line, " DISK "))
		return MCGILL_BLOCK;
	if (strstr(line, " SIZE "))
		return MCGILL_WRITE;
	if (strstr(line, " RET "))
		return MCGILL_READ;
	if (has_column(f, MCGILL_FULLPATH))
		return MCGILL_OPEN;
	if (strstr(line, " FD "))
		return MCGILL_CLOSE;
	return strstr(line, " TIME") ? MCGILL_CLOCK : MCGILL_NONE;
}

static void take_titles(struct mcgill_form *f, const char *line)
{
	f->count = 0;
	f->has_sector = f->has_queue = false;
	for (const char *at = line; *at;) {
		size_t bytes;

		at += strspn(at, " \t");
		bytes = strcspn(at, " \t");
		if (bytes)
			add_column(f, at, bytes);
		at += bytes;
	}
	put_names_last(f);
	if (f->kind == MCGILL_NONE)
		f->kind = kind_by_columns(line, f);
}

bool mcgill_header(struct mcgill_form *f, const char *line)
{
	static const char *const says[] = { "Attaching ", "mkdir():",  "rmdir():",
					    "unlink():",  "munmap():", "@" };

	for (size_t i = 0; i < ARRAY_LEN(says); i++)
		if (strncmp(line, says[i], strlen(says[i])) == 0)
			return true;
	if (strcmp(line, "mmap():") == 0) {
		if (f->kind == MCGILL_NONE)
			f->kind = MCGILL_MMAP;
		return true;
	}
	if (strncmp(line, "TIMESTAMP ", strlen("TIMESTAMP ")) != 0)
		return false;
	take_titles(f, line);
	return true;
}
