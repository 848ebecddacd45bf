/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - list files once: names to an unnamed file (scan.h), 16 bytes a file here. */
#include "data/scan/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "data/scan/scan_internal.h"

/* No filesystem holds more, and sums of sizes stay within 64 bits. */
#define MOST_BYTES (UINT64_C(1) << 62)

int scan_entry_name(const struct scan *s, const struct entry *e, char *out, size_t size)
{
	return namefile_read(&s->names, entry_name_at(e), entry_name_length(e), out, size);
}

void scan_push(struct scan *s, struct entry e)
{
	if (s->count == s->room) {
		s->room = s->room ? 2 * s->room : 1024;
		s->entries = mem_realloc(s->entries, s->room * sizeof(*s->entries));
	}
	s->entries[s->count++] = e;
}

static int by_name(const void *a, const void *b, void *names)
{
	const struct entry *x = a, *y = b;
	size_t n = entry_name_length(x), m = entry_name_length(y);
	const char *base = names;
	int r = memcmp(base + entry_name_at(x), base + entry_name_at(y), n < m ? n : m);

	return r ? r : (n > m) - (n < m);
}

/* Sorted, so that the same ones are neighbours; of those one stays. */
static void keep_once(struct scan *s, uint64_t first, char *names)
{
	uint64_t kept = first;

	for (uint64_t i = first; i < s->count; i++)
		if (i == first || by_name(&s->entries[kept - 1], &s->entries[i], names) != 0)
			s->entries[kept++] = s->entries[i];
		else if (s->entries[i].size_bytes != IS_FOLDER)
			s->skipped.again++;
	s->count = kept;
}

/* In place. Their names are together, and mapped for the time: the page cache holds them, or gets
 * them again. */
int scan_sort(struct scan *s, uint64_t first, struct mlgen_err *err)
{
	struct namefile_map map;
	uint64_t start, from = s->names.end;
	int r = namefile_flush(&s->names, err);

	if (r || s->count - first < 2)
		return r;
	for (uint64_t i = first; i < s->count; i++)
		from = u64_min(from, entry_name_at(&s->entries[i]));
	r = namefile_map(&s->names, from, &map, err);
	if (r)
		return r;
	start = map.start;
	for (uint64_t i = first; i < s->count; i++)
		s->entries[i].name -= start << LENGTH_BITS;
	qsort_r(&s->entries[first], (size_t)(s->count - first), sizeof(*s->entries), by_name,
		map.bytes);
	keep_once(s, first, map.bytes);
	for (uint64_t i = first; i < s->count; i++)
		s->entries[i].name += start << LENGTH_BITS;
	namefile_unmap(&map);
	return 0;
}

static int sum_up(struct scan *s, const char *directory, struct mlgen_err *err)
{
	if (s->count == 0)
		return mlgen_fail(err, -ENOENT,
				  "%s: holds no file that could be read; another directory, or "
				  "dataset=made to have files written",
				  directory);
	for (uint64_t i = 0; i < s->count; i++) {
		uint64_t bytes = s->entries[i].size_bytes;

		if (bytes >= MOST_BYTES - s->bytes)
			return mlgen_fail(
				err, -EFBIG,
				"%s: its files are larger together than offsets can count",
				directory);
		s->bytes += bytes;
	}
	s->entries = mem_realloc(s->entries, s->count * sizeof(*s->entries));
	return 0;
}

static int walk_places(struct walk *w, const struct scan_places *p)
{
	int r = scan_walk_begin(w);

	for (size_t i = 0; i < p->count && r == 0; i++)
		r = p->at[i].is_folder ? scan_walk_folder(w, p->at[i].name)
				       : scan_walk_file(w, p->at[i].name);
	/* Those of one place are in order. */
	if (r == 0 && p->count > 1)
		r = scan_sort(w->scan, 0, w->err);
	if (r == 0)
		r = namefile_flush(&w->scan->names, w->err);
	return r;
}

static int take_part(struct walk *w, struct scan_places *p)
{
	if (w->req->part == SCAN_EVALUATION)
		return places_take_evaluation(p, w->req->is_laid_out, w->err);
	places_take_training(p, w->req->is_laid_out);
	return 0;
}

