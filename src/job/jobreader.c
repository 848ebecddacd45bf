/* SPDX-License-Identifier: Apache-2.0 */
/* jobreader.c - reads the lines of a job file, and replaces variables and words in values. */
#include "job/job_internal.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"

/* ---- ${VAR} and $ncpus ---- */

static bool is_word_start(char c)
{
	return c == '_' || isalpha((unsigned char)c);
}

static size_t word_length(const char *s)
{
	size_t n = 0;

	if (!is_word_start(*s))
		return 0;
	while (s[n] == '_' || isalnum((unsigned char)s[n]))
		n++;
	return n;
}

/* Append the value of a variable. `inside` is the text between the braces. */
static int expand_variable(struct buf *out, const char *inside, struct mlgen_err *err)
{
	size_t len = word_length(inside);
	bool has_default = len && strncmp(inside + len, ":-", 2) == 0;
	char *name = NULL;
	const char *value = NULL;
	int rc = 0;

	if (!len || (inside[len] && !has_default) || strstr(inside, "${"))
		return mlgen_fail(err, -EINVAL,
				  "${%s}: write a variable as ${NAME} or ${NAME:-default}", inside);
	name = mem_strndup(inside, len);
	value = getenv(name);
	if (has_default && (!value || !*value))
		value = inside + len + 2;
	if (value)
		buf_add(out, value);
	else
		rc = mlgen_fail(err, -EINVAL, "${%s} is not set; set it, or write ${%s:-default}",
				name, name);
	mem_free(name);
	return rc;
}

static void expand_number(struct buf *out, long n)
{
	buf_addf(out, "%ld", n > 0 ? n : 1);
}

static bool expand_word(struct buf *out, const char *word, size_t len, const char *jobname)
{
	long page_bytes = sysconf(_SC_PAGESIZE);

	if (len == 5 && strncmp(word, "ncpus", len) == 0)
		expand_number(out, sysconf(_SC_NPROCESSORS_ONLN));
	else if (len == 8 && strncmp(word, "pagesize", len) == 0)
		expand_number(out, page_bytes);
	else if (len == 9 && strncmp(word, "mb_memory", len) == 0)
		expand_number(out, sysconf(_SC_PHYS_PAGES) / 1024 * (page_bytes / 1024));
	else if (len == 7 && strncmp(word, "jobname", len) == 0)
		buf_add(out, jobname);
	else
		return false;
	return true;
}

/*
 * Append `text` with ${VAR} and ${VAR:-default} replaced from the environment. -EINVAL if a
 * variable is neither set nor has a default, or is not written in these forms.
 */
static int words_expand_env(struct buf *out, const char *text, struct mlgen_err *err)
{
	while (*text) {
		size_t plain = strcspn(text, "$");
		const char *end = NULL;
		char *inside = NULL;
		int rc = 0;

		buf_addn(out, text, plain);
		text += plain;
		if (!*text)
			break;
		if (text[1] != '{') {
			buf_addc(out, *text++);
			continue;
		}
		end = strchr(text, '}');
		if (!end)
			return mlgen_fail(err, -EINVAL,
					  "%s: '}' is missing; write a variable as ${NAME}", text);
		inside = mem_strndup(text + 2, (size_t)(end - text) - 2);
		rc = expand_variable(out, inside, err);
		mem_free(inside);
		if (rc)
			return rc;
		text = end + 1;
	}
	return 0;
}

int words_expand(struct buf *out, const char *text, const char *jobname, struct mlgen_err *err)
{
	while (*text) {
		size_t plain = strcspn(text, "$");
		size_t len = 0;

		buf_addn(out, text, plain);
		text += plain;
		if (!*text)
			break;
		if (text[1] == '{')
			return mlgen_fail(err, -EINVAL,
					  "'%s': mlgen replaces ${NAME} only if the job file "
					  "itself contains it",
					  text);
		len = word_length(text + 1);
		if (!len)
			buf_addc(out, *text);
		else if (!expand_word(out, text + 1, len, jobname))
			return mlgen_fail(err, -EINVAL,
					  "'$%.*s': unknown; the words are $ncpus $mb_memory "
					  "$pagesize $jobname; write a variable as ${NAME}",
					  (int)len, text + 1);
		text += len + 1;
	}
	return 0;
}

/* ---- paths ---- */

