/* SPDX-License-Identifier: Apache-2.0 */
/* scan_marks.c - what some files of a scan were like when they were listed, so that it can be
 * seen whether they still are. */
#include "data/scan/scan.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/scan/scan_internal.h"

/* Every other one stays. */
static void thin_out(struct scan_marks *m)
{
	m->count = (m->count + 1) / 2;
	for (uint64_t i = 1; i < m->count; i++)
		m->all[i] = m->all[2 * i];
	m->step *= 2;
}

void scan_marks_add(struct scan_marks *m, uint64_t name, const struct stat *st)
{
	uint64_t at = m->met++;

	if (!m->all) {
		m->all = mem_array(SCAN_MARKS, sizeof(*m->all));
		m->step = 1;
	}
	if (at % m->step)
		return;
	if (m->count == SCAN_MARKS)
		thin_out(m);
	if (at % m->step == 0)
		m->all[m->count++] = (struct scan_mark){ .name = name,
							 .size_bytes = (uint64_t)st->st_size,
							 .changed = st->st_mtim };
}

void scan_marks_fini(struct scan_marks *m)
{
	mem_free(m->all);
	memset(m, 0, sizeof(*m));
}

/* Is it among the first so many files, whose names are in order? */
static bool is_among(const struct scan *s, uint64_t files, const char *name)
{
	uint64_t low = 0, high = files;
	char other[PATH_MAX];

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		int r;

		if (scan_name(s, middle, other, sizeof(other)) < 0)
			return false;
		r = strcmp(name, other);
		if (r == 0)
			return true;
		if (r < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

static bool is_as_it_was(const struct scan_mark *m, const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && (uint64_t)st.st_size == m->size_bytes &&
	       st.st_mtim.tv_sec == m->changed.tv_sec && st.st_mtim.tv_nsec == m->changed.tv_nsec;
}

void scan_look_again(const struct scan *s, uint64_t files, struct scan_changed *out)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/", scan_base(s));

	*out = (struct scan_changed){ 0 };
	for (uint64_t i = 0; i < s->marks.count; i++) {
		const struct scan_mark *m = &s->marks.all[i];
		const struct entry e = { .name = m->name };

		if (scan_entry_name(s, &e, path + n, sizeof(path) - (size_t)n) < 0 ||
		    !is_among(s, files, path + n))
			continue;
		out->looked_at++;
		if (is_as_it_was(m, path))
			continue;
		if (out->changed++ == 0 || strcmp(path, out->path) < 0)
			memcpy(out->path, path, strlen(path) + 1);
	}
}
