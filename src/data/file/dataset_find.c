/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_find.c - is a file, or a folder, that was found one of a dataset; see dataset.h. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "data/file/file.h"

/* A number, and what stands behind it. */
static bool dataset_find_number(const char *s, uint64_t *out, const char **end)
{
	char *behind;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoull(s, &behind, 10);
	*end = behind;
	return errno == 0;
}

static bool dataset_find_is_path(const struct dataset *ds, uint64_t file, const char *path)
{
	char other[PATH_MAX];

	return dataset_path(ds, file, other, sizeof(other)) > 0 && strcmp(path, other) == 0;
}

/* Its number stands behind the first '_' of its name: that one has this path, in one of the parts,
 * or none has. */
bool dataset_find(const struct dataset *ds, const char *path, uint64_t *file)
{
	const char *name = strrchr(path, '/');
	const char *number = name ? strchr(name, '_') : NULL;
	uint64_t index;

	if (!number || !dataset_find_number(number + 1, &index, &number) || index >= ds->files)
		return false;
	for (unsigned part = 0; part < ds->parts; part++) {
		*file = part * ds->files + index;
		if (dataset_find_is_path(ds, *file, path))
			return true;
	}
	return false;
}

/* Is `path` this folder, or one above it? */
static bool is_on_way(const char *path, const char *folder)
{
	size_t len = strlen(path);

	return strncmp(path, folder, len) == 0 && (folder[len] == '/' || folder[len] == '\0');
}

/* "folder/07": the one that the file of this number is in? */
static bool is_subfolder(const struct dataset *ds, unsigned part, const char *path,
			 size_t folder_len)
{
	char other[PATH_MAX];
	const char *end;
	uint64_t index;

	if (path[folder_len] != '/' || !dataset_find_number(path + folder_len + 1, &index, &end) ||
	    *end || index >= ds->subfolders || index >= ds->files ||
	    dataset_path(ds, part * ds->files + index, other, sizeof(other)) <= 0)
		return false;
	*strrchr(other, '/') = '\0';
	return strcmp(path, other) == 0;
}

bool dataset_has_folder(const struct dataset *ds, const char *path)
{
	char folder[PATH_MAX];

	if (strlen(path) <= strlen(ds->directory))
		return false;
	for (unsigned part = 0; part < ds->parts; part++) {
		int n = dataset_folder(ds, part, folder, sizeof(folder));

		if (n > 0 && (is_on_way(path, folder) || (strncmp(path, folder, (size_t)n) == 0 &&
							  is_subfolder(ds, part, path, (size_t)n))))
			return true;
	}
	return false;
}
