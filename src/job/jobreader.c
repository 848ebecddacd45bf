/* SPDX-License-Identifier: Apache-2.0 */
/* jobreader.c - the lines of a job file that mean something, and where they stand. */
#include "job/jobreader.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/firstlook.h"
#include "base/mem.h"
#include "job/words.h"

#define BLANKS " \t\r"

struct raw_line {
	size_t len; /* of the whole line, without its newline */
	size_t nul_count;
	bool is_end; /* end of file, and nothing before it */
};

static struct jobreader_level *top(struct jobreader *r)
{
	return &r->levels[r->depth - 1];
}

static struct diag_place here(struct jobreader *r)
{
	return (struct diag_place){ top(r)->path, top(r)->line };
}

static const char *keep_path(struct jobreader *r, const char *path)
{
	r->paths =
		mem_realloc(r->paths, (r->path_count + 1) * sizeof(*r->paths));
	r->paths[r->path_count] = mem_strdup(path);
	return r->paths[r->path_count++];
}

static const struct jobreader_level *find_open(const struct jobreader *r,
					       const struct stat *st)
{
	for (unsigned i = 0; i < r->depth; i++) {
		if (r->levels[i].dev == st->st_dev &&
		    r->levels[i].ino == st->st_ino)
			return &r->levels[i];
	}
	return NULL;
}

static int push(struct jobreader *r, FILE *file, const char *path,
		const struct stat *st)
{
	r->levels[r->depth++] = (struct jobreader_level){
		.file = file,
		.path = path,
		.dev = st->st_dev,
		.ino = st->st_ino,
	};
	return 0;
}

static void pop(struct jobreader *r)
{
	if (top(r)->file != stdin)
		fclose(top(r)->file);
	r->depth--;
}

/* A device, but the one that is standard input already. */
static bool is_other_device(const struct stat *st)
{
	struct stat in;

	if (S_ISBLK(st->st_mode))
		return true;
	return S_ISCHR(st->st_mode) &&
	       (fstat(STDIN_FILENO, &in) < 0 || !S_ISCHR(in.st_mode) ||
		in.st_rdev != st->st_rdev);
}

/* What is wrong with it, or NULL. A FIFO is for `mlgen <(program)`. */
static const char *wrong_kind(const struct stat *st, bool is_included)
{
	if (S_ISDIR(st->st_mode))
		return "a directory, not a job file";
	if (is_other_device(st))
		return "a device, not a job file";
	if (is_included && !S_ISREG(st->st_mode))
		return "no regular file, which an included file has to be";
	return NULL;
}

static int open_file(FILE **file, int looked_at, const char *path,
		     const struct stat *st)
{
	int fd = firstlook_open(looked_at, path, st, O_RDONLY | O_NOCTTY);

	if (fd < 0)
		return fd;
	*file = fdopen(fd, "r");
	if (*file)
		return 0;
	close(fd);
	return -errno;
}

/*
 * Open one more file. `at` is where it was asked for: an include line, or
 * nowhere, then the fault carries the path itself.
 */
static int open_level(struct jobreader *r, const char *path,
		      struct diag_place at)
{
	const char *before = at.line ? path : "", *colon = at.line ? ": " : "";
	const char *wrong = NULL;
	FILE *file = NULL;
	struct stat st;
	int looked_at = firstlook(path, &st);
	int rc = looked_at < 0 ? looked_at : 0;

	if (!at.line)
		at.file = path;
	if (!rc) {
		wrong = wrong_kind(&st, at.line);
		rc = wrong ? -EINVAL : open_file(&file, looked_at, path, &st);
		close(looked_at);
	}
	if (wrong)
		diag_add(r->d, DIAG_ERROR, at, "%s%s%s", before, colon, wrong);
	else if (rc)
		diag_add(r->d, DIAG_ERROR, at, "%s%s%s", before, colon,
			 strerror(-rc));
	else if (find_open(r, &st) && (rc = -ELOOP))
		diag_add(r->d, DIAG_ERROR, at,
			 "include %s: this file is being read already, from "
			 "line %u of %s",
			 path, at.line, at.file);
	else
		return push(r, file, path, &st);
	if (file)
		fclose(file);
	return rc;
}

/* Takes a line of any length; what does not fit is counted only. */
static void read_raw(struct jobreader *r, struct raw_line *line)
{
	FILE *file = top(r)->file;
	int c = 0;

	memset(line, 0, sizeof(*line));
	while (r->bytes < JOBREADER_BYTES_MAX) {
		c = getc_unlocked(file);
		if (c == EOF || c == '\n')
			break;
		r->bytes++;
		line->nul_count += c == '\0';
		if (line->len + 1 < sizeof(r->raw))
			r->raw[line->len] = (char)c;
		line->len++;
	}
	r->bytes++;
	r->raw[line->len < sizeof(r->raw) ? line->len : sizeof(r->raw) - 1] =
		'\0';
	line->is_end = c == EOF && line->len == 0;
	top(r)->line += !line->is_end;
}

static const char *skip_mark_and_blanks(const struct jobreader *r,
					const char *s)
{
	if (r->levels[r->depth - 1].line == 1 &&
	    strncmp(s, "\xef\xbb\xbf", 3) == 0)
		s += 3;
	return s + strspn(s, BLANKS);
}

static void trim_end(char *s)
{
	size_t len = strlen(s);

	while (len && strchr(BLANKS, s[len - 1]))
		s[--len] = '\0';
}

/* A byte that no text has, or 0. */
static unsigned char control_byte(const char *s)
{
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if ((c < 0x20 && c != '\t') || c == 0x7f)
			return c;
	}
	return 0;
}

