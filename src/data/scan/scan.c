/* SPDX-License-Identifier: Apache-2.0 */
/* scan.c - list files once; names are in an unnamed file (scan.h), 16 bytes a file in memory. */
#include "data/scan/scan_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "hosts/hosts.h"

/* ---- files that a scan leaves out ---- */

/* Number of skipped files that are named; further ones are only counted. */
#define WARNINGS_MAX 5

static void append_count(struct buf *to, uint64_t n, const char *one, const char *many)
{
	char text[UNITS_TEXT_BYTES];

	if (n)
		buf_addf(to, "%s%s %s", to->len ? ", " : "", units_human_count(text, n),
			 n == 1 ? one : many);
}

/* Append the counts that are errors unless scan_errors=skip. */
static void append_errors(struct buf *to, const struct scan_skipped *s)
{
	append_count(to, s->missing, "missing file", "missing files");
	append_count(to, s->folders, "folder", "folders");
	append_count(to, s->special, "socket, pipe or device", "sockets, pipes or devices");
	append_count(to, s->links, "broken or circular link", "broken or circular links");
	append_count(to, s->unreadable, "unreadable path", "unreadable paths");
	append_count(to, s->too_long, "path that is too long", "paths that are too long");
}

void scan_note(const struct scan *s, const char *fmt, ...)
{
	char text[PATH_MAX + 512];
	va_list ap;

	if (s->is_quiet)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	log_note("%s", text);
}

bool scan_is_quiet(const struct scan *s)
{
	return s->is_quiet;
}

void scan_skip(struct scan_walk *w, uint64_t *counter, const char *why)
{
	++*counter;
	if (w->warnings++ >= WARNINGS_MAX)
		return;
	scan_note(w->scan, "%s: %s%s", w->path, why,
		  w->req->errors == SCAN_SKIP ? "; left out" : "");
}

/* Report all files that were left out. Returns 0, or -EACCES or -EINVAL with err. */
static int scan_judge(struct scan_walk *w, const char *where)
{
	const struct scan_skipped *s = &w->scan->skipped;
	struct buf text = { 0 };
	int r = 0;

	append_errors(&text, s);
	if (text.len && w->req->errors != SCAN_SKIP)
		r = mlgen_fail(w->err, s->unreadable ? -EACCES : -EINVAL,
			       "%s: dataset=scan found %s; --scan_errors=skip skips them", where,
			       buf_str(&text));
	append_count(&text, s->empty, "empty file", "empty files");
	append_count(&text, s->again, "path found before", "paths found before");
	append_count(&text, s->deeper, "folder deeper than scan_depth",
		     "folders deeper than scan_depth");
	if (r == 0 && text.len)
		scan_note(w->scan, "%s: left out: %s", where, buf_str(&text));
	buf_fini(&text);
	return r;
}

int scan_judge_list(struct scan_walk *w, const char *list)
{
	const struct scan_skipped *s = &w->scan->skipped;
	struct buf text = { 0 };
	int r = 0;

	append_errors(&text, s);
	if (text.len && w->req->errors != SCAN_SKIP)
		r = mlgen_fail(w->err, -EINVAL,
			       "%s: file_list names %s; --scan_errors=skip skips them", list,
			       buf_str(&text));
	buf_fini(&text);
	return r;
}

/* ---- marks: a sample of the files, to detect changes ---- */

void scan_marks_add(struct scan_marks *m, uint64_t name, const struct stat *st)
{
	uint64_t at = m->met++;

	if (!m->all) {
		m->all = mem_array(SCAN_MARKS, sizeof(*m->all));
		m->step = 1;
	}
	if (at % m->step)
		return;
	/* Every second mark is dropped when there is no room left. */
	if (m->count == SCAN_MARKS) {
		m->count = (m->count + 1) / 2;
		for (uint64_t i = 1; i < m->count; i++)
			m->all[i] = m->all[2 * i];
		m->step *= 2;
	}
	if (at % m->step == 0)
		m->all[m->count++] = (struct scan_mark){ .name = name,
							 .size_bytes = (uint64_t)st->st_size,
							 .changed = st->st_mtim };
}

