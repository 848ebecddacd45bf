/* SPDX-License-Identifier: Apache-2.0 */
/* dataremove.c - remove a dataset that its manifest describes. */
#include "run/dataremove.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "data/dataset/dataset.h"
#include "run/datafile.h"
#include "run/datafolder.h"

struct old {
	struct dataset train, eval;
	struct datafiles files;
};

static void close_old(struct old *o)
{
	dataset_fini(&o->eval);
	dataset_fini(&o->train);
}

static int open_old(struct old *o, const char *directory, struct mlgen_err *err)
{
	int r = manifest_describe(directory, &o->train, err);

	if (r)
		return r;
	o->files.sets[0] = &o->train;
	if (o->train.eval_files == 0)
		return 0;
	r = dataset_init_split(&o->eval, &o->train, o->train.eval_files, err);
	o->files.sets[1] = &o->eval;
	if (r)
		dataset_fini(&o->train);
	return r;
}

static int remove_file(struct crew_worker *w, uint64_t index, struct mlgen_err *err)
{
	return datafile_remove(w->owner, w, index, err);
}

static int remove_manifest(const struct datadir *dir, struct mlgen_err *err)
{
	char path[PATH_MAX];

	if (unlinkat(dir->fd, MANIFEST_NAME, 0) == 0)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", dir->path, MANIFEST_NAME);
	return datafile_failed(path, MLGEN_UNLINK, -errno, err);
}

int dataremove_bytes(const char *directory, uint64_t *bytes, struct mlgen_err *err)
{
	struct old o = { 0 };
	int r = open_old(&o, directory, err);

	*bytes = 0;
	if (r)
		return r;
	for (unsigned i = 0; i < 2 && r == 0 && o.files.sets[i]; i++) {
		uint64_t files, of_set;
		bool estimate;

		r = manifest_present(o.files.sets[i], &files, &of_set, &estimate, err);
		*bytes += of_set;
	}
	close_old(&o);
	return r;
}

static int remove_all(const struct crew_config *crew, struct old *o, bool *started,
		      struct mlgen_err *err)
{
	const struct crew_task task = { remove_file, &o->files, datafiles_count(&o->files) };
	int r = datafolders_check(&o->files, true, err);

	if (r)
		return r;
	*started = true;
	r = manifest_write(&o->train, false, err);
	if (r == 0)
		r = crew_run(crew, &task, err);
	if (r)
		return r;
	datafolders_remove(&o->files);
	return remove_manifest(&o->files.dir, err);
}

int dataremove_all(const struct crew_config *crew, const struct datadir *dir, bool *started,
		   struct mlgen_err *err)
{
	struct old o = { .files.dir = *dir };
	int r = open_old(&o, dir->path, err);

	if (r)
		return r;
	r = remove_all(crew, &o, started, err);
	close_old(&o);
	return r;
}
