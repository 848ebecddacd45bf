/* SPDX-License-Identifier: Apache-2.0 */
/* found.c - what a scan found inside the files of a dataset: how many samples each has. */
#include "data/file/file_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "data/scan/scan.h"
#include "hosts/hosts.h"

#define WHERE_NONE UINT64_MAX /* it could not be looked into */

/* Of `words`: whose they are, and where they begin in what that one wrote; while it looks, where
 * they end. */
#define WHERE_BITS 56

#define WHERE_MASK ((UINT64_C(1) << WHERE_BITS) - 1)

/* ---- what a list says of its samples, in place of what is found in files ---- */

/* Nothing more is put down: 0 or -errno with err. */
static int found_map_words(struct found *f, struct mlgen_err *err)
{
	int r = 0;

	for (unsigned i = 0; i < f->word_files && r == 0; i++) {
		r = namefile_flush(&f->words[i], err);
		if (r == 0 && f->words[i].end)
			r = namefile_map(&f->words[i], 0, &f->maps[i], err);
		namefile_end(&f->words[i]);
	}
	return r;
}

/* From how many each has to how many are before it; those without go. */
static void found_sum_up(struct found *f)
{
	uint64_t samples = 0, bytes = 0, kept = 0;

	for (uint64_t i = 0; i < f->files; i++) {
		struct entry e = f->entries[i];
		uint64_t n = e.first_sample, size = e.sample_bytes;

		if (n == 0)
			continue;
		f->each = kept == 0 || f->each == n ? n : 0;
		f->most = u64_max(f->most, n);
		e.first_sample = samples;
		e.sample_bytes = bytes;
		f->entries[kept++] = e;
		samples += n;
		bytes += size;
	}
	f->files = kept;
	f->entries[kept] = (struct entry){ .first_sample = samples, .sample_bytes = bytes };
}

static int take_listed(struct found *f, const struct scan *scan, struct listed *listed,
		       struct mlgen_err *err)
{
	struct listed_count *counts = mem_array((size_t)f->files, sizeof(*counts));
	uint64_t words = 0;
	int r = listed_group(listed, scan, counts, &f->words[0], err);

	for (uint64_t i = 0; i < f->files; i++) {
		f->entries[i].first_sample = counts[i].samples;
		f->entries[i].sample_bytes = counts[i].bytes;
		f->entries[i].words = words;
		words += 2 * sizeof(uint64_t) * counts[i].samples;
	}
	mem_free(counts);
	found_sum_up(f);
	return r ? r : found_map_words(f, err);
}

int found_new_listed(struct found **out, struct scan *scan, struct mlgen_err *err)
{
	struct listed *listed = scan_take_listed(scan);
	struct found *f = found_of(scan);
	int r = namefile_open(&f->words[0], scan_place(scan), err);

	f->word_files = 1;
	if (r == 0)
		r = take_listed(f, scan, listed, err);
	listed_free(listed);
	if (r) {
		found_free(f);
		return r;
	}
	*out = f;
	return 0;
}

/* ---- what was found is put in order, and kept for the next scan ---- */

/*
 * Of files that others belong to (format->look_beside, scan_pair) and that are kept: what those are
 * like is a word before their own.
 */
static bool found_has_beside(const struct looking *g)
{
	return g->kept && (g->ds->format->look_beside || g->ds->options.scan_pair);
}

/* The i-th file beside one: its twin, or what its format has; false: none. */
static bool beside_of(const struct dataset *ds, const char *path, unsigned i, char out[PATH_MAX])
{
	struct namepair pair;

	if (!ds->options.scan_pair)
		return ds->format->look_beside(path, i, out, PATH_MAX);
	if (i == 0 && (!namepair_parse(&pair, ds->options.scan_pair) ||
		       namepair_twin(&pair, path, out, PATH_MAX) < 0))
		*out = '\0';
	return i == 0;
}

