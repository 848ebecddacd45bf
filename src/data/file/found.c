/* SPDX-License-Identifier: Apache-2.0 */
/* found.c - what a scan found inside the files of a dataset: how many samples each has, and
 * where. */
#include "data/file/file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/signals.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file_internal.h"

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

/* From how many each has to how many are before it; those without go. */
void found_sum_up(struct found *f)
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

int found_map_words(struct found *f, struct mlgen_err *err)
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
