/* SPDX-License-Identifier: Apache-2.0 */
/* mcgill_line.c - parse a line of McGill's bpftrace scripts by the columns of its header. */
#include "tracing/import/import_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"
#include "trace/trace.h"

enum mcgill_column {
	MCGILL_TIME = 1,
	MCGILL_PID,
	MCGILL_TID,
	MCGILL_SKIPPED, /* ignored word */
	MCGILL_COMM,    /* may contain spaces */
	MCGILL_OFFSET,
	MCGILL_REQUESTED,
	MCGILL_RETURNED,
	MCGILL_LATENCY,
	MCGILL_SECTOR,
	MCGILL_FULLPATH, /* may contain spaces; after all other columns */
	MCGILL_FILENAME, /* may contain spaces; the last column */
};

/* ---- the kind and the columns of a file ---- */

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
	/* The rest of the set. */
	{ "cpu.", MCGILL_OTHER },
	{ "gpu.", MCGILL_OTHER },
	{ "iostat.", MCGILL_OTHER },
	{ "pids_", MCGILL_OTHER },
	{ "syscalls.", MCGILL_OTHER },
};

/* Column titles; "(B)" and "(ns)" after them are ignored. */
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
	/* This is also the result of the call. */
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

static struct mcgill_text next_word(const char **at)
{
	struct mcgill_text w;

	*at += strspn(*at, " \t");
	w.s = *at;
	w.bytes = strcspn(*at, " \t");
	*at += w.bytes;
	return w;
}

static bool is_word(const struct mcgill_text *w, const char *text)
{
	return w->bytes == strlen(text) && memcmp(w->s, text, w->bytes) == 0;
}

static void add_column(struct mcgill_format *f, const struct mcgill_text *w)
{
	enum mcgill_column column = MCGILL_SKIPPED;

	f->has_sector |= is_word(w, "SECTOR");
	f->has_queue |= is_word(w, "QLAT(ns)");
	/* "BUFFER ADDR" is one title; "(B)" is a unit. */
	if (*w->s == '(' || is_word(w, "ADDR") || f->count == MCGILL_COLUMNS)
		return;
	for (size_t i = 0; i < ARRAY_LEN(titles); i++)
		if (is_word(w, titles[i].title))
			column = titles[i].column;
	f->column[f->count++] = (unsigned char)column;
}

static bool has_column(const struct mcgill_format *f, enum mcgill_column column)
{
	return memchr(f->column, (int)column, f->count);
}

/* Tell the kind of a file from its columns, if its name does not show the kind. */
static enum mcgill_kind kind_by_columns(const char *line, const struct mcgill_format *f)
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

bool mcgill_header_parse(struct mcgill_format *f, const char *line)
{
	static const char *const messages[] = { "Attaching ", "mkdir():",  "rmdir():",
						"unlink():",  "munmap():", "@" };
	const char *at = line;
	size_t count = 0;
	bool has_path;

	for (size_t i = 0; i < ARRAY_LEN(messages); i++)
		if (strncmp(line, messages[i], strlen(messages[i])) == 0)
			return true;
	if (strcmp(line, "mmap():") == 0) {
		if (f->kind == MCGILL_NONE)
			f->kind = MCGILL_MMAP;
		return true;
	}
	if (strncmp(line, "TIMESTAMP ", strlen("TIMESTAMP ")) != 0)
		return false;
	f->count = 0;
	f->has_sector = f->has_queue = false;
	for (struct mcgill_text w = next_word(&at); w.bytes; w = next_word(&at))
		add_column(f, &w);
	/* Move the names after all other columns, because that is their place in the lines. */
	has_path = has_column(f, MCGILL_FULLPATH);
	for (size_t i = 0; i < f->count; i++)
		if (f->column[i] < MCGILL_FULLPATH)
			f->column[count++] = f->column[i];
	f->count = count;
	if (has_path && f->count < MCGILL_COLUMNS)
		f->column[f->count++] = MCGILL_FULLPATH;
	/* Old headers lack this column, but their lines have it. */
	if (f->count < MCGILL_COLUMNS)
		f->column[f->count++] = MCGILL_FILENAME;
	if (f->kind == MCGILL_NONE)
		f->kind = kind_by_columns(line, f);
	return true;
}

enum { ERRNO_MAX = 4095, SECTOR_BYTES = 512, WORDS_MAX = 16 };
/* A name with at least this many numbers contains the columns of another line. */
enum { NAME_NUMBERS_MAX = 3 };
/* The str() of bpftrace has 64 bytes including the final NUL. */
enum { PATH_CUT_BYTES = 63 };

static const char two_lines[] = "seems to be two lines in one";
static const char no_columns[] = "has fewer columns than the header says";

/* ---- words ---- */

