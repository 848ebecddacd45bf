/* SPDX-License-Identifier: Apache-2.0 */
/* dataremove.c - remove a dataset that its manifest describes. */
#include "run/dataremove.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "data/manifest.h"
#include "run/datafile.h"

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

static int remove_file(struct crew_worker *w, uint64_t index,
		       struct mlgen_err *err)
{
	return datafile_remove(w->owner, w, index, err);
}

/* What holds files of others stays, hence no look at the results. */
static void remove_folders(const struct datafiles *d)
{
	char path[PATH_MAX];

	for (uint64_t i = 0; i < datafiles_folders(d); i++)
		if (datafiles_folder(d, i, path, NULL) == 0)
			rmdir(path);
}

static int remove_manifest(const char *directory, struct mlgen_err *err)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", directory, MANIFEST_NAME);
	return unlink(path) == 0
		       ? 0
		       : datafile_failed(path, MLGEN_UNLINK, -errno, err);
}

int dataremove_bytes(const char *directory, uint64_t *bytes,
		     struct mlgen_err *err)
{
	struct old o = { 0 };
	int r = open_old(&o, directory, err);

	*bytes = 0;
	if (r)
		return r;
	for (unsigned i = 0; i < 2 && r == 0 && o.files.sets[i]; i++) {
		uint64_t files, of_set;
		bool estimate;

		r = manifest_present(o.files.sets[i], &files, &of_set,
				     &estimate, err);
		*bytes += of_set;
	}
	close_old(&o);
	return r;
}

int dataremove_all(const struct crew_config *crew, const char *directory,
		   bool *started, struct mlgen_err *err)
{
	struct old o = { 0 };
	struct crew_task task = { remove_file, &o.files, 0 };
	int r = open_old(&o, directory, err);

	if (r)
		return r;
	*started = true;
	task.count = datafiles_count(&o.files);
	r = manifest_write(&o.train, false, err);
	if (r == 0)
		r = crew_run(crew, &task, err);
	if (r == 0) {
		remove_folders(&o.files);
		r = remove_manifest(directory, err);
	}
	close_old(&o);
	return r;
}
