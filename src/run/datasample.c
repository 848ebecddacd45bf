/* SPDX-License-Identifier: Apache-2.0 */
/* datasample.c - see datasample.h. */
#include "run/datasample.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/filekind.h"
#include "io/engines.h"
#include "run/firstbytes.h"

struct sampling {
	const struct dataset *dataset;
	bool is_complete;
	uint64_t files;             /* the first ones, of each part */
	_Atomic uint64_t first_bad; /* of those that a crew has met */
};

/* Parts are numbered behind one another. */
static uint64_t index_of(const struct sampling *s, uint64_t i)
{
	return i / s->files * s->dataset->files + i % s->files;
}

static uint64_t count_of(const struct sampling *s)
{
	return s->files * s->dataset->parts;
}

static int check_one(const struct sampling *s, uint64_t i, struct mlgen_err *err)
{
	const struct dataset *ds = s->dataset;
	uint64_t index = index_of(s, i), bytes = dataset_file_bytes(ds, index);
	char path[PATH_MAX];
	struct stat st;

	if (!dataset_has_file(ds, index))
		return 0;
	if (dataset_path(ds, index, path, sizeof(path)) < 0)
		return datafile_too_long(ds, err);
	if (stat(path, &st) != 0)
		return s->is_complete ? firstbytes_unreadable(path, MLGEN_OPEN, -errno, err) : 0;
	if (!S_ISREG(st.st_mode))
		return filekind_check(path, FILEKIND_OF_DATASET, err);
	if (!s->is_complete)
		return 0;
	if ((uint64_t)st.st_size != bytes)
		return firstbytes_wrong_size(path, (uint64_t)st.st_size, bytes, err);
	return faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) == 0
		       ? 0
		       : firstbytes_unreadable(path, MLGEN_OPEN, -errno, err);
}

static int ask_for(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	struct sampling *x = w->owner;
	uint64_t first = atomic_load(&x->first_bad);

	(void)err;
	if (crew_stopped(w))
		return CREW_STOPPED;
	if (index > first || check_one(x, index, NULL) == 0)
		return 0;
	while (index < first && !atomic_compare_exchange_weak(&x->first_bad, &first, index))
		;
	return 0;
}

static int check_all(struct sampling *x, const struct crew_config *crew, struct mlgen_err *err)
{
	const struct crew_task task = { ask_for, x, count_of(x) };
	struct crew_config plain = *crew;
	int r;

	/* What an engine does is for the run to see. */
	plain.engine = engines_find("psync");
	plain.engine_opts = NULL;
	r = crew_run(&plain, &task, err);
	return r || x->first_bad == UINT64_MAX ? r : check_one(x, x->first_bad, err);
}

static int check_set(const struct datasample *s, unsigned set, struct mlgen_err *err)
{
	struct sampling x = { .dataset = s->files->sets[set],
			      .is_complete = s->is_complete[set],
			      .first_bad = UINT64_MAX };
	int r = 0;

	if (!x.dataset || !s->files->ours[set] || (s->forgiving && x.is_complete))
		return 0;
	x.files = x.dataset->files;
	if (set == 0 && s->first_files && s->first_files < x.files)
		x.files = s->first_files;
	uint64_t all = count_of(&x);
	uint64_t n = all < DATASAMPLE_FILES ? all : DATASAMPLE_FILES;
	double each = (double)all / (double)n;

	if (s->all && all > n)
		return check_all(&x, s->crew, err);
	for (uint64_t i = 0; i < n && r == 0; i++)
		r = check_one(&x, n == all ? i : (uint64_t)((double)i * each), err);
	return r;
}

int datasample_check(const struct datasample *s, struct mlgen_err *err)
{
	int r = check_set(s, 0, err);

	return r ? r : check_set(s, 1, err);
}