/* One number of them all: size and time, and that one is not there. */
static uint64_t found_beside(const struct dataset *ds, const char *path)
{
	uint64_t sum = 0;
	char beside[PATH_MAX];
	struct stat st;

	for (unsigned i = 0; beside_of(ds, path, i, beside); i++) {
		bool is_there = *beside && stat(beside, &st) == 0;

		sum = rng_u64(sum, is_there ? (uint64_t)st.st_size : 0,
			      is_there ? (uint64_t)st.st_mtim.tv_sec : i);
		sum = rng_u64(sum, is_there, is_there ? (uint64_t)st.st_mtim.tv_nsec : 0);
	}
	return sum;
}

/* The words of one file: where they are, and how many. */
struct span {
	const uint64_t *words;
	uint64_t count, beside;
};

/* `ends` has where each thread's last file has ended. */
static struct span found_keep_settle(const struct looking *g, struct entry *e,
				     uint64_t ends[FOUND_THREADS])
{
	unsigned thread = (unsigned)(e->words >> WHERE_BITS);
	uint64_t start = ends[thread], end = e->words & WHERE_MASK;
	const char *bytes = g->found->maps[thread].bytes;
	struct span s = { 0 };

	ends[thread] = end;
	if (bytes)
		s.words = (const void *)(bytes + start);
	if (s.words && found_has_beside(g)) {
		s.beside = *s.words++;
		start += sizeof(uint64_t);
	}
	s.count = (end - start) / sizeof(uint64_t);
	e->words = (uint64_t)thread << WHERE_BITS | start;
	return s;
}

static int keep_one(const struct looking *g, uint64_t file, const struct span *s)
{
	struct scan_cache_writer *w = &g->kept->writer;
	const struct entry *e = &g->found->entries[file];
	struct scan_stamp stamp = { .size_bytes = scan_size(g->scan, file), .beside = s->beside };
	struct scan_cached found = { .samples = e->first_sample,
				     .sample_bytes = e->sample_bytes,
				     .packed_most = g->found->packed_most,
				     .word_count = s->count };
	char name[PATH_MAX];
	int n = scan_name_and_time(g->scan, file, name, sizeof(name), &stamp.mtime_ns);
	int r = n < 0 ? n : signals_taken() ? -EINTR : scan_cache_add_words(w, s->words, s->count);

	memcpy(found.facts, e->facts, sizeof(found.facts));
	return r ? r : scan_cache_add(w, g->kept->req.part, name, (size_t)n, &stamp, &found);
}

/* Is there anything that was not kept, or that has gone? */
static bool is_new(const struct looking *g, uint64_t files)
{
	const struct kept *k = g->kept;

	return k && (!k->has_cache || files != atomic_load(&k->taken) ||
		     files != k->cache.header.files[k->req.part]);
}

/* Words begin where those of the thread's file before have ended; what was found is kept where it
 * is not what was kept already. Words are mapped. */
static void found_settle(struct looking *g)
{
	struct found *f = g->found;
	uint64_t ends[FOUND_THREADS] = { 0 }, files = 0, bytes = 0;
	bool writes;
	int r = 0;

	for (uint64_t i = 0; i < f->files; i++) {
		if (f->entries[i].words == WHERE_NONE)
			continue;
		files++;
		bytes += scan_name_bytes(g->scan, i);
	}
	writes = is_new(g, files);
	if (writes)
		r = kept_begin(g->kept, files, bytes);
	for (uint64_t i = 0; i < f->files; i++) {
		struct span s;

		if (f->entries[i].words == WHERE_NONE)
			continue;
		s = found_keep_settle(g, &f->entries[i], ends);
		if (writes && r == 0)
			r = keep_one(g, i, &s);
	}
	if (writes && r == 0)
		r = kept_end(g->kept);
	if (r)
		kept_fail(g->kept, r);
	if (g->kept) {
		kept_tell(g->kept);
		f->kept_files = atomic_load(&g->kept->taken);
	}
}

/* ---- what one process of a job has found in files is known to another ---- */

struct given_head {
	uint64_t files, each, most;
	uint64_t read_bytes, kept_files, packed_most;
	double seconds;
	unsigned word_files;
	uint64_t word_bytes[FOUND_THREADS];
};

