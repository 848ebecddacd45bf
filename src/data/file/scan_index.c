/* SPDX-License-Identifier: Apache-2.0 */
/* scan_index.c - the scan index: number and places of the samples in the files of a scan. */
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
#include "base/dist.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "data/scan/scan.h"
#include "hosts/hosts.h"

/* index_entry.words has the number of the thread that wrote the file's words, and the offset in
 * that thread's file of words where they begin (during the scan: where they end). */
#define WORDS_OFF_BITS 56
#define WORDS_OFF_MASK ((UINT64_C(1) << WORDS_OFF_BITS) - 1)
#define WORDS_NONE UINT64_MAX /* the file is left out */

static struct scan_index *scan_index_alloc(const struct scan *scan)
{
	struct scan_index *f = mem_zalloc(sizeof(*f));

	f->files = scan_files(scan);
	f->entries = mem_array((size_t)f->files + 1, sizeof(*f->entries));
	return f;
}

/* Flush and map the words, which are complete: 0 or -errno with err. */
static int map_words(struct scan_index *f, struct mlgen_err *err)
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

/* Turn the numbers of each file into sums over the files before it. Files without samples leave. */
static void sum_up_entries(struct scan_index *f)
{
	uint64_t samples = 0, bytes = 0, kept = 0;

	for (uint64_t i = 0; i < f->files; i++) {
		struct index_entry e = f->entries[i];
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
	f->entries[kept] = (struct index_entry){ .first_sample = samples, .sample_bytes = bytes };
}

int scan_index_new_listed(struct scan_index **out, struct scan *scan, struct mlgen_err *err)
{
	struct listed *listed = scan_detach_listed(scan);
	struct scan_index *f = scan_index_alloc(scan);
	struct listed_count *counts = mem_array((size_t)f->files, sizeof(*counts));
	uint64_t words = 0;
	int r = namefile_open(&f->words[0], scan_place(scan), err);

	f->word_files = 1;
	if (r == 0)
		r = listed_group(listed, scan, counts, &f->words[0], err);
	for (uint64_t i = 0; i < f->files; i++) {
		f->entries[i].first_sample = counts[i].samples;
		f->entries[i].sample_bytes = counts[i].bytes;
		f->entries[i].words = words;
		words += 2 * sizeof(uint64_t) * counts[i].samples;
	}
	sum_up_entries(f);
	if (r == 0)
		r = map_words(f, err);
	mem_free(counts);
	listed_free(listed);
	if (r) {
		scan_index_free(f);
		return r;
	}
	*out = f;
	return 0;
}

/* ---- the results of a scan are put in order and written to the scan cache ---- */

/*
 * True if results are cached and files have sidecars (format->sidecar_path, scan_pair). The first
 * word of each file is then the hash of its sidecars.
 */
static bool has_sidecars(const struct index_build *g)
{
	return g->kept && (g->ds->format->sidecar_path || g->ds->options.scan_pair);
}

/* The i-th sidecar of a file: its twin, or an index of its format. False = no more. */
static bool nth_sidecar(const struct dataset *ds, const char *path, unsigned i, char out[PATH_MAX])
{
	struct namepair pair;

	if (!ds->options.scan_pair)
		return ds->format->sidecar_path(path, i, out, PATH_MAX);
	if (i == 0 && (!namepair_parse(&pair, ds->options.scan_pair) ||
		       namepair_twin(&pair, path, out, PATH_MAX) < 0))
		*out = '\0';
	return i == 0;
}

/* The words of one file, and the hash of its sidecars. */
struct file_words {
	const uint64_t *words;
	uint64_t count, sidecars;
};

static int cache_file(const struct index_build *g, uint64_t file, const struct file_words *s)
{
	struct scan_cache_writer *w = &g->kept->writer;
	const struct index_entry *e = &g->found->entries[file];
	struct scan_stamp stamp = { .size_bytes = scan_size(g->scan, file),
				    .sidecars = s->sidecars };
	struct scan_cached found = { .samples = e->first_sample,
				     .sample_bytes = e->sample_bytes,
				     .packed_max = g->found->packed_max,
				     .word_count = s->count };
	char name[PATH_MAX];
	int n = scan_name_and_time(g->scan, file, name, sizeof(name), &stamp.mtime_ns);
	int r = n < 0                ? n
		: signals_received() ? -EINTR
				     : scan_cache_add_words(w, s->words, s->count);

	memcpy(found.facts, e->facts, sizeof(found.facts));
	return r ? r : scan_cache_add(w, g->kept->req.part, name, (size_t)n, &stamp, &found);
}

/* Set where each file's words begin: where those of the thread's previous file end. Write the
 * results to the scan cache if a file is new or has disappeared. Words must be mapped. */
static void settle_words(struct index_build *g)
{
	struct scan_index *f = g->found;
	const struct scan_cache_store *k = g->kept;
	uint64_t ends[SCAN_THREADS] = { 0 }; /* end of the words of each thread's previous file */
	uint64_t files = 0, bytes = 0;
	int r = 0;

	for (uint64_t i = 0; i < f->files; i++) {
		if (f->entries[i].words == WORDS_NONE)
			continue;
		files++;
		bytes += scan_name_bytes(g->scan, i);
	}
	bool writes = k && (!k->has_cache || files != atomic_load(&k->hits) ||
			    files != k->cache.header.files[k->req.part]);
	if (writes)
		r = scan_cache_replace_begin(g->kept, files, bytes);
	for (uint64_t i = 0; i < f->files; i++) {
		struct index_entry *e = &f->entries[i];
		struct file_words s = { 0 };

		if (e->words == WORDS_NONE)
			continue;

		unsigned thread = (unsigned)(e->words >> WORDS_OFF_BITS);
		uint64_t start = ends[thread], end = e->words & WORDS_OFF_MASK;
		const char *words = f->maps[thread].bytes;

		ends[thread] = end;
		if (words)
			s.words = (const void *)(words + start);
		if (s.words && has_sidecars(g)) {
			s.sidecars = *s.words++;
			start += sizeof(uint64_t);
		}
		s.count = (end - start) / sizeof(uint64_t);
		e->words = (uint64_t)thread << WORDS_OFF_BITS | start;
		if (writes && r == 0)
			r = cache_file(g, i, &s);
	}
	if (writes && r == 0)
		r = scan_cache_replace_end(g->kept);
	if (r)
		scan_cache_replace_failed(g->kept, r);
	if (k) {
		scan_cache_warn_unused(k);
		f->kept_files = atomic_load(&k->hits);
	}
}

/* ---- one process of a job sends its index to the others ---- */

struct index_head {
	uint64_t files, each, most;
	uint64_t read_bytes, kept_files, packed_max;
	double seconds;
	unsigned word_files;
	uint64_t word_bytes[SCAN_THREADS];
};

int scan_index_send(const struct scan_index *f, struct relay *to, struct mlgen_err *err)
{
	struct index_head head = { .files = f->files,
				   .each = f->each,
				   .most = f->most,
				   .read_bytes = f->read_bytes,
				   .kept_files = f->kept_files,
				   .packed_max = f->packed_max,
				   .seconds = f->seconds,
				   .word_files = f->word_files };

	for (unsigned i = 0; i < f->word_files; i++)
		head.word_bytes[i] = f->words[i].end;
	int rc = relay_write(to, &head, sizeof(head), err);
	for (uint64_t i = 0; i <= f->files && rc == 0; i++) {
		struct index_entry e = f->entries[i];
		uint64_t *extents = &e.facts[f->extents_fact];

		/* Undo scan_index_count_extents: the receiver expects each file's number of
		 * extents. */
		if (f->counts_extents)
			*extents = i < f->files ? scan_index_first_extent(f, i + 1) - *extents : 0;
		rc = relay_write(to, &e, sizeof(e), err);
	}
	for (unsigned i = 0; i < f->word_files && rc == 0; i++)
		rc = relay_write(to, f->maps[i].bytes, (size_t)f->words[i].end, err);
	return rc;
}

static int receive_all(struct scan_index *f, const char *beside, struct relay *from,
		       struct mlgen_err *err)
{
	struct index_head head;
	int rc = relay_read(from, &head, sizeof(head), err);

	if (rc)
		return rc;
	f->files = head.files;
	f->each = head.each;
	f->most = head.most;
	f->read_bytes = head.read_bytes;
	f->kept_files = head.kept_files;
	f->packed_max = head.packed_max;
	f->seconds = head.seconds;
	f->entries = mem_array((size_t)f->files + 1, sizeof(*f->entries));
	rc = relay_read(from, f->entries, ((size_t)f->files + 1) * sizeof(*f->entries), err);
	while (f->word_files < head.word_files && rc == 0) {
		struct namefile *words = &f->words[f->word_files];
		uint64_t left = head.word_bytes[f->word_files];
		char some[4096];

		rc = namefile_open(words, beside, err);
		while (left && rc == 0) {
			size_t n = (size_t)u64_min(left, sizeof(some));

			rc = relay_read(from, some, n, err);
			if (rc == 0)
				rc = namefile_add(words, some, n, err);
			left -= n;
		}
		f->word_files++;
	}
	return rc ? rc : map_words(f, err);
}

int scan_index_receive(struct scan_index **out, const char *beside, struct relay *from,
		       struct mlgen_err *err)
{
	struct scan_index *f = mem_zalloc(sizeof(*f));
	int rc = receive_all(f, beside, from, err);

	if (rc) {
		scan_index_free(f);
		return rc;
	}
	*out = f;
	return 0;
}

/* ---- the scan ---- */

/* Files that a thread claims at a time. */
#define TURN_FILES 64u

/* Number of damaged files and index files that are named; the rest are counted. */
#define NOTES_MAX 5

static double since(const struct timespec *start)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)(now.tv_sec - start->tv_sec) + (double)(now.tv_nsec - start->tv_nsec) / 1e9;
}