static bool word_number(const struct mcgill_text *w, uint64_t *out)
{
	return !trace_number_parse(w->s, w->bytes, UINT64_MAX, out);
}

static bool word_address(const struct mcgill_text *w, uint64_t *out)
{
	uint64_t v = 0;

	if (w->bytes < 3 || w->bytes > 18 || memcmp(w->s, "0x", 2) != 0)
		return false;
	for (size_t i = 2; i < w->bytes; i++) {
		int c = tolower((unsigned char)w->s[i]);

		if (!isxdigit(c))
			return false;
		v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	*out = v;
	return true;
}

/* Parse a result: signed, or as an unsigned number of 64 bits. */
static bool word_result(const struct mcgill_text *w, int64_t *out)
{
	uint64_t v;

	if (trace_number_parse_signed(w->s, w->bytes, out)) {
		if (!word_number(w, &v))
			return false;
		*out = (int64_t)v;
	}
	return *out >= -ERRNO_MAX;
}

static bool word_id(const struct mcgill_text *w, uint32_t *out)
{
	uint64_t v;

	if (!word_number(w, &v) || v > UINT32_MAX)
		return false;
	*out = (uint32_t)v;
	return true;
}

/* ---- names ---- */

static bool is_two_lines(const char *s)
{
	unsigned numbers = 0;
	uint64_t v;

	for (struct mcgill_text w = next_word(&s); w.bytes; w = next_word(&s))
		numbers += word_number(&w, &v);
	return numbers >= NAME_NUMBERS_MAX;
}

/* Is the name the last component of the path, which may be truncated? */
static bool name_fits(struct mcgill_text path, struct mcgill_text name)
{
	const char *slash = memrchr(path.s, '/', path.bytes);
	const char *base = slash ? slash + 1 : path.s;
	size_t bytes = path.bytes - (size_t)(base - path.s);

	return path.bytes == PATH_CUT_BYTES
		       ? bytes <= name.bytes && memcmp(base, name.s, bytes) == 0
		       : bytes == name.bytes && memcmp(base, name.s, bytes) == 0;
}

/* Split "PATH NAME", both of which may contain spaces, so that NAME is the last component of PATH.
 * If there is no such place, split at the last space. */
static void split_names(const char *s, struct mcgill_line *out)
{
	size_t all = strlen(s);
	const char *last = memrchr(s, ' ', all);

	out->path = (struct mcgill_text){ s, all };
	out->name = (struct mcgill_text){ s + all, 0 };
	if (!last)
		return;
	for (const char *at = last; at; at = memrchr(s, ' ', (size_t)(at - s))) {
		struct mcgill_text path = { s, (size_t)(at - s) };
		struct mcgill_text name = { at + 1, (size_t)(s + all - at) - 1 };

		if (at == last || name_fits(path, name)) {
			out->path = path;
			out->name = name;
		}
		if (!name.bytes || name_fits(path, name))
			return;
	}
}

static const char *parse_names(const struct mcgill_format *f, const char *at,
			       struct mcgill_line *out)
{
	bool has_path = f->count >= 2 && f->column[f->count - 2] == MCGILL_FULLPATH;

	while (*at == ' ')
		at++;
	if (is_two_lines(at))
		return two_lines;
	out->has_name = true;
	if (has_path)
		split_names(at, out);
	else
		out->name = (struct mcgill_text){ at, strlen(at) };
	return NULL;
}

/* ---- calls ---- */

static void skip_comm(const char **at)
{
	next_word(at);
	for (;;) {
		const char *next = *at;
		struct mcgill_text w = next_word(&next);
		uint64_t v;

		if (!w.bytes || word_number(&w, &v))
			return;
		*at = next;
	}
}

static const char *parse_column(enum mcgill_column column, const struct mcgill_text *w,
				struct mcgill_line *out)
{
	switch (column) {
	case MCGILL_TIME:
		return word_number(w, &out->time_ns) ? NULL : "the time is not a number of ns";
	case MCGILL_PID:
		return word_id(w, &out->pid) ? NULL : "the PID is not a number";
	case MCGILL_TID:
		return word_id(w, &out->tid) ? NULL : "the TID is not a number";
	case MCGILL_OFFSET:
		return word_number(w, &out->off) ? NULL : "the offset is not a number";
	case MCGILL_REQUESTED:
		return word_number(w, &out->requested) ? NULL : "the size is not a number";
	case MCGILL_RETURNED:
		out->has_result = true;
		return word_result(w, &out->result)
			       ? NULL
			       : "the return value is neither a number of bytes nor an error";
	case MCGILL_LATENCY:
		return word_number(w, &out->latency_ns) ? NULL
							: "the latency is not a number of ns";
	default:
		return NULL;
	}
}

/* The columns of a file without a header. */
static void default_format(const struct mcgill_format *f, const char *text,
			   struct mcgill_format *out)
{
	static const unsigned char sized[] = { MCGILL_TIME,     MCGILL_PID,     MCGILL_OFFSET,
					       MCGILL_RETURNED, MCGILL_LATENCY, MCGILL_FILENAME };
	static const unsigned char opened[] = { MCGILL_TIME,    MCGILL_PID,      MCGILL_COMM,
						MCGILL_LATENCY, MCGILL_FULLPATH, MCGILL_FILENAME };
	static const unsigned char closed[] = { MCGILL_TIME, MCGILL_PID, MCGILL_SKIPPED,
						MCGILL_LATENCY, MCGILL_FILENAME };
	const unsigned char *from = f->kind == MCGILL_OPEN    ? opened
				    : f->kind == MCGILL_CLOSE ? closed
							      : sized;
	struct mcgill_text third;
	uint64_t v;

	*out = *f;
	out->count = f->kind == MCGILL_CLOSE ? sizeof(closed) : sizeof(sized);
	memcpy(out->column, from, out->count);
	next_word(&text);
	next_word(&text);
	third = next_word(&text);
	/* Old versions have no COMM. */
	if (f->kind == MCGILL_OPEN && word_number(&third, &v)) {
		memmove(out->column + 2, out->column + 3, out->count - 3);
		out->count--;
	}
}

static const char *parse_call(const struct mcgill_format *f, const char *text,
			      struct mcgill_line *out)
{
	const char *at = text, *wrong = NULL;

	for (size_t i = 0; !wrong && i < f->count; i++) {
		enum mcgill_column column = f->column[i];

		if (column >= MCGILL_FULLPATH)
			return parse_names(f, at, out);
		if (column == MCGILL_COMM) {
			skip_comm(&at);
			continue;
		}
		struct mcgill_text w = next_word(&at);

		wrong = w.bytes ? parse_column(column, &w, out) : no_columns;
	}
	return wrong;
}

/* ---- files without regular columns ---- */

struct mcgill_words {
	struct mcgill_text w[WORDS_MAX];
	size_t count;
	const char *rest; /* after the words */
};

static void split_words(struct mcgill_words *to, const char *text, size_t most)
{
	to->count = 0;
	to->rest = text;
	while (to->count < most) {
		struct mcgill_text w = next_word(&to->rest);

		if (!w.bytes)
			break;
		to->w[to->count++] = w;
	}
}

/* Split up to `most` words, and parse the first two: TIME and PID. */
static const char *parse_start(struct mcgill_words *w, const char *text, size_t most,
			       struct mcgill_line *out)
{
	const char *wrong;

	split_words(w, text, most);
	if (w->count < 3)
		return no_columns;
	wrong = parse_column(MCGILL_TIME, &w->w[0], out);
	return wrong ? wrong : parse_column(MCGILL_PID, &w->w[1], out);
}

static const struct mcgill_call {
	const char *name;
	uint16_t op;
	bool has_tid, has_mode, has_latency, has_base;
} calls[] = {
	{ "mkdir()", TRACE_MKDIR, false, true, true, false },
	{ "rmdir()", TRACE_RMDIR, false, false, true, false },
	/* This line has the name before the path. */
	{ "unlink()", TRACE_UNLINK, false, false, true, true },
	{ "create()", TRACE_OPEN, true, true, false, false },
};

static const char *parse_path(const struct mcgill_call *c, const char *at, struct mcgill_line *out)
{
	size_t base;

	while (*at == ' ')
		at++;
	if (is_two_lines(at))
		return two_lines;
	base = c->has_base ? strcspn(at, " ") : 0;
	if (at[base] == ' ') {
		out->name = (struct mcgill_text){ at, base };
		at += base + 1;
	}
	out->path = (struct mcgill_text){ at, strlen(at) };
	return NULL;
}

static const char *parse_create(const char *text, struct mcgill_line *out)
{
	struct mcgill_words w;
	const struct mcgill_call *c = NULL;
	const char *wrong;
	size_t at;

	wrong = parse_start(&w, text, 4, out);
	if (wrong)
		return wrong;
	for (size_t i = 0; !c && i < ARRAY_LEN(calls); i++)
		if (w.count > 2u + calls[i].has_tid &&
		    is_word(&w.w[2u + calls[i].has_tid], calls[i].name))
			c = &calls[i];
	if (!c)
		return "not a call that creates or deletes; these are mkdir(), rmdir(), unlink() "
		       "and create()";
	out->op = c->op;
	at = 3u + c->has_tid + c->has_mode;
	split_words(&w, text, at + c->has_latency);
	if (w.count < at + c->has_latency)
		return no_columns;
	if (c->has_latency)
		wrong = parse_column(MCGILL_LATENCY, &w.w[at], out);
	return wrong ? wrong : parse_path(c, w.rest, out);
}

/* Parse TIME PID COMM... DISK T BYTES [SECTOR or queue time] LAT. The last columns are found from
 * the end, since COMM may contain spaces. */
static const char *parse_block(const struct mcgill_format *f, const char *text,
			       struct mcgill_line *out)
{
	struct mcgill_words w;
	const char *wrong;
	size_t t;
	uint64_t sector = 0;

	wrong = parse_start(&w, text, WORDS_MAX, out);
	if (wrong || w.count < 6)
		return wrong ? wrong : no_columns;
	t = w.count - 3;
	if (!is_word(&w.w[t], "R") && !is_word(&w.w[t], "W"))
		t--;
	if (!is_word(&w.w[t], "R") && !is_word(&w.w[t], "W"))
		return "neither R nor W follows the disk";
	out->writes = *w.w[t].s == 'W';
	out->disk = w.w[t - 1];
	if (!word_number(&w.w[t + 1], &out->bytes))
		return "the size is not a number";
	if (w.count - t == 4 && !word_number(&w.w[t + 2], &sector))
		return "the sector is not a number";
	if (w.count - t == 4 && !f->has_queue && sector < UINT64_MAX / SECTOR_BYTES)
		out->off = sector * SECTOR_BYTES;
	out->op = TRACE_BLOCK_ISSUE;
	return parse_column(MCGILL_LATENCY, &w.w[w.count - 1], out);
}

/* Parse TIME PID FD ADDRESS LAT NAME, or TIME PID ADDRESS LEN LAT of munmap. */
static const char *parse_mmap(const char *text, struct mcgill_line *out)
{
	struct mcgill_words w;
	const char *wrong;
	uint64_t address = 0;

	wrong = parse_start(&w, text, 5, out);
	if (wrong || w.count < 5)
		return wrong ? wrong : no_columns;
	if (word_address(&w.w[2], &address)) {
		out->op = TRACE_MUNMAP;
		out->off = address;
		if (!word_number(&w.w[3], &out->requested))
			return "the length is not a number";
	} else if (!word_address(&w.w[3], &address)) {
		return "has no address; an address is 0x and hexadecimal digits";
	} else {
		out->op = TRACE_MMAP;
		out->has_result = address <= INT64_MAX;
		out->result = out->has_result ? (int64_t)address : 0;
		while (*w.rest == ' ')
			w.rest++;
		out->name = (struct mcgill_text){ w.rest, strlen(w.rest) };
	}
	return parse_column(MCGILL_LATENCY, &w.w[4], out);
}

/* Parse "NS HH:MM:SS". */
static const char *parse_clock(const char *text, struct mcgill_line *out)
{
	static const unsigned most[] = { 23, 59, 60 };
	struct mcgill_words w;

	split_words(&w, text, 3);
	if (w.count != 2 || !word_number(&w.w[0], &out->time_ns) || w.w[1].bytes != 8)
		return "is not NS HH:MM:SS";
	for (size_t i = 0; i < 3; i++) {
		const char *s = w.w[1].s + 3 * i;
		unsigned v = (unsigned)(s[0] - '0') * 10 + (unsigned)(s[1] - '0');

		if (!isdigit((unsigned char)s[0]) || !isdigit((unsigned char)s[1]) || v > most[i] ||
		    (i < 2 && s[2] != ':'))
			return "is not NS HH:MM:SS";
		out->day_s = out->day_s * 60 + v;
	}
	return NULL;
}

const char *mcgill_line_parse(const struct mcgill_format *f, const char *text,
			      struct mcgill_line *out)
{
	struct mcgill_format format;
	uint16_t op = f->kind == MCGILL_READ    ? TRACE_READ
		      : f->kind == MCGILL_WRITE ? TRACE_WRITE
		      : f->kind == MCGILL_CLOSE ? TRACE_CLOSE
						: TRACE_OPEN;

	*out = (struct mcgill_line){ .op = op,
				     .off = TRACE_UNKNOWN,
				     .requested = TRACE_UNKNOWN,
				     .bytes = TRACE_UNKNOWN,
				     .path = { "", 0 },
				     .name = { "", 0 },
				     .disk = { "", 0 } };
	switch (f->kind) {
	case MCGILL_CREATE:
		return parse_create(text, out);
	case MCGILL_BLOCK:
		return parse_block(f, text, out);
	case MCGILL_MMAP:
		return parse_mmap(text, out);
	case MCGILL_CLOCK:
		return parse_clock(text, out);
	default:
		if (f->count)
			return parse_call(f, text, out);
		default_format(f, text, &format);
		return parse_call(&format, text, out);
	}
}
