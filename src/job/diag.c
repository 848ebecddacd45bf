/* SPDX-License-Identifier: Apache-2.0 */
/* diag.c - all faults of a job file and a command line, collected, told once. */
#include "job/diag.h"

#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/printable.h"

#define TEXT_MAX 2048

static bool is_same_place(struct diag_place a, struct diag_place b)
{
	if (a.line != b.line || !a.file != !b.file)
		return false;
	return !a.file || a.file == b.file || strcmp(a.file, b.file) == 0;
}

static bool diag_is_known(const struct diag *d, enum diag_level level,
			  struct diag_place at, const char *text)
{
	for (size_t i = 0; i < d->count; i++) {
		const struct diag_entry *e = &d->entries[i];

		if (e->level == level && is_same_place(e->at, at) &&
		    strcmp(e->text, text) == 0)
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

static bool is_after(const struct diag *d, const struct diag_entry *a,
		     const struct diag_entry *b)
{
	size_t rank_a = file_rank(d, a->at.file);
	size_t rank_b = file_rank(d, b->at.file);

	if (rank_a != rank_b)
		return rank_a > rank_b;
	return a->at.line > b->at.line;
}

static void print_place(struct diag_place at, FILE *to)
{
	struct buf file = { 0 };

	printable_add(&file, at.file ? at.file : "mlgen");
	fputs(buf_str(&file), to);
	buf_fini(&file);
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

void diag_init(struct diag *d)
{
	memset(d, 0, sizeof(*d));
}

void diag_fini(struct diag *d)
{
	for (size_t i = 0; i < d->count; i++)
		mem_free(d->entries[i].text);
	mem_free(d->entries);
	memset(d, 0, sizeof(*d));
}

void diag_add(struct diag *d, enum diag_level level, struct diag_place at,
	      const char *fmt, ...)
{
	char raw[TEXT_MAX], text[TEXT_MAX];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(raw, sizeof(raw), fmt, ap);
	va_end(ap);
	printable_copy(text, sizeof(text), raw);
	if (diag_is_known(d, level, at, text))
		return;
	d->errors += level == DIAG_ERROR;
	if (count_level(d, level) >= DIAG_MAX)
		return;
	d->entries =
		mem_realloc(d->entries, (d->count + 1) * sizeof(*d->entries));
	d->entries[d->count++] = (struct diag_entry){
		.level = level,
		.at = at,
		.text = mem_strdup(text),
	};
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
	/* Beside a hundred errors nobody reads a warning. */
	for (size_t i = 0; i < d->count; i++) {
		if (d->errors <= DIAG_MAX || order[i]->level == DIAG_ERROR)
			print_entry(order[i], to);
	}
	if (d->errors > DIAG_MAX)
		fprintf(to, "mlgen: %zu more errors\n", d->errors - DIAG_MAX);
	mem_free(order);
}