static void store_results(struct index_thread *k, struct index_entry *e,
			  const struct scan_cached *c)
{
	e->first_sample = c->samples;
	e->sample_bytes = c->sample_bytes;
	memcpy(e->facts, c->facts, sizeof(e->facts));
	e->words = (uint64_t)k->index << WORDS_OFF_BITS | k->build->found->words[k->index].end;
}

/* Take results from the scan cache: 1, 0 if the file is not in it, or -errno. */
static int use_cached(struct index_thread *k, uint64_t file, const char *name, int64_t mtime_ns)
{
	struct index_build *g = k->build;
	struct namefile *words = &g->found->words[k->index];
	struct scan_stamp stamp = { .size_bytes = scan_size(g->scan, file), .mtime_ns = mtime_ns };
	struct scan_cached c = { 0 };
	char sidecar[PATH_MAX];
	struct stat st;
	int r = 0;

	if (has_sidecars(g)) {
		/* Hash size and time of all sidecars, and which of them are missing. */
		for (unsigned i = 0; nth_sidecar(g->ds, k->path, i, sidecar); i++) {
			bool exists = *sidecar && stat(sidecar, &st) == 0;

			stamp.sidecars = rng_u64(stamp.sidecars, exists ? (uint64_t)st.st_size : 0,
						 exists ? (uint64_t)st.st_mtim.tv_sec : i);
			stamp.sidecars = rng_u64(stamp.sidecars, exists,
						 exists ? (uint64_t)st.st_mtim.tv_nsec : 0);
		}
		r = namefile_add(words, (const char *)&stamp.sidecars, sizeof(stamp.sidecars),
				 &k->err);
	}
	if (r == 0)
		r = scan_cache_lookup(g->kept, k->cursor, name, &stamp, &c, words, &k->err);
	if (r > 0) {
		store_results(k, &g->found->entries[file], &c);
		k->packed_max = u64_max(k->packed_max, c.packed_max);
	}
	return r;
}