static int put_entry(const struct found *f, uint64_t file, struct relay *to, struct mlgen_err *err)
{
	struct entry e = f->entries[file];
	uint64_t *extents = &e.facts[f->extents_fact];

	/* Of each how many it has, again. */
	if (f->counts_extents && file == f->files)
		*extents = 0;
	else if (f->counts_extents)
		*extents = found_first_extent(f, file + 1) - *extents;
	return relay_put(to, &e, sizeof(e), err);
}

int found_give(const struct found *f, struct relay *to, struct mlgen_err *err)
{
	struct given_head head = { .files = f->files,
				   .each = f->each,
				   .most = f->most,
				   .read_bytes = f->read_bytes,
				   .kept_files = f->kept_files,
				   .packed_most = f->packed_most,
				   .seconds = f->seconds,
				   .word_files = f->word_files };

	for (unsigned i = 0; i < f->word_files; i++)
		head.word_bytes[i] = f->words[i].end;
	int rc = relay_put(to, &head, sizeof(head), err);
	for (uint64_t i = 0; i <= f->files && rc == 0; i++)
		rc = put_entry(f, i, to, err);
	for (unsigned i = 0; i < f->word_files && rc == 0; i++)
		rc = relay_put(to, f->maps[i].bytes, (size_t)f->words[i].end, err);
	return rc;
}

static int take_words(struct found *f, unsigned i, uint64_t bytes, struct relay *from,
		      struct mlgen_err *err)
{
	char some[4096];
	int rc = 0;

	while (bytes && rc == 0) {
		size_t n = (size_t)u64_min(bytes, sizeof(some));

		rc = relay_get(from, some, n, err);
		if (rc == 0)
			rc = namefile_add(&f->words[i], some, n, err);
		bytes -= n;
	}
	return rc;
}

static int take_all(struct found *f, const char *beside, struct relay *from, struct mlgen_err *err)
{
	struct given_head head;
	int rc = relay_get(from, &head, sizeof(head), err);

	if (rc)
		return rc;
	f->files = head.files;
	f->each = head.each;
	f->most = head.most;
	f->read_bytes = head.read_bytes;
	f->kept_files = head.kept_files;
	f->packed_most = head.packed_most;
	f->seconds = head.seconds;
	f->entries = mem_array((size_t)f->files + 1, sizeof(*f->entries));
	rc = relay_get(from, f->entries, ((size_t)f->files + 1) * sizeof(*f->entries), err);
	while (f->word_files < head.word_files && rc == 0) {
		rc = namefile_open(&f->words[f->word_files], beside, err);
		if (rc == 0)
			rc = take_words(f, f->word_files, head.word_bytes[f->word_files], from,
					err);
		f->word_files++;
	}
	return rc ? rc : found_map_words(f, err);
}

int found_take(struct found **out, const char *beside, struct relay *from, struct mlgen_err *err)
{
	struct found *f = mem_zalloc(sizeof(*f));
	int rc = take_all(f, beside, from, err);

	if (rc) {
		found_free(f);
		return rc;
	}
	*out = f;
	return 0;
}

/* ---- what is found ---- */

/* Each thread takes so many files. */
#define TURN_FILES 64u

/* So many damaged files and indexes are named; the others are counted. */
#define TOLD_MAX 5

static double since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

/* One file */

static void put_down(struct looker *k, struct entry *e, const struct scan_cached *c)
{
	e->first_sample = c->samples;
	e->sample_bytes = c->sample_bytes;
	memcpy(e->facts, c->facts, sizeof(e->facts));
	e->words = (uint64_t)k->index << WHERE_BITS | k->of->found->words[k->index].end;
}

/* By what was kept: 1, 0 where it has to be looked into, or -errno. */
static int take_kept(struct looker *k, uint64_t file, const char *name, int64_t mtime_ns)
{
	struct looking *g = k->of;
	struct namefile *words = &g->found->words[k->index];
	struct scan_stamp stamp = { .size_bytes = scan_size(g->scan, file), .mtime_ns = mtime_ns };
	struct scan_cached c = { 0 };
	int r = 0;

	if (found_has_beside(g)) {
		stamp.beside = found_beside(g->ds, k->path);
		r = namefile_add(words, (const char *)&stamp.beside, sizeof(stamp.beside), &k->err);
	}
	if (r == 0)
		r = kept_take(g->kept, k->cursor, name, &stamp, &c, words, &k->err);
	if (r > 0) {
		put_down(k, &g->found->entries[file], &c);
		k->packed_most = u64_max(k->packed_most, c.packed_most);
	}
	return r;
}

