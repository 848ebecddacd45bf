/* SPDX-License-Identifier: Apache-2.0 */
/* datafolder.c - see datafolder.h. */
#include "run/datafolder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/below.h"
#include "data/file/file.h"

/* Of each part those of its files, the one above them and the part's own. */
static uint64_t subfolders(const struct dataset *ds)
{
	return ds->subfolders < ds->files ? ds->subfolders : ds->files;
}

static uint64_t folders(const struct dataset *ds)
{
	return ds ? ds->parts * (subfolders(ds) + 2) : 0;
}

/* The folder of a path, in place. */
static void cut_name(char path[PATH_MAX])
{
	*strrchr(path, '/') = '\0';
}

static int folder_of(const struct dataset *ds, uint64_t index, char path[PATH_MAX])
{
	uint64_t each = subfolders(ds) + 2;
	unsigned part = (unsigned)(index / each);
	int n;

	index %= each;
	if (index < subfolders(ds))
		n = dataset_path(ds, part * ds->files + index, path, PATH_MAX);
	else
		n = dataset_folder(ds, part, path, PATH_MAX);
	if (n > 0 &&
	    (index < subfolders(ds) || (index == each - 1 && ds->format->parts[part].folder)))
		cut_name(path);
	return n;
}

uint64_t datafolders_count(const struct datafiles *d)
{
	return folders(d->sets[0]) + folders(d->sets[1]);
}

int datafolder_path(const struct datafiles *d, uint64_t index, char path[PATH_MAX],
		    struct mlgen_err *err)
{
	uint64_t first = folders(d->sets[0]);
	const struct dataset *ds = d->sets[index >= first];
	int n = folder_of(ds, index < first ? index : index - first, path);

	return n > 0 ? 0 : datafile_too_long(ds, err);
}

static int datafolder_check(const struct datafiles *d, const char *path, bool removes,
			    struct mlgen_err *err)
{
	int fd = below_folder(d->dir.fd, datadir_below(&d->dir, path));
	int r = datadir_check_folder(fd, path, err);

	if (r == 0 && fd >= 0 && removes)
		r = datadir_check_owner(&d->dir, fd, path, err);
	if (fd >= 0)
		close(fd);
	return r;
}

/* The directory, and of each part the folder of its files. */
int datafolders_check(const struct datafiles *d, bool removes, struct mlgen_err *err)
{
	char path[PATH_MAX];
	int r = datafolder_check(d, d->dir.path, removes, err);

	for (unsigned set = 0; set < 2; set++) {
		const struct dataset *ds = d->sets[set];

		for (unsigned part = 0; ds && part < ds->parts && !r; part++)
			if (dataset_folder(ds, part, path, sizeof(path)) > 0)
				r = datafolder_check(d, path, removes, err);
	}
	return r;
}

int datafolder_sync(const struct datafiles *d, struct crew_worker *w, uint64_t index,
		    struct mlgen_err *err)
{
	int r = datafolder_path(d, index, w->path, err);

	/* One of a dataset that was trusted may have gone. */
	return r ? r : filemaker_sync_folder(w->path, -ENOENT, err);
}

static void remove_one(const struct datafiles *d, char path[PATH_MAX])
{
	char *name = strrchr(path, '/');
	int fd;

	if (!*datadir_below(&d->dir, path))
		return; /* the directory itself is the user's */
	*name++ = '\0';
	fd = below_folder(d->dir.fd, datadir_below(&d->dir, path));
	if (fd < 0)
		return;
	if (below_is_trusted(fd, d->dir.maker))
		unlinkat(fd, name, AT_REMOVEDIR);
	close(fd);
}

/* No look at the results: a folder that holds files of others stays. */
void datafolders_remove(const struct datafiles *d)
{
	char path[PATH_MAX];

	for (uint64_t i = 0; i < datafolders_count(d); i++)
		if (datafolder_path(d, i, path, NULL) == 0)
			remove_one(d, path);
}
