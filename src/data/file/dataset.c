/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.c - name, size and place of every sample, computed from its index. */
#include "data/file/file_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "data/scan/scan.h"

static unsigned digits(uint64_t v)
{
	unsigned n = 1;

	while (v >= 10) {
		v /= 10;
		n++;
	}
	return n;
}

/* The path becomes its twin's. */
static int turn_to_twin(const struct dataset *ds, char *path, size_t size)
{
	struct namepair pair;
	char first[PATH_MAX];

	if (!namepair_parse(&pair, ds->options.scan_pair))
		return -EINVAL;
	snprintf(first, sizeof(first), "%s", path);
	return namepair_twin(&pair, first, path, size);
}

static int turn_to_label(const struct dataset *ds, uint64_t file, char *path, size_t size)
{
	char first[PATH_MAX];

	snprintf(first, sizeof(first), "%s", path);
	return labels_path(ds->labels, file, first, path, size);
}

/* The index has a name of its own, which the format knows. */
static int turn_to_index(const struct dataset *ds, char *path, size_t size)
{
	char file[PATH_MAX];

	snprintf(file, sizeof(file), "%s", path);
	return ds->format->named_index(file, path, size) ? (int)strlen(path) : -ENAMETOOLONG;
}

static int path_of_scan(const struct dataset *ds, uint64_t file, char *out, size_t size)
{
	int n = snprintf(out, size, "%s/", ds->directory);
	int r;

	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	r = scan_name(ds->scan, dataset_file_of(ds, file), out + n, size - (size_t)n);
	if (r < 0 || file < ds->files)
		return r < 0 ? r : n + r;
	if (ds->labels)
		return turn_to_label(ds, dataset_file_of(ds, file), out, size);
	if (ds->options.scan_pair)
		return turn_to_twin(ds, out, size);
	if (ds->has_megatron)
		return turn_to_index(ds, out, size);
	n += r;
	r = snprintf(out + n, size - (size_t)n, "%s", ds->format->parts[file / ds->files].beside);
	return (size_t)r < size - (size_t)n ? n + r : -ENAMETOOLONG;
}

uint64_t dataset_all_files(const struct dataset *ds)
{
	return ds->files * ds->parts;
}

uint64_t dataset_there(const struct dataset *ds)
{
	uint64_t absent = 0;

	if (ds->labels)
		absent = ds->files - labels_count(ds->labels, ds->files);
	return dataset_all_files(ds) - absent;
}

unsigned dataset_sample_parts(const struct dataset *ds)
{
	return ds->options.scan_pair || ds->labels ? ds->parts : 1;
}

bool dataset_has_file(const struct dataset *ds, uint64_t file)
{
	return !ds->labels || file < ds->files ||
	       labels_bytes(ds->labels, dataset_file_of(ds, file)) > 0;
}

unsigned dataset_parts_of(const struct dataset *ds, uint64_t file)
{
	unsigned parts = dataset_sample_parts(ds);

	return ds->labels && !dataset_has_file(ds, ds->files + file) ? parts - 1 : parts;
}

uint64_t dataset_file_of(const struct dataset *ds, uint64_t file)
{
	file %= ds->files;
	return ds->distinct_files ? file % ds->distinct_files : file;
}

uint64_t dataset_samples(const struct dataset *ds)
{
	return ds->uneven_samples ? ds->uneven_samples : ds->files * ds->samples_per_file;
}

uint64_t dataset_each(const struct dataset *ds)
{
	return ds->found ? found_each(ds->found) : ds->samples_per_file;
}

uint64_t dataset_extents(const struct dataset *ds)
{
	return ds->extents_differ ? dataset_first_extent(ds, ds->files)
				  : dataset_samples(ds) / ds->extent_samples;
}

uint64_t dataset_packed_most(const struct dataset *ds)
{
	return ds->found ? found_packed_most(ds->found) : 0;
}

uint64_t dataset_most(const struct dataset *ds)
{
	return ds->found ? found_most(ds->found) : ds->samples_per_file;
}

uint64_t dataset_first_extent(const struct dataset *ds, uint64_t file)
{
	uint64_t samples =
		ds->found ? found_first_sample(ds->found, file) : file * ds->samples_per_file;

	return ds->extents_differ ? found_first_extent(ds->found, file)
				  : samples / ds->extent_samples;
}

