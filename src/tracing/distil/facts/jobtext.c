/* SPDX-License-Identifier: Apache-2.0 */
/* jobtext.c - writes a job file with comments, and the side files that belong to it. */
#include "tracing/distil/facts/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/dist.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/vec.h"

/* Comments are wrapped at this column. */
enum { WIDTH = 79 };

struct job_line {
	char *option, *value; /* both NULL: a comment, or a heading */
	char *text;
	enum distil_sure sure;
	bool is_heading;
};

struct jobsection {
	char *name;
	VEC(struct job_line) lines;
};

struct jobtext {
	VEC(char *) head;
	VEC(struct jobsection *) sections;
};

static const char *const sure_words[] = {
	[DISTIL_SURE] = "sure",
	[DISTIL_LIKELY] = "likely",
	[DISTIL_GUESS] = "guess",
};

struct jobtext *jobtext_new(void)
{
	return mem_zalloc(sizeof(struct jobtext));
}

static void line_fini(struct job_line *l)
{
	mem_free(l->option);
	mem_free(l->value);
	mem_free(l->text);
}

void jobtext_free(struct jobtext *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->head.count; i++)
		mem_free(t->head.at[i]);
	for (size_t i = 0; i < t->sections.count; i++) {
		struct jobsection *s = t->sections.at[i];

		for (size_t k = 0; k < s->lines.count; k++)
			line_fini(&s->lines.at[k]);
		vec_fini(&s->lines);
		mem_free(s->name);
		mem_free(s);
	}
	vec_fini(&t->head);
	vec_fini(&t->sections);
	mem_free(t);
}

/* Format a single line. Control characters are replaced, because a newline in a name from the trace
 * would begin a new line of the job. */
__attribute__((format(printf, 1, 0))) static char *format_line(const char *fmt, va_list args)
{
	va_list again;

	va_copy(again, args);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	char *text = mem_array((size_t)n + 1, 1);
	vsnprintf(text, (size_t)n + 1, fmt, args);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return text;
}

void jobtext_comment(struct jobtext *t, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vec_push(&t->head, format_line(fmt, args));
	va_end(args);
}

size_t jobtext_count(const struct jobtext *t)
{
	return t->sections.count;
}

static bool has_section(const struct jobtext *t, const char *name)
{
	for (size_t i = 0; i < t->sections.count; i++)
		if (strcmp(t->sections.at[i]->name, name) == 0)
			return true;
	return false;
}

struct jobsection *jobtext_section(struct jobtext *t, const char *name)
{
	struct jobsection *s = mem_zalloc(sizeof(*s));
	struct buf b = { 0 };

	buf_add(&b, name);
	for (unsigned i = 2; has_section(t, buf_str(&b)); i++) {
		buf_reset(&b);
		buf_addf(&b, "%s-%u", name, i);
	}
	s->name = buf_detach(&b);
	vec_push(&t->sections, s);
	return s;
}

static struct job_line *line_new(struct jobsection *s)
{
	vec_push(&s->lines, (struct job_line){ 0 });
	return vec_last(&s->lines);
}

void jobsection_heading(struct jobsection *s, const char *text)
{
	struct job_line *l = line_new(s);

	l->text = mem_strdup(text);
	l->is_heading = true;
}

static struct job_line *line_of(const struct jobsection *s, const char *option)
{
	for (size_t i = 0; i < s->lines.count; i++)
		if (s->lines.at[i].option && strcmp(s->lines.at[i].option, option) == 0)
			return &s->lines.at[i];
	return NULL;
}

__attribute__((format(printf, 5, 0))) static void set_option(struct jobsection *s,
							     enum distil_sure sure,
							     const char *option, const char *value,
							     const char *why, va_list args)
{
	struct job_line *l = line_of(s, option);

	if (l)
		line_fini(l);
	else
		l = line_new(s);
	*l = (struct job_line){
		.option = mem_strdup(option),
		.value = mem_strdup(value),
		.text = format_line(why, args),
		.sure = sure,
	};
}

void jobsection_set(struct jobsection *s, enum distil_sure sure, const char *option,
		    const char *value, const char *why, ...)
{
	va_list args;

	va_start(args, why);
	set_option(s, sure, option, value, why, args);
	va_end(args);
}

void jobsection_set_u64(struct jobsection *s, enum distil_sure sure, const char *option,
			uint64_t value, const char *why, ...)
{
	char text[24];
	va_list args;

	snprintf(text, sizeof(text), "%" PRIu64, value);
	va_start(args, why);
	set_option(s, sure, option, text, why, args);
	va_end(args);
}

void jobsection_comment(struct jobsection *s, const char *fmt, ...)
{
	struct job_line *l = line_new(s);
	va_list args;

	va_start(args, fmt);
	l->text = format_line(fmt, args);
	va_end(args);
}

const char *jobsection_value(const struct jobsection *s, const char *option)
{
	const struct job_line *l = line_of(s, option);

	return l ? l->value : NULL;
}

/* ---- writing ---- */