static void tell_of_index(struct looker *k)
{
	if (atomic_fetch_add(&k->of->stale, 1) < TOLD_MAX)
		scan_note(k->of->scan, "%s; the file itself was gone through", k->look.note.text);
}

static int look_itself(struct looker *k, uint64_t file, const char *name)
{
	struct looking *g = k->of;
	struct look *l = &k->look;
	int r = look_open(l, g->dir_fd, name, k->path, scan_size(g->scan, file));

	if (r == 0)
		r = g->ds->format->look(l);
	look_close(l);
	if (l->note.code)
		tell_of_index(k);
	if (r == 0) {
		struct scan_cached c = { .samples = l->samples, .sample_bytes = l->sample_bytes };

		memcpy(c.facts, l->facts, sizeof(c.facts));
		put_down(k, &g->found->entries[file], &c);
		k->packed_most = u64_max(k->packed_most, l->packed_most);
	}
	return r;
}

/* A file that fails leaves no words. */
static int look_into(struct looker *k, uint64_t file)
{
	struct looking *g = k->of;
	struct namefile *words = &g->found->words[k->index];
	uint64_t end = words->end;
	int n = snprintf(k->path, sizeof(k->path), "%s/", g->ds->directory);
	char *name = k->path + n;
	int64_t mtime_ns;
	int r = scan_name_and_time(g->scan, file, name, sizeof(k->path) - (size_t)n, &mtime_ns);

	if (r < 0) {
		r = mlgen_fail(&k->err, r, "%s: its name cannot be read back: %s", g->ds->directory,
			       strerror(-r));
	} else {
		r = g->kept ? take_kept(k, file, name, mtime_ns) : 0;
		if (r == 0)
			r = look_itself(k, file, name);
	}
	if (r >= 0)
		return 0;
	namefile_cut(words, end);
	g->found->entries[file].words = WHERE_NONE;
	return r;
}

static void leave_out(struct looker *k, uint64_t file)
{
	if (!k->damage.code) {
		k->damage = k->err;
		k->damaged_at = file;
	}
	if (atomic_fetch_add(&k->of->damaged, 1) < TOLD_MAX)
		scan_note(k->of->scan, "%s; left out", k->err.text);
	k->err = (struct mlgen_err){ 0 };
}

/* What is wrong with a file, not with this host. */
static bool is_of_file(int code)
{
	return code == -EINVAL || code == -EIO || code == -EACCES || code == -ENOENT;
}

static void look_at_some(struct looker *k, uint64_t from, uint64_t end)
{
	struct looking *g = k->of;

	for (uint64_t i = from; i < end && !atomic_load(&g->stops); i++) {
		int r = look_into(k, i);

		if (r < 0 && is_of_file(r) && g->errors != SCAN_REFUSE) {
			leave_out(k, i);
		} else if (r < 0) {
			k->failed_at = i;
			atomic_store(&g->stops, true);
		}
	}
	atomic_fetch_add(&g->done, end - from);
}

/* How far it is; by the thread that asked for all this. */
static void found_tell(struct looking *g)
{
	double seconds = since(&g->started);
	char done[UNITS_TEXT_BYTES], all[UNITS_TEXT_BYTES];

	if (signals_taken())
		atomic_store(&g->stops, true);
	if (seconds < g->told_seconds + 1)
		return;
	g->told_seconds = seconds;
	log_progress("looking into files: %s of %s", units_human_count(done, atomic_load(&g->done)),
		     units_human_count(all, g->found->files));
}