static void extent_of_its_own(const struct dataset *ds, uint64_t id, struct extent *x)
{
	const struct found *f = ds->found;
	struct file_shape shape = { 0 };
	uint64_t samples;

	x->id = id;
	if (ds->distinct_files)
		id %= found_first_extent(f, ds->distinct_files);
	x->file = found_file_of_extent(f, id);
	found_shape(f, x->file, &shape);
	ds->format->found_extent(&shape, id - found_first_extent(f, x->file), &x->first_sample,
				 &samples);
	x->samples = (uint32_t)samples;
}

static void extent_of_found(const struct dataset *ds, uint64_t id, struct extent *x)
{
	const struct found *f = ds->found;
	uint64_t sample = id * ds->extent_samples;

	if (ds->distinct_files)
		sample %= found_first_sample(f, ds->distinct_files);
	x->id = id;
	x->file = found_file_of(f, sample);
	x->first_sample = sample - found_first_sample(f, x->file);
	x->samples = (uint32_t)ds->extent_samples;
}

void dataset_extent(const struct dataset *ds, uint64_t id, struct extent *x)
{
	if (ds->extents_differ) {
		extent_of_its_own(ds, id, x);
		return;
	}
	if (ds->found) {
		extent_of_found(ds, id, x);
		return;
	}

	uint64_t per_file = ds->samples_per_file / ds->extent_samples;

	x->id = id;
	x->file = id / per_file;
	x->first_sample = id % per_file * ds->extent_samples;
	x->samples = (uint32_t)ds->extent_samples;
}

int dataset_folder(const struct dataset *ds, unsigned part, char *out, size_t size)
{
	const char *folder = ds->format->parts[part].folder;
	int n = snprintf(out, size, "%s%s%s/%s", ds->directory, folder ? "/" : "",
			 folder ? folder : "", ds->split);

	return n > 0 && (size_t)n < size ? n : -ENAMETOOLONG;
}

int dataset_path(const struct dataset *ds, uint64_t file, char *out, size_t size)
{
	unsigned part = (unsigned)(file / ds->files);
	const char *suffix = ds->format->parts[part].suffix;
	char sub[24] = "";
	int n, name;

	if (ds->scan)
		return path_of_scan(ds, file, out, size);
	n = dataset_folder(ds, part, out, size);
	if (n < 0)
		return n;
	file = dataset_file_of(ds, file);
	if (ds->subfolders > 1)
		snprintf(sub, sizeof(sub), "/%0*" PRIu64, (int)digits(ds->subfolders - 1),
			 file % ds->subfolders);
	name = snprintf(out + n, size - (size_t)n, "%s/img_%0*" PRIu64 "_of_%" PRIu64 ".%s", sub,
			(int)digits(ds->files_named), file, ds->files_named,
			suffix ? suffix : ds->format->name);
	return name > 0 && (size_t)name < size - (size_t)n ? n + name : -ENAMETOOLONG;
}

uint64_t dataset_sample_bytes(const struct dataset *ds, uint64_t file)
{
	return ds->format->read_bytes ? ds->format->read_bytes(ds) : dataset_row_bytes(ds, file);
}

uint64_t dataset_extent_bytes(const struct dataset *ds, const struct extent *x)
{
	struct file_shape shape;
	uint64_t off, len, bytes = 0;

	if (!ds->found && !ds->labels)
		return x->samples * dataset_sample_bytes(ds, x->file);
	for (unsigned part = 0; part < dataset_sample_parts(ds); part++) {
		format_shape(ds, part * ds->files + x->file, &shape);
		format_sample_range(ds->format, &shape, x->first_sample, x->samples, &off, &len);
		bytes += len;
	}
	return bytes;
}

uint64_t dataset_row_bytes(const struct dataset *ds, uint64_t file)
{
	struct file_shape shape;

	format_shape(ds, file, &shape);
	return format_sample_bytes(&shape);
}

uint64_t dataset_file_bytes(const struct dataset *ds, uint64_t file)
{
	struct file_shape shape;

	if (ds->scan && file < ds->files)
		return scan_size(ds->scan, dataset_file_of(ds, file));
	format_shape(ds, file, &shape);
	return format_file_bytes(ds->format, &shape);
}

uint64_t dataset_content(const struct dataset *ds, uint64_t file)
{
	return ds->first_content + file / ds->files * ds->files_named + file % ds->files;
}

/* ---- is a file, or a folder, that was found one of a dataset? ---- */

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