/* Is this name among the first `files` files? Names are sorted. */
static bool is_among(const struct scan *s, uint64_t files, const char *name)
{
	uint64_t low = 0, high = files;
	char other[PATH_MAX];

	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (scan_name(s, middle, other, sizeof(other)) < 0)
			return false;
		int r = strcmp(name, other);
		if (r == 0)
			return true;
		if (r < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

void scan_recheck(const struct scan *s, uint64_t files, struct scan_changed *out)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/", scan_base(s));

	*out = (struct scan_changed){ 0 };
	for (uint64_t i = 0; i < s->marks.count; i++) {
		const struct scan_mark *m = &s->marks.all[i];
		const struct scan_entry e = { .name = m->name };
		struct stat st;

		if (scan_entry_name(s, &e, path + n, sizeof(path) - (size_t)n) < 0 ||
		    !is_among(s, files, path + n))
			continue;
		out->looked_at++;
		if (stat(path, &st) == 0 && (uint64_t)st.st_size == m->size_bytes &&
		    st.st_mtim.tv_sec == m->changed.tv_sec &&
		    st.st_mtim.tv_nsec == m->changed.tv_nsec)
			continue;
		if (out->changed++ == 0 || strcmp(path, out->path) < 0)
			memcpy(out->path, path, strlen(path) + 1);
	}
}

/* ---- transfer of a scan to another process of the job ---- */

struct scan_head {
	uint64_t count, bytes;
	struct scan_skipped skipped;
	uint64_t base_bytes, place_bytes;
};

/* Header of a file, followed by its name. */
struct scan_file_head {
	uint64_t size_bytes;
	int64_t mtime_ns;
	uint64_t name_bytes;
};

int scan_send(const struct scan *s, struct relay *to, struct mlgen_err *err)
{
	const struct scan_head head = { .count = s->count,
					.bytes = s->bytes,
					.skipped = s->skipped,
					.base_bytes = strlen(s->base),
					.place_bytes = strlen(s->place) };
	struct namefile_map map;
	int rc = namefile_map(&s->names, 0, &map, err);

	if (rc)
		return rc;
	rc = relay_write(to, &head, sizeof(head), err);
	if (rc == 0)
		rc = relay_write(to, s->base, (size_t)head.base_bytes, err);
	if (rc == 0)
		rc = relay_write(to, s->place, (size_t)head.place_bytes, err);
	for (uint64_t i = 0; i < s->count && rc == 0; i++) {
		const struct scan_entry *e = &s->entries[i];
		const char *name = map.bytes + (entry_name_at(e) - map.start);
		struct scan_file_head f = { .size_bytes = e->size_bytes,
					    .name_bytes = entry_name_length(e) };

		memcpy(&f.mtime_ns, name - sizeof(f.mtime_ns), sizeof(f.mtime_ns));
		rc = relay_write(to, &f, sizeof(f), err);
		if (rc == 0)
			rc = relay_write(to, name, (size_t)f.name_bytes, err);
	}
	namefile_unmap(&map);
	return rc;
}

static int receive_text(char **out, uint64_t bytes, struct relay *from, struct mlgen_err *err)
{
	*out = mem_zalloc((size_t)bytes + 1);
	return relay_read(from, *out, (size_t)bytes, err);
}

static int receive_files(struct scan *s, struct relay *from, struct mlgen_err *err)
{
	struct scan_head head;
	int rc = relay_read(from, &head, sizeof(head), err);

	if (rc)
		return rc;
	rc = receive_text(&s->base, head.base_bytes, from, err);
	if (rc == 0)
		rc = receive_text(&s->place, head.place_bytes, from, err);
	if (rc)
		return rc;
	s->skipped = head.skipped;
	s->bytes = head.bytes;
	s->entries = mem_array((size_t)head.count, sizeof(*s->entries));
	for (; s->count < head.count && rc == 0; s->count++) {
		struct scan_file_head f;
		char name[PATH_MAX];

		rc = relay_read(from, &f, sizeof(f), err);
		if (rc == 0)
			rc = relay_read(from, name, (size_t)f.name_bytes, err);
		if (rc == 0)
			rc = namefile_add(&s->names, (const char *)&f.mtime_ns, sizeof(f.mtime_ns),
					  err);
		if (rc)
			return rc;
		s->entries[s->count] = (struct scan_entry){
			.name = s->names.end << LENGTH_BITS | f.name_bytes,
			.size_bytes = f.size_bytes,
		};
		rc = namefile_add(&s->names, name, (size_t)f.name_bytes, err);
	}
	return rc ? rc : namefile_flush(&s->names, err);
}

int scan_receive(struct scan **out, const char *beside, struct relay *from, struct mlgen_err *err)
{
	struct scan *s = mem_zalloc(sizeof(*s));
	int rc = namefile_open(&s->names, beside, err);

	s->is_quiet = true; /* the process that scanned has printed the notes */
	if (rc == 0)
		rc = receive_files(s, from, err);
	namefile_end(&s->names);
	if (rc) {
		scan_free(s);
		return rc;
	}
	*out = s;
	return 0;
}

/* ---- scans ---- */

/* Limit for the sum of sizes, which no filesystem reaches, so that sums stay within 64 bits. */
#define MAX_BYTES (UINT64_C(1) << 62)

int scan_entry_name(const struct scan *s, const struct scan_entry *e, char *out, size_t size)
{
	return namefile_read(&s->names, entry_name_at(e), entry_name_length(e), out, size);
}

void scan_push(struct scan *s, struct scan_entry e)
{
	s->entries = mem_grow(s->entries, &s->room, s->count + 1, sizeof(*s->entries));
	s->entries[s->count++] = e;
}

static int by_name(const void *a, const void *b, void *names)
{
	const struct scan_entry *x = a, *y = b;
	size_t n = entry_name_length(x), m = entry_name_length(y);
	const char *base = names;
	int r = memcmp(base + entry_name_at(x), base + entry_name_at(y), n < m ? n : m);

	return r ? r : (n > m) - (n < m);
}

/* Entries are sorted in place. Their names are contiguous in the name file, which is mapped during
 * the sort: the page cache has the names, or reads them again. */
int scan_sort(struct scan *s, uint64_t first, struct mlgen_err *err)
{
	struct namefile_map map;
	uint64_t start, from = s->names.end, unique = first;
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
	/* Equal names are neighbours now; one of them stays. */
	for (uint64_t i = first; i < s->count; i++)
		if (i == first || by_name(&s->entries[unique - 1], &s->entries[i], map.bytes) != 0)
			s->entries[unique++] = s->entries[i];
		else if (s->entries[i].size_bytes != IS_FOLDER)
			s->skipped.again++;
	s->count = unique;
	for (uint64_t i = first; i < s->count; i++)
		s->entries[i].name += start << LENGTH_BITS;
	namefile_unmap(&map);
	return 0;
}

/* List the files below all places. */
static int scan_all_places(struct scan_walk *w, struct scan_places *p)
{
	const struct scan_request *req = w->req;
	struct scan *s = w->scan;
	const char *where = req->file_list ? req->file_list : req->directory;
	int r = 0;

	s->base = mem_strdup(p->base);
	if (req->part == SCAN_EVALUATION)
		r = places_select_evaluation(p, req->is_laid_out, w->err);
	else
		places_select_training(p, req->is_laid_out);
	if (r)
		return r;
	s->place = mem_strdup(p->at[0].path);
	r = scan_walk_begin(w);
	for (size_t i = 0; i < p->count && r == 0; i++)
		r = p->at[i].is_folder ? scan_walk_folder(w, p->at[i].name)
				       : scan_walk_file(w, p->at[i].name);
	/* The files of a single place are in order already. */
	if (r == 0 && p->count > 1)
		r = scan_sort(s, 0, w->err);
	if (r == 0)
		r = namefile_flush(&s->names, w->err);
	if (r == 0) {
		s->skipped.again += links_keep_single(&w->links, s);
		r = scan_judge(w, where);
	}
	if (r)
		return r;

	if (s->count == 0)
		return mlgen_fail(w->err, -ENOENT,
				  "%s: contains no file that mlgen can read; use another "
				  "directory, or dataset=made to write files",
				  where);
	for (uint64_t i = 0; i < s->count; i++) {
		uint64_t bytes = s->entries[i].size_bytes;

		if (bytes >= MAX_BYTES - s->bytes)
			return mlgen_fail(
				w->err, -EFBIG,
				"%s: the total size of its files is too large for offsets", where);
		s->bytes += bytes;
	}
	s->entries = mem_realloc(s->entries, s->count * sizeof(*s->entries));
	return s->listed ? listed_settle(s->listed, s, p, w->err) : 0;
}

int scan_new(struct scan **out, const struct scan_request *req, struct mlgen_err *err)
{
	struct scan *s = mem_zalloc(sizeof(*s));
	struct scan_walk *w = mem_zalloc(sizeof(*w));
	struct scan_places p = { 0 };
	int r = namefile_open(&s->names, req->directory, err);

	s->is_quiet = req->is_quiet;
	w->scan = s;
	w->req = req;
	w->err = err;
	if (r == 0)
		r = req->file_list ? scan_list_read(w, &p) : places_find(&p, req->directory, err);
	if (r == 0)
		r = scan_all_places(w, &p);
	places_fini(&p);
	links_fini(&w->links);
	mem_free(w);
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
	mem_free(s->marks.all);
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
	const struct scan_entry *e = &s->entries[file];
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

void scan_filter(struct scan *s, bool (*keep)(const void *arg, uint64_t file), const void *arg)
{
	uint64_t kept = 0;

	for (uint64_t i = 0; i < s->count; i++)
		if (keep(arg, i))
			s->entries[kept++] = s->entries[i];
		else
			s->bytes -= s->entries[i].size_bytes;
	s->count = kept;
}

void scan_filter_named(struct scan *s, bool (*keep)(void *arg, const char *name), void *arg)
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

struct listed *scan_detach_listed(struct scan *s)
{
	struct listed *l = s->listed;

	s->listed = NULL;
	return l;
}

bool scan_has_listed(const struct scan *s)
{
	return s->listed != NULL;
}
