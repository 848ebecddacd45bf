/* SPDX-License-Identifier: Apache-2.0 */
/* found_keep.c - what was found is put in order, and kept for the next scan. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/rng.h"
#include "base/signals.h"
#include "data/file/file.h"
#include "data/file/file_internal.h"
#include "data/scan/scan.h"

bool found_has_beside(const struct looking *g)
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
uint64_t found_beside(const struct dataset *ds, const char *path)
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

void found_settle(struct looking *g)
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