static int scan_places(struct walk *w, struct scan_places *p)
{
	struct scan *s = w->scan;
	const char *where = w->req->file_list ? w->req->file_list : w->req->directory;
	int r;

	s->base = mem_strdup(p->base);
	r = take_part(w, p);
	if (r)
		return r;
	s->place = mem_strdup(p->at[0].path);
	r = walk_places(w, p);
	if (r == 0) {
		s->skipped.again += links_keep_once(&w->links, s);
		r = scan_judge(w, where, "dataset=scan found");
	}
	if (r == 0)
		r = sum_up(s, where, w->err);
	return r || !s->listed ? r : listed_settle(s->listed, s, p, w->err);
}

static int scan_all(struct scan *s, const struct scan_request *req, struct mlgen_err *err)
{
	struct walk *w = mem_zalloc(sizeof(*w));
	struct scan_places p;
	int r;

	w->scan = s;
	w->req = req;
	w->err = err;
	r = req->file_list ? scan_list_read(w, &p) : places_find(&p, req->directory, err);
	if (r == 0)
		r = scan_places(w, &p);
	places_fini(&p);
	links_fini(&w->links);
	mem_free(w);
	return r;
}

int scan_new(struct scan **out, const struct scan_request *req, struct mlgen_err *err)
{
	struct scan *s = mem_zalloc(sizeof(*s));
	int r = namefile_open(&s->names, req->directory, err);

	s->is_quiet = req->is_quiet;
	if (r == 0)
		r = scan_all(s, req, err);
	namefile_end(&s->names);
	if (r) {
		scan_free(s);
		return r;
	}
	*out = s;
	return 0;
}

void scan_free(struct scan *s)
{
	if (!s)
		return;
	namefile_close(&s->names);
	listed_free(s->listed);
	scan_marks_fini(&s->marks);
	mem_free(s->base);
	mem_free(s->place);
	mem_free(s->entries);
	mem_free(s);
}

const char *scan_base(const struct scan *s)
{
	return s->base;
}

const char *scan_place(const struct scan *s)
{
	return s->place;
}

uint64_t scan_files(const struct scan *s)
{
	return s->count;
}

uint64_t scan_bytes(const struct scan *s)
{
	return s->bytes;
}

uint64_t scan_size(const struct scan *s, uint64_t file)
{
	return s->entries[file].size_bytes;
}

int scan_name(const struct scan *s, uint64_t file, char *out, size_t size)
{
	return scan_entry_name(s, &s->entries[file], out, size);
}

size_t scan_name_bytes(const struct scan *s, uint64_t file)
{
	return entry_name_length(&s->entries[file]);
}

int scan_name_and_time(const struct scan *s, uint64_t file, char *out, size_t size,
		       int64_t *mtime_ns)
{
	const struct entry *e = &s->entries[file];
	char both[sizeof(*mtime_ns) + PATH_MAX];
	size_t n = entry_name_length(e);
	int r = n < size ? namefile_read(&s->names, entry_name_at(e) - sizeof(*mtime_ns),
					 sizeof(*mtime_ns) + n, both, sizeof(both))
			 : -ENAMETOOLONG;

	if (r < 0)
		return r;
	memcpy(mtime_ns, both, sizeof(*mtime_ns));
	memcpy(out, both + sizeof(*mtime_ns), n + 1);
	return (int)n;
}

void scan_keep(struct scan *s, bool (*keep)(const void *arg, uint64_t file), const void *arg)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < s->count; i++)
		if (keep(arg, i))
			s->entries[kept++] = s->entries[i];
		else
			s->bytes -= s->entries[i].size_bytes;
	s->count = kept;
}

void scan_keep_named(struct scan *s, bool (*keep)(void *arg, const char *name), void *arg)
{
	uint64_t kept = 0;
	char name[PATH_MAX];

	for (uint64_t i = 0; i < s->count; i++) {
		if (scan_name(s, i, name, sizeof(name)) < 0)
			*name = '\0';
		if (keep(arg, name))
			s->entries[kept++] = s->entries[i];
		else
			s->bytes -= s->entries[i].size_bytes;
	}
	s->count = kept;
}

void scan_skipped(const struct scan *s, struct scan_skipped *out)
{
	*out = s->skipped;
}

struct listed *scan_take_listed(struct scan *s)
{
	struct listed *l = s->listed;

	s->listed = NULL;
	return l;
}

bool scan_has_listed(const struct scan *s)
{
	return s->listed != NULL;
}