static void *looker_main(void *arg)
{
	struct looker *k = arg;
	struct looking *g = k->of;
	uint64_t files = g->found->files;

	while (!atomic_load(&g->stops)) {
		uint64_t from = atomic_fetch_add(&g->next, TURN_FILES);

		if (from >= files)
			break;
		look_at_some(k, from, u64_min(from + TURN_FILES, files));
		if (k->index == 0)
			found_tell(g);
	}
	return NULL;
}

/* All files */

static int found_start(struct looking *g, unsigned threads)
{
	int r = 0;

	for (unsigned i = 0; i < threads && r == 0; i++) {
		struct looker *k = &g->lookers[i];

		k->of = g;
		k->index = i;
		k->failed_at = UINT64_MAX;
		r = namefile_open(&g->found->words[i], g->ds->directory, &k->err);
		if (r == 0)
			g->found->word_files++;
		if (r == 0)
			r = look_init(&k->look, &g->found->words[i], &k->err);
		k->look.options = &g->ds->options;
		if (g->kept && g->kept->has_cache) {
			k->cursor = mem_zalloc(sizeof(*k->cursor));
			scan_cursor_init(k->cursor, &g->kept->cache);
		}
		/* This thread is the first of them. */
		if (r == 0 && i > 0)
			k->has_thread = thread_start(&k->thread, looker_main, k) == 0;
	}
	return r;
}

/* All have ended; the first damaged file in order is what is told. */
static int found_finish(struct looking *g, struct mlgen_err *err)
{
	const struct looker *first = NULL, *damaged = NULL;

	for (unsigned i = 0; i < FOUND_THREADS; i++) {
		struct looker *k = &g->lookers[i];

		if (k->has_thread)
			pthread_join(k->thread, NULL);
		g->found->read_bytes += k->look.read_bytes;
		g->found->packed_most = u64_max(g->found->packed_most, k->packed_most);
		look_fini(&k->look);
		mem_free(k->cursor);
		if (k->err.code && (!first || k->failed_at < first->failed_at))
			first = k;
		if (k->damage.code && (!damaged || k->damaged_at < damaged->damaged_at))
			damaged = k;
	}
	if (damaged)
		g->damage = damaged->damage;
	if (first)
		*err = first->err;
	else if (atomic_load(&g->stops))
		return mlgen_fail(err, -EINTR, "%s: interrupted", g->ds->directory);
	return err->code;
}

static int look_at_all(struct looking *g, struct mlgen_err *err)
{
	uint64_t turns = divide_up(g->found->files, TURN_FILES);
	int r;

	for (unsigned i = 0; i < FOUND_THREADS; i++)
		g->lookers[i].look.fd = -1;
	g->dir_fd = open(g->ds->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->dir_fd < 0)
		return mlgen_fail(err, -errno, "%s: %s", g->ds->directory, strerror(errno));
	clock_gettime(CLOCK_MONOTONIC, &g->started);
	r = found_start(g, (unsigned)u64_min(turns, FOUND_THREADS));
	if (r)
		atomic_store(&g->stops, true);
	else
		looker_main(&g->lookers[0]);
	r = found_finish(g, err);
	g->found->seconds = since(&g->started);
	close(g->dir_fd);
	return r;
}

/* What was found */

static bool has_samples(const void *found, uint64_t file)
{
	return ((const struct found *)found)->entries[file].first_sample > 0;
}

/* From samples and bytes of each file to those before it; files without a sample go. */
static int leave_empty(struct found *f, struct scan *scan, const struct looking *g,
		       struct mlgen_err *err)
{
	const char *format = g->ds->format->name, *directory = g->ds->directory;
	uint64_t damaged = atomic_load(&g->damaged), before = f->files;
	char text[UNITS_TEXT_BYTES];