/* fio has no comments behind a value; neither guessed nor cut off here. */
static const char *find_trailing_comment(const char *s)
{
	for (; *s; s++) {
		if ((*s == ' ' || *s == '\t') && (s[1] == '#' || s[1] == ';'))
			return s + 1;
	}
	return NULL;
}

static bool is_text(struct jobreader *r, const char *s)
{
	unsigned char c = control_byte(s);
	const char *comment = find_trailing_comment(s);

	if (c)
		diag_add(r->d, DIAG_ERROR, here(r),
			 "byte 0x%02x is no text; is this a job file?", c);
	else if (comment)
		diag_add(r->d, DIAG_ERROR, here(r),
			 "'%c' behind a value is not a comment; comments stand "
			 "on lines of their own",
			 *comment);
	return !c && !comment;
}

static bool is_whole(struct jobreader *r, const struct raw_line *line)
{
	if (line->nul_count)
		diag_add(r->d, DIAG_ERROR, here(r),
			 "NUL byte in the line; is this a job file?");
	else if (line->len >= sizeof(r->raw))
		diag_add(r->d, DIAG_ERROR, here(r),
			 "line of %zu bytes; at most %zu are read", line->len,
			 r->most);
	return !line->nul_count && line->len < sizeof(r->raw);
}

/* "include FILE"; an option's name cannot hold a blank. */
static const char *include_argument(const char *s)
{
	if (strncmp(s, "include", 7) != 0 || (s[7] != ' ' && s[7] != '\t'))
		return NULL;
	s += 7;
	return s + strspn(s, BLANKS);
}

static void path_beside(struct buf *out, const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');

	if (slash && path[0] != '/')
		buf_addn(out, file, (size_t)(slash - file) + 1);
	buf_add(out, path);
}

static void include_file(struct jobreader *r, const char *argument)
{
	struct buf path = { 0 };

	if (r->depth == JOBREADER_DEPTH) {
		diag_add(r->d, DIAG_ERROR, here(r),
			 "include %s: more than %d files within each other",
			 argument, JOBREADER_DEPTH);
		return;
	}
	path_beside(&path, top(r)->path, argument);
	open_level(r, keep_path(r, buf_str(&path)), here(r));
	buf_fini(&path);
}

/* Replace ${VAR}; the result may not become something else than an option. */
static bool expand(struct jobreader *r, const char *s)
{
	struct mlgen_err err = { 0 };
	struct buf raw = { 0 };
	const char *start = NULL;
	bool is_good = true;

	if (words_expand_env(&raw, s, &err)) {
		diag_add(r->d, DIAG_ERROR, here(r), "%s", err.text);
		is_good = false;
	}
	start = buf_str(&raw) + strspn(buf_str(&raw), BLANKS);
	if (is_good && *start && strchr("[#;", *start)) {
		diag_add(r->d, DIAG_ERROR, here(r),
			 "%s: a variable cannot hold a header or a comment", s);
		is_good = false;
	}
	is_good = is_good && is_text(r, start);
	buf_reset(&r->text);
	if (is_good)
		buf_add(&r->text, start);
	buf_fini(&raw);
	return is_good && r->text.len;
}

/* Is there something in the line for the caller? */
static bool take_line(struct jobreader *r, const struct raw_line *line)
{
	const char *s = skip_mark_and_blanks(r, r->raw);
	const char *argument = NULL;

	trim_end(r->raw);
	if (!line->nul_count && (!*s || *s == '#' || *s == ';'))
		return false;
	if (!is_whole(r, line) || !is_text(r, s))
		return false;
	r->at = here(r);
	if (*s == '[') {
		buf_reset(&r->text);
		buf_add(&r->text, s);
		return true;
	}
	if (!expand(r, s))
		return false;
	argument = include_argument(buf_str(&r->text));
	if (!argument)
		return true;
	include_file(r, argument);
	return false;
}

/* A read error looks like the end; say which it was. */
static void end_level(struct jobreader *r)
{
	if (ferror(top(r)->file))
		diag_add(r->d, DIAG_ERROR, here(r), "read: %s",
			 strerror(errno ? errno : EIO));
	pop(r);
}

int jobreader_open(struct jobreader *r, const char *path, struct diag *d)
{
	struct stat st;

	memset(r, 0, sizeof(*r));
	r->d = d;
	if (strcmp(path, "-") != 0)
		return open_level(r, keep_path(r, path),
				  (struct diag_place){ 0 });
	if (fstat(STDIN_FILENO, &st)) {
		diag_add(d, DIAG_ERROR, (struct diag_place){ 0 }, "-: %s",
			 strerror(errno));
		return -EBADF;
	}
	return push(r, stdin, keep_path(r, "stdin"), &st);
}

void jobreader_close(struct jobreader *r)
{
	while (r->depth)
		pop(r);
	for (size_t i = 0; i < r->path_count; i++)
		mem_free(r->paths[i]);
	mem_free(r->paths);
	buf_fini(&r->text);
	memset(r, 0, sizeof(*r));
}

const char *jobreader_next(struct jobreader *r)
{
	struct raw_line line;

	while (r->depth) {
		if (r->bytes >= JOBREADER_BYTES_MAX) {
			diag_add(r->d, DIAG_ERROR, here(r),
				 "more than %u MiB; is this a job file?",
				 JOBREADER_BYTES_MAX >> 20);
			return NULL;
		}
		read_raw(r, &line);
		if (line.is_end)
			end_level(r);
		else if (take_line(r, &line))
			return buf_str(&r->text);
	}
	return NULL;
}

bool jobreader_is_included(const struct jobreader *r)
{
	return r->depth > 1;
}