static int look_inside(struct index_thread *k, uint64_t file, const char *name)
{
	struct index_build *g = k->build;
	struct look *l = &k->look;
	int r = look_open(l, g->dir_fd, name, k->path, scan_size(g->scan, file));

	if (r == 0)
		r = g->ds->format->look(l);
	look_close(l);
	if (l->note.code && atomic_fetch_add(&g->stale, 1) < NOTES_MAX)
		scan_note(g->scan, "%s; mlgen read the file itself", l->note.text);
	if (r == 0) {
		struct scan_cached c = { .samples = l->samples, .sample_bytes = l->sample_bytes };

		memcpy(c.facts, l->facts, sizeof(c.facts));
		store_results(k, &g->found->entries[file], &c);
		k->packed_max = u64_max(k->packed_max, l->packed_max);
	}
	return r;
}

/* A file that fails has no words. */
static int look_into(struct index_thread *k, uint64_t file)
{
	struct index_build *g = k->build;
	struct namefile *words = &g->found->words[k->index];
	uint64_t end = words->end;
	int n = snprintf(k->path, sizeof(k->path), "%s/", g->ds->directory);
	char *name = k->path + n;
	int64_t mtime_ns;
	int r = scan_name_and_time(g->scan, file, name, sizeof(k->path) - (size_t)n, &mtime_ns);

	if (r < 0) {
		r = mlgen_fail(&k->err, r, "%s: the name of a file cannot be read back: %s",
			       g->ds->directory, strerror(-r));
	} else {
		r = g->kept ? use_cached(k, file, name, mtime_ns) : 0;
		if (r == 0)
			r = look_inside(k, file, name);
	}
	if (r >= 0)
		return 0;
	namefile_cut(words, end);
	g->found->entries[file].words = WORDS_NONE;
	return r;
}

