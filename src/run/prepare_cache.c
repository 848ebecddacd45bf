/* SPDX-License-Identifier: Apache-2.0 */
/* prepare_cache.c - what the page cache has of a dataset that is complete. */
#include "run/prepare_cache.h"

#include <limits.h>

#include "base/filekind.h"
#include "io/pagecache.h"
#include "run/residency.h"

/* A start that writes nothing is not held up by looking at the page cache. */
#define RESIDENT_NS UINT64_C(20000000)

static int drop_file(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	const struct prepare_cache *c = w->owner;
	uint64_t in_set = index;
	unsigned set = datafiles_set(c->files, &in_set);
	int r;

	if (!dataset_has_file(c->files->sets[set], in_set))
		return 0;
	r = datafile_path(c->files, index, w->path, err);

	/* What fails costs only memory, unless it is no file. */
	if (r == 0 && pagecache_drop(w->path) < 0)
		r = filekind_check(w->path, "", err);
	return r;
}

/* Trusted or not: what could not be looked at may be no file. */
static int sample_set(struct residency *r, const struct prepare_cache *c, const struct dataset *ds,
		      uint64_t end_ns, struct mlgen_err *err)
{
	char path[PATH_MAX];

	residency_sample(r, ds, c->clock, end_ns);
	if (r->failed_file == UINT64_MAX ||
	    dataset_path(ds, r->failed_file, path, sizeof(path)) <= 0)
		return 0;
	return filekind_check(path, ds->scan ? "" : FILEKIND_OF_DATASET, err);
}

static int sample_cache(const struct prepare_cache *c, uint64_t end_ns, struct residency *found,
			struct mlgen_err *err)
{
	struct residency eval = { .is_nothing = true };
	int r = sample_set(found, c, c->files->sets[0], end_ns, err);

	if (r == 0 && c->files->sets[1])
		r = sample_set(&eval, c, c->files->sets[1], end_ns, err);
	found->is_nothing &= eval.is_nothing;
	return r;
}

int prepare_cache_look(struct prepare_cache *c, struct prepare_result *result,
		       struct mlgen_err *err)
{
	const struct crew_task task = { drop_file, c, datafiles_count(c->files) };
	uint64_t end_ns = c->leaves_none ? CLOCK_NEVER : clock_now(c->clock) + RESIDENT_NS;
	struct residency found;
	int r = sample_cache(c, end_ns, &found, err);

	if (r == 0 && c->leaves_none && !found.is_nothing) {
		r = crew_run(c->crew, &task, err);
		if (r == 0)
			r = sample_cache(c, end_ns, &found, err);
	}
	result->resident_percent = found.percent;
	result->resident_files = found.files;
	result->is_nothing_resident = found.is_nothing;
	return r;
}
