/* SPDX-License-Identifier: Apache-2.0 */
/* jobtext.c - a job file as it is written for people. */
#include "distil/jobtext.h"

#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/vec.h"

/* A comment goes no further to the right. */
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

static void section_free(struct jobsection *s)
{
	for (size_t i = 0; i < s->lines.count; i++)
		line_fini(&s->lines.at[i]);
	vec_fini(&s->lines);
	mem_free(s->name);
	mem_free(s);
}

void jobtext_free(struct jobtext *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->head.count; i++)
		mem_free(t->head.at[i]);
	for (size_t i = 0; i < t->sections.count; i++)
		section_free(t->sections.at[i]);
	vec_fini(&t->head);
	vec_fini(&t->sections);
	mem_free(t);
}

/* One line of it: a name in a trace may have a newline, which would be a line of the job. */
__attribute__((format(printf, 1, 0))) static char *format_line(const char *fmt, va_list args)
{
	va_list again;
	char *text;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	text = mem_array((size_t)n + 1, 1);
	vsnprintf(text, (size_t)n + 1, fmt, args);
	for (char *p = text; *p; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			*p = '?';
	return text;
}

void jobtext_head(struct jobtext *t, const char *fmt, ...)
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
	s->name = buf_take(&b);
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

void jobsection_say(struct jobsection *s, enum distil_sure sure, const char *option,
		    const char *value, const char *why, ...)
{
	struct job_line *l = line_of(s, option);
	va_list args;

	if (l)
		line_fini(l);
	else
		l = line_new(s);
	va_start(args, why);
	*l = (struct job_line){
		.option = mem_strdup(option),
		.value = mem_strdup(value),
		.text = format_line(why, args),
		.sure = sure,
	};
	va_end(args);
}

void jobsection_note(struct jobsection *s, const char *fmt, ...)
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

/* ---- written ---- */

/* Words, in lines that begin with "# ". A word that is longer has its own. What is indented is a
 * row of a table. */
static void put_comment(FILE *to, const char *text)
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

static void put_line(FILE *to, const struct job_line *l)
{
	struct buf why = { 0 };

	if (l->is_heading) {
		fprintf(to, "\n# ---- %s\n", l->text);
		return;
	}
	if (!l->option) {
		put_comment(to, l->text);
		return;
	}
	buf_addf(&why, "%s: %s", sure_words[l->sure], l->text);
	put_comment(to, buf_str(&why));
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
		put_comment(to, t->head.at[i]);
	for (size_t i = 0; i < t->sections.count; i++) {
		const struct jobsection *s = t->sections.at[i];

		fprintf(to, "\n[%s]\n", s->name);
		for (size_t k = 0; k < s->lines.count; k++)
			put_line(to, &s->lines.at[k]);
	}
}