static void leave_out(struct index_thread *k, uint64_t file)
{
	if (!k->damage.code) {
		k->damage = k->err;
		k->damaged_at = file;
	}
	if (atomic_fetch_add(&k->build->damaged, 1) < NOTES_MAX)
		scan_note(k->build->scan, "%s; left out", k->err.text);
	k->err = (struct mlgen_err){ 0 };
}

/* Only the thread that called scan_index_new reports progress. */
static void report_progress(struct index_build *g)
{
	double seconds = since(&g->started);
	char done[UNITS_TEXT_BYTES], all[UNITS_TEXT_BYTES];

	if (signals_received())
		atomic_store(&g->stops, true);
	if (seconds < g->reported_seconds + 1)
		return;
	g->reported_seconds = seconds;
	log_progress("examining files: %s of %s", units_human_count(done, atomic_load(&g->done)),
		     units_human_count(all, g->found->files));
}

static void *index_thread_main(void *arg)
{
	struct index_thread *k = arg;
	struct index_build *g = k->build;
	uint64_t files = g->found->files;

	while (!atomic_load(&g->stops)) {
		uint64_t from = atomic_fetch_add(&g->next, TURN_FILES);

		if (from >= files)
			break;

		uint64_t end = u64_min(from + TURN_FILES, files);

		for (uint64_t i = from; i < end && !atomic_load(&g->stops); i++) {
			int r = look_into(k, i);
			/* These are errors of a file, all others are errors of this host. */
			bool is_of_file = r == -EINVAL || r == -EIO || r == -EACCES || r == -ENOENT;

			if (is_of_file && g->errors != SCAN_REFUSE) {
				leave_out(k, i);
			} else if (r < 0) {
				k->failed_at = i;
				atomic_store(&g->stops, true);
			}
		}
		atomic_fetch_add(&g->done, end - from);

		if (k->index == 0)
			report_progress(g);
	}
	return NULL;
}

