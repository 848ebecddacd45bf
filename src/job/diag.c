/* SPDX-License-Identifier: Apache-2.0 */
/* diag.c - all faults of a job file and a command line, collected, told once. */
#include "job/job_internal.h"

#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/printable.h"

#define TEXT_MAX 2048

static bool is_same_file(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_place(struct diag_place a, struct diag_place b)
{
	return a.line == b.line && is_same_file(a.file, b.file);
}

static bool diag_is_known(const struct diag *d, enum diag_level level, struct diag_place at,
			  const char *text)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct diag_entry *e = &d->entries[i];

		if (e->level == level && is_same_place(e->at, at) && strcmp(e->text, text) == 0)
			return true;
	}
	return false;
}

static size_t count_level(const struct diag *d, enum diag_level level)
{
	size_t n = 0;

	for (size_t i = 0; i < d->count; i++)
		n += d->entries[i].level == level;
	return n;
}

static struct diag_file *find_file(const struct diag *d, const char *file)
{
	for (size_t i = 0; i < d->file_count; i++) {
		if (is_same_file(d->files[i].file, file))
			return &d->files[i];
	}
	return NULL;
}

static void count_error(struct diag *d, const char *file)
{
	struct diag_file *f = find_file(d, file);

	if (!f) {
		d->files = mem_realloc(d->files, (d->file_count + 1) * sizeof(*d->files));
		f = &d->files[d->file_count++];
		*f = (struct diag_file){ .file = file };
	}
	f->errors++;
	d->errors++;
}

/* Files stand in the order in which they were first mentioned. */
static size_t file_rank(const struct diag *d, const char *file)
{
	if (!file)
		return 0;
	for (size_t i = 0; i < d->count; i++) {
		const char *other = d->entries[i].at.file;

		if (other && strcmp(other, file) == 0)
			return i + 1;
	}
	return d->count + 1;
}

static bool is_after(const struct diag *d, const struct diag_entry *a, const struct diag_entry *b)
{
	size_t rank_a = file_rank(d, a->at.file);
	size_t rank_b = file_rank(d, b->at.file);

	if (rank_a != rank_b)
		return rank_a > rank_b;
	return a->at.line > b->at.line;
}

static void print_file(const char *name, FILE *to)
{
	struct buf file = { 0 };

	printable_add(&file, name ? name : log_name());
	fputs(buf_str(&file), to);
	buf_fini(&file);
}

static void print_place(struct diag_place at, FILE *to)
{
	print_file(at.file, to);
	if (at.file && at.line)
		fprintf(to, ":%u", at.line);
	fputs(": ", to);
}

static void print_entry(const struct diag_entry *e, FILE *to)
{
	static const char *const words[] = {
		[DIAG_NOTE] = "note: ",
		[DIAG_WARNING] = "warning: ",
		[DIAG_ERROR] = "",
	};

	print_place(e->at, to);
	fprintf(to, "%s%s\n", words[e->level], e->text);
}

/* Behind the last entry of a file: what was not kept of it. */
static void print_more(const struct diag *d, const char *file, FILE *to)
{
	const struct diag_file *f = find_file(d, file);
	size_t more = f && f->errors > DIAG_ERRORS_OF_FILE ? f->errors - DIAG_ERRORS_OF_FILE : 0;

	if (!more)
		return;
	print_file(file, to);
	fprintf(to, ": %zu more error%s\n", more, more > 1 ? "s" : "");
}

static bool is_cut(const struct diag *d)
{
	for (size_t i = 0; i < d->file_count; i++) {
		if (d->files[i].errors > DIAG_ERRORS_OF_FILE)
			return true;
	}
	return false;
}

void diag_init(struct diag *d)
{
	memset(d, 0, sizeof(*d));
}

void diag_fini(struct diag *d)
{
	for (size_t i = 0; i < d->count; i++)
		mem_free(d->entries[i].text);
	mem_free(d->entries);
	mem_free(d->files);
	memset(d, 0, sizeof(*d));
}

void diag_add(struct diag *d, enum diag_level level, struct diag_place at, const char *fmt, ...)
{
	char raw[TEXT_MAX], text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	printable_copy(text, sizeof(text), raw);
	if (diag_is_known(d, level, at, text))
		return;
	bool is_kept =
		level == DIAG_ERROR ? diag_has_room(d, at.file) : count_level(d, level) < DIAG_MAX;
	if (level == DIAG_ERROR)
		count_error(d, at.file);
	if (!is_kept)
		return;
	d->entries = mem_realloc(d->entries, (d->count + 1) * sizeof(*d->entries));
	d->entries[d->count++] = (struct diag_entry){
		.level = level,
		.at = at,
		.text = mem_strdup(text),
	};
}

bool diag_has_room(const struct diag *d, const char *file)
{
	const struct diag_file *f = find_file(d, file);

	return !f || f->errors < DIAG_ERRORS_OF_FILE;
}

void diag_print(const struct diag *d, FILE *to)
{
	const struct diag_entry **order = mem_array(d->count, sizeof(*order));

	for (size_t i = 0; i < d->count; i++) {
		size_t at = i;

		for (; at && is_after(d, order[at - 1], &d->entries[i]); at--)
			order[at] = order[at - 1];
		order[at] = &d->entries[i];
	}
	/* Beside so many errors nobody reads a warning. */
	bool only_errors = is_cut(d);
	for (size_t i = 0; i < d->count; i++) {
		const char *file = order[i]->at.file;

		if (!only_errors || order[i]->level == DIAG_ERROR)
			print_entry(order[i], to);
		if (i + 1 == d->count || !is_same_file(order[i + 1]->at.file, file))
			print_more(d, file, to);
	}
	mem_free(order);
}