void pathname_check(const char *option, const char *path, struct diag_place at, struct diag *d)
{
	static const char letters[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+.-";
	size_t scheme = path ? strspn(path, letters) : 0; /* "s3" of "s3://bucket" */

	if (scheme && strncmp(path + scheme, "://", 3) != 0)
		scheme = 0;

	if (scheme == 4 && strncasecmp(path, "file", 4) == 0)
		diag_add(d, DIAG_ERROR, at, "%s: %s: is a URL; write only the path: %s", option,
			 path, path + strlen("file://"));
	else if (scheme)
		diag_add(d, DIAG_ERROR, at,
			 "%s: %s: is a URL, but mlgen works on files; mount the storage (for S3: "
			 "mount-s3, s3fs) and name the directory",
			 option, path);
	else if (path && *path == '~')
		diag_add(d, DIAG_ERROR, at,
			 "%s: %s: only a shell expands '~', and not after '='; write $HOME, in a "
			 "job file ${HOME}, or ./~ for a name that begins with '~'",
			 option, path);
}

void pathname_beside(struct buf *out, const char *file, const char *path)
{
	const char *slash = strrchr(file, '/');

	if (slash && path[0] != '/')
		buf_addn(out, file, (size_t)(slash - file) + 1);
	buf_add(out, path);
}

/* ---- lines ---- */

#define BLANKS " \t\r"
#define COMMENTS "#;"
/* Bytes of a line for the name of an option; no name is as long. */
#define NAME_ROOM 256

static struct jobreader_level *top(struct jobreader *r)
{
	return &r->levels[r->depth - 1];
}

static struct diag_place current_place(struct jobreader *r)
{
	return (struct diag_place){ top(r)->path, top(r)->line };
}

static const char *add_path(struct jobreader *r, const char *path)
{
	r->paths = mem_realloc(r->paths, (r->path_count + 1) * sizeof(*r->paths));
	r->paths[r->path_count] = mem_strdup(path);
	return r->paths[r->path_count++];
}

static const struct jobreader_level *find_open(const struct jobreader *r, const struct stat *st)
{
	for (unsigned i = 0; i < r->depth; i++) {
		if (r->levels[i].dev == st->st_dev && r->levels[i].ino == st->st_ino)
			return &r->levels[i];
	}
	return NULL;
}

static void pop(struct jobreader *r)
{
	mem_free(top(r)->text);
	r->depth--;
}

/* ---- a file's text ---- */

/* Is this a byte that text does not contain? */
static bool is_control(unsigned char c)
{
	return (c < 0x20 && c != '\t') || c == 0x7f;
}

/*
 * Find the first byte that is not text, or the end; *line is its line. Form feeds and line ends are
 * text, and in a comment every byte but NUL.
 */
static const char *find_binary(const char *s, const char *end, unsigned *line)
{
	bool is_comment = false, is_begin = true;

	for (; s < end && *s; s++) {
		if (is_begin)
			is_comment = strchr(COMMENTS, *s);
		if (!is_comment && is_control((unsigned char)*s) && !strchr("\n\r\f\v", *s))
			break;
		is_begin = *s == '\n' || (is_begin && strchr(BLANKS, *s));
		*line += *s == '\n';
	}
	return s;
}

/* Read a file until the text is longer than `max` bytes. 0, or -errno. */
static int read_text(struct buf *text, int fd, size_t max)
{
	char chunk[4096];

	while (text->len <= max) {
		ssize_t n = read(fd, chunk, sizeof(chunk));

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		buf_addn(text, chunk, (size_t)n);
	}
	return 0;
}

/* Report a fault of the text as a whole. 0 or -errno. */
static int check_text(struct jobreader *r, const struct buf *text, const char *path)
{
	const char *s = buf_str(text), *end = s + text->len;
	struct diag_place at = { path, 1 };

	if (r->bytes > JOBREADER_BYTES_MAX) {
		diag_add(r->d, DIAG_ERROR, (struct diag_place){ path, 0 },
			 "more than %u MiB; is this a job file?", JOBREADER_BYTES_MAX >> 20);
		return -EFBIG;
	}
	if (strncmp(s, "\xff\xfe", 2) == 0 || strncmp(s, "\xfe\xff", 2) == 0) {
		diag_add(r->d, DIAG_ERROR, at, "UTF-16; save the job file as UTF-8");
		return -EINVAL;
	}
	s = find_binary(s, end, &at.line);
	if (s == end)
		return 0;
	diag_add(r->d, DIAG_ERROR, at, "byte 0x%02x is not text; is this a job file?",
		 (unsigned char)*s);
	return -EINVAL;
}

/* Read the whole file as a new level, and report its faults. 0 or -errno. */
static int push(struct jobreader *r, int fd, const char *path, const struct stat *st)
{
	struct buf text = { 0 };
	int rc = read_text(&text, fd, JOBREADER_BYTES_MAX - r->bytes);

	r->bytes += text.len;
	if (rc < 0)
		diag_add(r->d, DIAG_ERROR, (struct diag_place){ path, 0 }, "read: %s",
			 strerror(-rc));
	else
		rc = check_text(r, &text, path);
	if (rc < 0) {
		buf_fini(&text);
		return rc;
	}
	size_t len = text.len;
	r->levels[r->depth++] = (struct jobreader_level){
		.text = buf_detach(&text),
		.len = len,
		.path = path,
		.dev = st->st_dev,
		.ino = st->st_ino,
	};
	return 0;
}

/* ---- files ---- */

/* The reason why a file of this kind is refused, or NULL. A FIFO is accepted: mlgen <(program). */
static const char *wrong_kind(const struct stat *st, bool is_included)
{
	struct stat in;
	bool is_stdin =
		fstat(STDIN_FILENO, &in) == 0 && S_ISCHR(in.st_mode) && in.st_rdev == st->st_rdev;

	if (S_ISDIR(st->st_mode))
		return "a directory, not a job file";
	if (S_ISBLK(st->st_mode) || (S_ISCHR(st->st_mode) && !is_stdin))
		return "a device, not a job file";
	if (is_included && !S_ISREG(st->st_mode))
		return "not a regular file; an included file must be a regular file";
	return NULL;
}

/* Open a file. `at` is the place of the include line. Without one, faults name the path instead. */
static int open_level(struct jobreader *r, const char *path, struct diag_place at)
{
	const char *prefix = at.line ? path : "", *colon = at.line ? ": " : "";
	const char *wrong = NULL;
	struct stat st;
	int path_fd = path_inspect(path, &st), fd = -1;
	int rc = path_fd < 0 ? path_fd : 0;

	if (!at.line)
		at.file = path;
	if (!rc) {
		wrong = wrong_kind(&st, at.line);
		fd = wrong ? -EINVAL : path_open_inspected(path_fd, path, &st, O_RDONLY | O_NOCTTY);
		rc = fd < 0 ? fd : 0;
		close(path_fd);
	}
	if (wrong)
		diag_add(r->d, DIAG_ERROR, at, "%s%s%s", prefix, colon, wrong);
	else if (rc)
		diag_add(r->d, DIAG_ERROR, at, "%s%s%s", prefix, colon, strerror(-rc));
	else if (find_open(r, &st) && (rc = -ELOOP))
		diag_add(r->d, DIAG_ERROR, at,
			 "include %s: this file is already being read, from line %u of %s", path,
			 at.line, at.file);
	else
		rc = push(r, fd, path, &st);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* ---- a line ---- */

static void trim_end(char *s)
{
	size_t len = strlen(s);

	while (len && strchr(BLANKS, s[len - 1]))
		s[--len] = '\0';
}

static bool is_text(struct jobreader *r, const char *s)
{
	while (*s && !is_control((unsigned char)*s))
		s++;
	if (*s)
		diag_add(r->d, DIAG_ERROR, current_place(r),
			 "byte 0x%02x is not text; is this a job file?", (unsigned char)*s);
	return !*s;
}

/* Remove a comment. fio cuts a line at '#' and ';' anywhere, so a value that contains one is
 * refused. */
static bool cut_comment(struct jobreader *r, char *s)
{
	char *comment = s + strcspn(s, COMMENTS);

	if (*comment && !strchr(BLANKS, comment[-1])) {
		diag_add(r->d, DIAG_ERROR, current_place(r),
			 "'%.60s': fio would cut the line at '%c'; put a space before a comment. "
			 "To set a value that contains '%c', use a variable, ${NAME}, or the "
			 "command line",
			 s, *comment, *comment);
		return false;
	}
	*comment = '\0';
	trim_end(s);
	return true;
}

/* The file of "include FILE", or NULL. An option's name cannot contain white space. */
static const char *include_argument(const char *s)
{
	if (strncmp(s, "include", 7) != 0 || (s[7] != ' ' && s[7] != '\t'))
		return NULL;
	s += 7;
	return s + strspn(s, BLANKS);
}

/* Replace ${VAR} in an option. The result must not be a header or a comment. */
static bool expand(struct jobreader *r, const char *s)
{
	struct mlgen_err err = { 0 };
	struct buf raw = { 0 };
	const char *start = NULL;
	bool is_good = true;

	if (words_expand_env(&raw, s, &err)) {
		diag_add(r->d, DIAG_ERROR, current_place(r), "%s", err.text);
		is_good = false;
	}
	start = buf_str(&raw) + strspn(buf_str(&raw), BLANKS);
	if (is_good && *start && strchr("[#;", *start)) {
		diag_add(r->d, DIAG_ERROR, current_place(r),
			 "%s: a variable cannot contain a header or a comment", s);
		is_good = false;
	}
	is_good = is_good && is_text(r, start);
	buf_reset(&r->text);
	if (is_good)
		buf_add(&r->text, start);
	buf_fini(&raw);
	return is_good && r->text.len;
}

/* Set r->text to the header or option in the line. False if the line has neither. */
static bool parse_line(struct jobreader *r, char *s)
{
	const char *argument = NULL;
	struct buf path = { 0 };
	size_t len;

	if (top(r)->line == 1)
		s += bom_bytes(s, strlen(s));
	s += strspn(s, BLANKS);
	trim_end(s);
	if (!*s || strchr(COMMENTS, *s))
		return false;
	len = strlen(s);
	if (len > JOBREADER_LINE_MAX) {
		diag_add(r->d, DIAG_ERROR, current_place(r), "a line of %zu bytes; the limit is %d",
			 len, JOBREADER_LINE_MAX);
		return false;
	}
	if (!cut_comment(r, s) || !is_text(r, s))
		return false;
	r->at = current_place(r);
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
	if (r->depth == JOBREADER_DEPTH) {
		diag_add(r->d, DIAG_ERROR, current_place(r),
			 "include %s: more than %d nested files", argument, JOBREADER_DEPTH);
		return false;
	}
	pathname_beside(&path, top(r)->path, argument);
	open_level(r, add_path(r, buf_str(&path)), current_place(r));
	buf_fini(&path);
	return false;
}

int jobreader_open(struct jobreader *r, const char *path, struct diag *d)
{
	struct stat st;

	memset(r, 0, sizeof(*r));
	r->d = d;
	if (strcmp(path, "-") != 0)
		return open_level(r, add_path(r, path), (struct diag_place){ 0 });
	if (fstat(STDIN_FILENO, &st)) {
		diag_add(d, DIAG_ERROR, (struct diag_place){ 0 }, "-: %s", strerror(errno));
		return -EBADF;
	}
	return push(r, STDIN_FILENO, add_path(r, "stdin"), &st);
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
	while (r->depth && r->bytes <= JOBREADER_BYTES_MAX) {
		struct jobreader_level *l = top(r);
		char *line = l->text + l->next;
		size_t len;

		if (l->next >= l->len) {
			pop(r);
			continue;
		}
		len = strcspn(line, "\n");
		line[len] = '\0';
		l->next += len + 1;
		l->line++;
		if (parse_line(r, line))
			return buf_str(&r->text);
	}
	return NULL;
}

bool jobreader_is_included(const struct jobreader *r)
{
	return r->depth > 1;
}

const char *jobreader_cannot_hold(const char *value)
{
	size_t len = strlen(value);

	if (len && (strchr(BLANKS, value[0]) || strchr(BLANKS, value[len - 1])))
		return "a space at its beginning or end";
	if (strchr(value, '#'))
		return "a '#'";
	if (strchr(value, ';'))
		return "a ';'";
	if (len > JOBREADER_LINE_MAX - NAME_ROOM)
		return "too many bytes";
	for (; *value; value++) {
		if (is_control((unsigned char)*value))
			return "a byte that is not text";
		if (*value == '$' && (value[1] == '{' || is_word_start(value[1])))
			return "a '$' that would be replaced";
	}
	return NULL;
}
