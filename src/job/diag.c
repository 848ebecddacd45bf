/* SPDX-License-Identifier: Apache-2.0 */
/* diag.c - collects the faults of job files and the command line, and prints them. */
#include "job/job_internal.h"

#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"

#define TEXT_MAX 2048

static bool is_same_file(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static struct diag_file *find_file(const struct diag *d, const char *file)
{
	for (size_t i = 0; i < d->file_count; i++) {
		if (is_same_file(d->files[i].file, file))
			return &d->files[i];
	}
	return NULL;
}

/* The position of a file: files are printed in the order of their first entries. */
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

__attribute__((format(printf, 4, 0))) static void diag_vadd(struct diag *d, enum diag_level level,
							    struct diag_place at, const char *fmt,
							    va_list ap)
{
	char raw[TEXT_MAX], text[TEXT_MAX];
	size_t level_count = 0;
	bool has_room;

	vsnprintf(raw, sizeof(raw), fmt, ap);
	printable_copy(text, sizeof(text), raw);
	for (size_t i = 0; i < d->count; i++) {
		const struct diag_entry *e = &d->entries[i];

		if (e->level != level)
			continue;
		if (e->at.line == at.line && is_same_file(e->at.file, at.file) &&
		    strcmp(e->text, text) == 0)
			return;
		level_count++;
	}
	has_room = level == DIAG_ERROR ? diag_has_room(d, at.file) : level_count < DIAG_MAX;
	if (level == DIAG_ERROR) {
		struct diag_file *f = find_file(d, at.file);

		if (!f) {
			d->files = mem_realloc(d->files, (d->file_count + 1) * sizeof(*d->files));
			f = &d->files[d->file_count++];
			*f = (struct diag_file){ .file = at.file };
		}
		f->errors++;
		d->errors++;
	}
	if (!has_room)
		return;
	d->entries = mem_realloc(d->entries, (d->count + 1) * sizeof(*d->entries));
	d->entries[d->count++] = (struct diag_entry){
		.level = level,
		.at = at,
		.text = mem_strdup(text),
	};
}

void diag_add(struct diag *d, enum diag_level level, struct diag_place at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_vadd(d, level, at, fmt, ap);
	va_end(ap);
}

void diag_fail(struct diag *d, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_vadd(d, DIAG_ERROR, (struct diag_place){ 0 }, fmt, ap);
	va_end(ap);
}

bool diag_has_room(const struct diag *d, const char *file)
{
	const struct diag_file *f = find_file(d, file);

	return !f || f->errors < DIAG_ERRORS_PER_FILE;
}

void diag_print(const struct diag *d, FILE *to)
{
	static const char *const words[] = {
		[DIAG_NOTE] = "note: ",
		[DIAG_WARNING] = "warning: ",
		[DIAG_ERROR] = "",
	};
	const struct diag_entry **order = mem_array(d->count, sizeof(*order));
	bool only_errors = false;

	for (size_t i = 0; i < d->count; i++) {
		size_t at = i;

		for (; at && is_after(d, order[at - 1], &d->entries[i]); at--)
			order[at] = order[at - 1];
		order[at] = &d->entries[i];
	}
	/* Warnings would be lost among this many errors. */
	for (size_t i = 0; i < d->file_count; i++)
		only_errors |= d->files[i].errors > DIAG_ERRORS_PER_FILE;
	for (size_t i = 0; i < d->count; i++) {
		const struct diag_entry *e = order[i];
		const struct diag_file *f = find_file(d, e->at.file);
		bool is_last =
			i + 1 == d->count || !is_same_file(order[i + 1]->at.file, e->at.file);

		if (!only_errors || e->level == DIAG_ERROR) {
			print_file(e->at.file, to);
			if (e->at.file && e->at.line)
				fprintf(to, ":%u", e->at.line);
			fprintf(to, ": %s%s\n", words[e->level], e->text);
		}
		if (is_last && f && f->errors > DIAG_ERRORS_PER_FILE) {
			size_t more = f->errors - DIAG_ERRORS_PER_FILE;

			print_file(e->at.file, to);
			fprintf(to, ": %zu more error%s\n", more, more > 1 ? "s" : "");
		}
	}
	mem_free(order);
}