/* Write a comment in lines that begin with "# ". A word longer than a line has a line of its own.
 * An indented text is a row of a table, and is not wrapped. */
static void write_comment(FILE *to, const char *text)
{
	size_t column = 0;

	if (*text == ' ') {
		fprintf(to, "# %s\n", text);
		return;
	}
	while (*text) {
		size_t n = strcspn(text, " ");

		if (column && column + 1 + n > WIDTH) {
			fputc('\n', to);
			column = 0;
		}
		column += (size_t)fprintf(to, "%s%.*s", column ? " " : "# ", (int)n, text);
		text += n;
		text += strspn(text, " ");
	}
	fputc('\n', to);
}

static void write_line(FILE *to, const struct job_line *l)
{
	struct buf why = { 0 };

	if (l->is_heading) {
		fprintf(to, "\n# ---- %s\n", l->text);
		return;
	}
	if (!l->option) {
		write_comment(to, l->text);
		return;
	}
	buf_addf(&why, "%s: %s", sure_words[l->sure], l->text);
	write_comment(to, buf_str(&why));
	buf_fini(&why);
	/* A flag has no value. */
	if (*l->value)
		fprintf(to, "%s=%s\n", l->option, l->value);
	else
		fprintf(to, "%s\n", l->option);
}

void jobtext_write(const struct jobtext *t, FILE *to)
{
	for (size_t i = 0; i < t->head.count; i++)
		write_comment(to, t->head.at[i]);
	for (size_t i = 0; i < t->sections.count; i++) {
		const struct jobsection *s = t->sections.at[i];

		fprintf(to, "\n[%s]\n", s->name);
		for (size_t k = 0; k < s->lines.count; k++)
			write_line(to, &s->lines.at[k]);
	}
}

struct side_text {
	char *text;
	size_t bytes;
};

/* Does the file, which is small, have the content that would be written? */
static bool has_content(int fd, const struct side_text *want)
{
	char *there = mem_array(want->bytes + 1, 1);
	size_t n = 0;
	ssize_t got;

	while (n <= want->bytes && (got = read(fd, there + n, want->bytes + 1 - n)) != 0) {
		if (got < 0 && errno != EINTR)
			break;
		n += got > 0 ? (size_t)got : 0;
	}
	bool same = n == want->bytes && memcmp(there, want->text, n) == 0;

	mem_free(there);
	return same;
}

/* An existing file is fine only if it has the same content. */
static int check_existing(const char *path, const struct side_text *want, struct mlgen_err *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool is_same = fd >= 0 && has_content(fd, want);

	if (fd >= 0)
		close(fd);
	if (is_same)
		return 0;
	return mlgen_fail(err, -EEXIST,
			  "%s: already exists with different content and was not replaced; remove "
			  "it, or use another --output",
			  path);
}

static int write_side_file(const char *path, const struct side_text *what, struct mlgen_err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0 && errno == EEXIST)
		return check_existing(path, what, err);
	if (fd < 0)
		return mlgen_fail(err, -errno, "%s: %s", path, strerror(errno));
	int rc = writeall(fd, what->text, what->bytes);
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	if (rc < 0)
		unlink(path);
	return rc < 0 ? mlgen_fail(err, rc, "%s: %s", path, strerror(-rc)) : 0;
}

/* Write the content to memory first, so that it can be compared with an existing file. */
static int make_text(struct side_text *to, side_file_write *write, const void *arg)
{
	FILE *memory = open_memstream(&to->text, &to->bytes);

	if (!memory)
		return -errno;
	write(memory, arg);
	bool failed = ferror(memory);
	return fclose(memory) || failed ? -ENOMEM : 0;
}

int side_file(char name[SIDE_FILE_BYTES], const char *folder, const char *stem, const char *suffix,
	      side_file_write *write, const void *arg, struct mlgen_err *err)
{
	struct side_text what = { 0 };
	char path[PATH_MAX];
	int n = snprintf(name, SIDE_FILE_BYTES, "%s.%s", stem, suffix);

	if (n >= SIDE_FILE_BYTES ||
	    snprintf(path, sizeof(path), "%s%s", folder, name) >= (int)sizeof(path))
		return mlgen_fail(err, -ENAMETOOLONG, "%s/%.40s...%s: the name is too long", folder,
				  stem, suffix);
	int rc = make_text(&what, write, arg);
	rc = rc < 0 ? mlgen_fail(err, rc, "%s: %s", path, strerror(-rc))
		    : write_side_file(path, &what, err);
	free(what.text);
	if (rc == 0)
		log_note("%s belongs to the job; keep them together", path);
	return rc;
}

static void write_values(FILE *to, const void *arg)
{
	const struct side_values *v = arg;

	dist_file_write(to, v->values, v->count, v->unit, v->comment);
}

int side_file_values(char name[SIDE_FILE_BYTES], const char *folder, const char *stem,
		     const char *suffix, const struct side_values *v, struct mlgen_err *err)
{
	return side_file(name, folder, stem, suffix, write_values, v, err);
}