/* Join the threads. Report the error of the first file in order, whichever thread found it. */
static int join_threads(struct index_build *g, struct mlgen_err *err)
{
	const struct index_thread *first = NULL, *damaged = NULL;

	for (unsigned i = 0; i < SCAN_THREADS; i++) {
		struct index_thread *k = &g->threads[i];

		if (k->has_thread)
			pthread_join(k->thread, NULL);
		g->found->read_bytes += k->look.read_bytes;
		g->found->packed_max = u64_max(g->found->packed_max, k->packed_max);
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

static int look_into_all(struct index_build *g, struct mlgen_err *err)
{
	uint64_t turns = divide_up(g->found->files, TURN_FILES);
	unsigned threads = (unsigned)u64_min(turns, SCAN_THREADS);
	int r = 0;

	for (unsigned i = 0; i < SCAN_THREADS; i++)
		g->threads[i].look.fd = -1;
	g->dir_fd = open(g->ds->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (g->dir_fd < 0)
		return mlgen_fail(err, -errno, "%s: %s", g->ds->directory, strerror(errno));
	clock_gettime(CLOCK_MONOTONIC, &g->started);

	for (unsigned i = 0; i < threads && r == 0; i++) {
		struct index_thread *k = &g->threads[i];

		k->build = g;
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
		/* The calling thread itself is number 0. */
		if (r == 0 && i > 0)
			k->has_thread = thread_start(&k->thread, index_thread_main, k) == 0;
	}

	if (r)
		atomic_store(&g->stops, true);
	else
		index_thread_main(&g->threads[0]);
	r = join_threads(g, err);
	g->found->seconds = since(&g->started);
	close(g->dir_fd);
	return r;
}

static bool has_samples(const void *found, uint64_t file)
{
	return ((const struct scan_index *)found)->entries[file].first_sample > 0;
}

/* Remove the files without a sample from scan and index, and note what is left out. */
static int drop_empty(struct scan_index *f, struct scan *scan, const struct index_build *g,
		      struct mlgen_err *err)
{
	const char *format = g->ds->format->name, *directory = g->ds->directory;
	uint64_t damaged = atomic_load(&g->damaged), before = f->files;
	char text[UNITS_TEXT_BYTES];

	scan_filter(scan, has_samples, f);
	sum_up_entries(f);
	if (damaged)
		scan_note(scan,
			  "%s: left out: %s file%s damaged, or in a variant of %s that mlgen "
			  "cannot read",
			  directory, units_human_count(text, damaged),
			  damaged == 1 ? " that is" : "s that are", format);
	if (atomic_load(&g->stale) > NOTES_MAX)
		scan_note(
			scan,
			"%s: %s indexes do not match their files; mlgen read the files themselves",
			directory, units_human_count(text, atomic_load(&g->stale)));
	if (before - f->files > damaged)
		scan_note(scan, "%s: left out: %s %s files without a sample", directory,
			  units_human_count(text, before - f->files - damaged), format);
	if (f->files == 0 && g->damage.code)
		*err = g->damage;
	else if (f->files == 0)
		return mlgen_fail(err, -EINVAL, "%s: no %s file here has a sample", directory,
				  format);
	return err->code;
}

int scan_index_new(struct scan_index **out, struct scan *scan, const struct dataset *ds,
		   enum job_scan_errors errors, const struct scan_cache_request *keeps,
		   struct mlgen_err *err)
{
	struct index_build *g = mem_zalloc(sizeof(*g));
	struct scan_index *f = scan_index_alloc(scan);

	g->found = f;
	g->scan = scan;
	g->ds = ds;
	g->errors = errors;
	int r = scan_cache_store_open(&g->kept, keeps, ds, err);
	if (r == 0)
		r = look_into_all(g, err);
	if (r == 0)
		r = map_words(f, err);
	if (r == 0) {
		settle_words(g);
		r = drop_empty(f, scan, g, err);
	}
	scan_cache_store_free(g->kept);
	mem_free(g);
	if (r) {
		scan_index_free(f);
		return r;
	}
	*out = f;
	return 0;
}

void scan_index_free(struct scan_index *f)
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

uint64_t scan_index_read_bytes(const struct scan_index *f)
{
	return f->read_bytes;
}

uint64_t scan_index_packed_max(const struct scan_index *f)
{
	return f->packed_max;
}

double scan_index_seconds(const struct scan_index *f)
{
	return f->seconds;
}

uint64_t scan_index_cached_files(const struct scan_index *f)
{
	return f->kept_files;
}

uint64_t scan_index_first_sample(const struct scan_index *f, uint64_t file)
{
	return f->entries[file].first_sample;
}

uint64_t scan_index_sample_bytes(const struct scan_index *f, uint64_t file)
{
	return f->entries[file].sample_bytes;
}

/* The last file whose first sample or extent is at most `at`. */
static uint64_t search(const struct scan_index *f, uint64_t at,
		       uint64_t (*first)(const struct scan_index *f, uint64_t file))
{
	return BISECT(file, 1, f->files, first(f, file) > at) - 1;
}

uint64_t scan_index_file_of(const struct scan_index *f, uint64_t sample)
{
	return f->each ? sample / f->each : search(f, sample, scan_index_first_sample);
}

void scan_index_count_extents(struct scan_index *f, unsigned fact)
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

uint64_t scan_index_first_extent(const struct scan_index *f, uint64_t file)
{
	return f->entries[file].facts[f->extents_fact];
}

uint64_t scan_index_file_of_extent(const struct scan_index *f, uint64_t extent)
{
	return search(f, extent, scan_index_first_extent);
}

uint64_t scan_index_equal_samples(const struct scan_index *f)
{
	return f->each;
}

uint64_t scan_index_max_samples(const struct scan_index *f)
{
	return f->most;
}

void scan_index_shape(const struct scan_index *f, uint64_t file, struct file_shape *shape)
{
	const struct index_entry *e = &f->entries[file];
	const char *bytes = f->maps[e->words >> WORDS_OFF_BITS].bytes;

	shape->samples = e[1].first_sample - e->first_sample;
	shape->facts = e->facts;
	/* The cast is aligned: words have eight bytes, and offsets are multiples of eight. */
	shape->words = bytes ? (const void *)(bytes + (e->words & WORDS_OFF_MASK)) : NULL;
}