	scan_keep(scan, has_samples, f);
	found_sum_up(f);
	if (damaged)
		scan_note(scan, "%s: left out: %s file%s damaged, or not as mlgen reads %s files",
			  directory, units_human_count(text, damaged),
			  damaged == 1 ? " that is" : "s that are", format);
	if (atomic_load(&g->stale) > TOLD_MAX)
		scan_note(scan,
			  "%s: %s indexes are not as their files are; those were gone through",
			  directory, units_human_count(text, atomic_load(&g->stale)));
	if (before - f->files > damaged)
		scan_note(scan, "%s: left out: %s %s files without a sample", directory,
			  units_human_count(text, before - f->files - damaged), format);
	if (f->files == 0 && g->damage.code)
		*err = g->damage;
	else if (f->files == 0)
		return mlgen_fail(err, -EINVAL, "%s: no %s file in it has a sample", directory,
				  format);
	return err->code;
}

struct found *found_of(const struct scan *scan)
{
	struct found *f = mem_zalloc(sizeof(*f));

	f->files = scan_files(scan);
	f->entries = mem_array((size_t)f->files + 1, sizeof(*f->entries));
	return f;
}

int found_new(struct found **out, struct scan *scan, const struct dataset *ds,
	      enum job_scan_errors errors, const struct kept_request *keeps, struct mlgen_err *err)
{
	struct looking *g = mem_zalloc(sizeof(*g));
	struct found *f = found_of(scan);
	int r;

	g->found = f;
	g->scan = scan;
	g->ds = ds;
	g->errors = errors;
	r = kept_open(&g->kept, keeps, ds, err);
	if (r == 0)
		r = look_at_all(g, err);
	if (r == 0)
		r = found_map_words(f, err);
	if (r == 0) {
		found_settle(g);
		r = leave_empty(f, scan, g, err);
	}
	kept_free(g->kept);
	mem_free(g);
	if (r) {
		found_free(f);
		return r;
	}
	*out = f;
	return 0;
}

void found_free(struct found *f)
{
	if (!f)
		return;
	for (unsigned i = 0; i < f->word_files; i++) {
		if (f->maps[i].bytes)
			namefile_unmap(&f->maps[i]);
		namefile_close(&f->words[i]);
	}
	mem_free(f->entries);
	mem_free(f);
}

uint64_t found_read_bytes(const struct found *f)
{
	return f->read_bytes;
}

uint64_t found_packed_most(const struct found *f)
{
	return f->packed_most;
}

double found_seconds(const struct found *f)
{
	return f->seconds;
}

uint64_t found_kept_files(const struct found *f)
{
	return f->kept_files;
}

uint64_t found_first_sample(const struct found *f, uint64_t file)
{
	return f->entries[file].first_sample;
}

uint64_t found_sample_bytes(const struct found *f, uint64_t file)
{
	return f->entries[file].sample_bytes;
}

/* The last file that begins at `at` or before it. */
static uint64_t search(const struct found *f, uint64_t at,
		       uint64_t (*first)(const struct found *f, uint64_t file))
{
	return BISECT(file, 1, f->files, first(f, file) > at) - 1;
}

uint64_t found_file_of(const struct found *f, uint64_t sample)
{
	return f->each ? sample / f->each : search(f, sample, found_first_sample);
}

void found_count_extents(struct found *f, unsigned fact)
{
	uint64_t before = 0;

	f->counts_extents = true;
	f->extents_fact = fact;
	for (uint64_t i = 0; i <= f->files; i++) {
		uint64_t n = f->entries[i].facts[fact];

		f->entries[i].facts[fact] = before;
		before += n;
	}
}

uint64_t found_first_extent(const struct found *f, uint64_t file)
{
	return f->entries[file].facts[f->extents_fact];
}

uint64_t found_file_of_extent(const struct found *f, uint64_t extent)
{
	return search(f, extent, found_first_extent);
}

uint64_t found_each(const struct found *f)
{
	return f->each;
}

uint64_t found_most(const struct found *f)
{
	return f->most;
}

void found_shape(const struct found *f, uint64_t file, struct file_shape *shape)
{
	const struct entry *e = &f->entries[file];
	const char *bytes = f->maps[e->words >> WHERE_BITS].bytes;

	shape->samples = e[1].first_sample - e->first_sample;
	shape->facts = e->facts;
	/* Words of eight bytes each begin at a multiple of eight. */
	shape->words = bytes ? (const void *)(bytes + (e->words & WHERE_MASK)) : NULL;
}
