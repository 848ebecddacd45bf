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

static int path_of_scan(const struct dataset *ds, uint64_t file, char *out, size_t size)
{
	int n = snprintf(out, size, "%s/", ds->directory);
	char first[PATH_MAX];

	if (n < 0 || (size_t)n >= size)
		return -ENAMETOOLONG;
	int r = scan_name(ds->scan, dataset_distinct_file(ds, file), out + n, size - (size_t)n);
	if (r < 0 || file < ds->files)
		return r < 0 ? r : n + r;
	/* Otherwise the path is that of the file of part 0. */
	snprintf(first, sizeof(first), "%s", out);
	if (ds->labels)
		return labels_path(ds->labels, dataset_distinct_file(ds, file), first, out, size);
	if (ds->options.scan_pair) {
		struct namepair pair;

		if (!namepair_parse(&pair, ds->options.scan_pair))
			return -EINVAL;
		return namepair_twin(&pair, first, out, size);
	}
	if (ds->has_megatron)
		return ds->format->index_path(first, out, size) ? (int)strlen(out) : -ENAMETOOLONG;
	n += r;
	r = snprintf(out + n, size - (size_t)n, "%s",
		     ds->format->parts[file / ds->files].sidecar_suffix);
	return (size_t)r < size - (size_t)n ? n + r : -ENAMETOOLONG;
}

uint64_t dataset_all_files(const struct dataset *ds)
{
	return ds->files * ds->parts;
}

uint64_t dataset_existing_files(const struct dataset *ds)
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
	       labels_bytes(ds->labels, dataset_distinct_file(ds, file)) > 0;
}

unsigned dataset_parts_of(const struct dataset *ds, uint64_t file)
{
	unsigned parts = dataset_sample_parts(ds);

	return ds->labels && !dataset_has_file(ds, ds->files + file) ? parts - 1 : parts;
}

uint64_t dataset_distinct_file(const struct dataset *ds, uint64_t file)
{
	file %= ds->files;
	return ds->distinct_files ? file % ds->distinct_files : file;
}

uint64_t dataset_samples(const struct dataset *ds)
{
	return ds->uneven_samples ? ds->uneven_samples : ds->files * ds->samples_per_file;
}

uint64_t dataset_equal_samples(const struct dataset *ds)
{
	return ds->found ? scan_index_equal_samples(ds->found) : ds->samples_per_file;
}

uint64_t dataset_extents(const struct dataset *ds)
{
	return ds->extents_differ ? dataset_first_extent(ds, ds->files)
				  : dataset_samples(ds) / ds->extent_samples;
}

uint64_t dataset_packed_max(const struct dataset *ds)
{
	return ds->found ? scan_index_packed_max(ds->found) : 0;
}

uint64_t dataset_max_samples(const struct dataset *ds)
{
	return ds->found ? scan_index_max_samples(ds->found) : ds->samples_per_file;
}

uint64_t dataset_first_extent(const struct dataset *ds, uint64_t file)
{
	uint64_t samples =
		ds->found ? scan_index_first_sample(ds->found, file) : file * ds->samples_per_file;

	return ds->extents_differ ? scan_index_first_extent(ds->found, file)
				  : samples / ds->extent_samples;
}

void dataset_extent(const struct dataset *ds, uint64_t id, struct extent *x)
{
	const struct scan_index *f = ds->found;
	uint64_t samples = ds->extent_samples, sample = id * samples;

	x->id = id;
	if (ds->extents_differ) {
		struct file_shape shape = { 0 };

		if (ds->distinct_files)
			id %= scan_index_first_extent(f, ds->distinct_files);
		x->file = scan_index_file_of_extent(f, id);
		scan_index_shape(f, x->file, &shape);
		ds->format->found_extent(&shape, id - scan_index_first_extent(f, x->file),
					 &x->first_sample, &samples);
	} else if (f) {
		if (ds->distinct_files)
			sample %= scan_index_first_sample(f, ds->distinct_files);
		x->file = scan_index_file_of(f, sample);
		x->first_sample = sample - scan_index_first_sample(f, x->file);
	} else {
		x->file = sample / ds->samples_per_file;
		x->first_sample = sample % ds->samples_per_file;
	}
	x->samples = (uint32_t)samples;
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

	if (ds->scan)
		return path_of_scan(ds, file, out, size);
	int n = dataset_folder(ds, part, out, size);
	if (n < 0)
		return n;
	file = dataset_distinct_file(ds, file);
	if (ds->subfolders > 1)
		snprintf(sub, sizeof(sub), "/%0*" PRIu64, (int)digits(ds->subfolders - 1),
			 file % ds->subfolders);
	int name = snprintf(out + n, size - (size_t)n, "%s/img_%0*" PRIu64 "_of_%" PRIu64 ".%s",
			    sub, (int)digits(ds->files_named), file, ds->files_named,
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
		return scan_size(ds->scan, dataset_distinct_file(ds, file));
	format_shape(ds, file, &shape);
	return format_file_bytes(ds->format, &shape);
}

uint64_t dataset_content(const struct dataset *ds, uint64_t file)
{
	return ds->first_content + file / ds->files * ds->files_named + file % ds->files;
}

/* ---- paths that belong to a dataset ---- */

/* Parse a number; *end points after it. */
static bool parse_number(const char *s, uint64_t *out, const char **end)
{
	char *after;

	if (*s < '0' || *s > '9')
		return false;
	errno = 0;
	*out = strtoull(s, &after, 10);
	*end = after;
	return errno == 0;
}

bool dataset_find(const struct dataset *ds, const char *path, uint64_t *file)
{
	const char *name = strrchr(path, '/');
	const char *number = name ? strchr(name, '_') : NULL;
	char other[PATH_MAX];
	uint64_t index;

	/* A name has the file's number after its first '_'. Only the files with that number, one in
	 * each part, can have this path. */
	if (!number || !parse_number(number + 1, &index, &number) || index >= ds->files)
		return false;
	for (unsigned part = 0; part < ds->parts; part++) {
		*file = part * ds->files + index;
		if (dataset_path(ds, *file, other, sizeof(other)) > 0 && strcmp(path, other) == 0)
			return true;
	}
	return false;
}

/* True if `path` is this folder or lies above it. */
static bool is_folder_or_above(const char *path, const char *folder)
{
	size_t len = strlen(path);

	return strncmp(path, folder, len) == 0 && (folder[len] == '/' || folder[len] == '\0');
}

/* True if `path` is "FOLDER/07", the subfolder of the file with this number. */
static bool is_subfolder(const struct dataset *ds, unsigned part, const char *path,
			 size_t folder_len)
{
	char other[PATH_MAX];
	const char *end;
	uint64_t index;

	if (path[folder_len] != '/' || !parse_number(path + folder_len + 1, &index, &end) || *end ||
	    index >= ds->subfolders || index >= ds->files ||
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

		if (n > 0 &&
		    (is_folder_or_above(path, folder) || (strncmp(path, folder, (size_t)n) == 0 &&
							  is_subfolder(ds, part, path, (size_t)n))))
			return true;
	}
	return false;
}
