/* SPDX-License-Identifier: Apache-2.0 */
/* detect_names.c - see detect_names.h. */
#include "data/detect_names.h"

#include <string.h>
#include <strings.h>

#include "base/util.h"

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool detect_names_ends(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n > m && strcasecmp(name + n - m, with) == 0;
}

static bool ends_one_of(const char *name, const char *const *suffixes)
{
	for (; *suffixes; suffixes++)
		if (detect_names_ends(name, *suffixes))
			return true;
	return false;
}

static bool is_litter(const char *name)
{
	static const char *const names[] = {
		".DS_Store", "Thumbs.db", "desktop.ini", "_SUCCESS",
		"MD5SUMS",   "SHA1SUMS",  "SHA256SUMS",  "SHA512SUMS",
		"CHECKSUMS", "LICENSE",   "README",
	};
	static const char *const suffixes[] = {
		".md5", ".sha1",  ".sha256", ".sha512", ".crc",  ".crc32",
		".idx", ".index", ".lock",   ".tmp",    ".part", NULL,
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return strncmp(name, "._", 2) == 0 || ends_one_of(name, suffixes);
}

enum detect_name detect_name(const char *path)
{
	static const char *const labels[] = {
		".txt", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".toml",
		".md",  ".html", ".log",   ".tsv", ".py",   ".sh",  NULL,
	};
	const char *name = base_name(path);

	if (is_litter(name))
		return NAME_LITTER;
	return ends_one_of(name, labels) ? NAME_LABEL : NAME_DATA;
}

const char *detect_suffix(const char *path)
{
	const char *name = base_name(path), *dot = strrchr(name, '.');

	return dot && dot > name ? dot : "";
}

const char *detect_by_suffix(const char *path)
{
	static const struct {
		const char *suffix, *format;
	} all[] = {
		{ ".npz", "npz" },
		{ ".npy", "npy" },
		{ ".jpg", "jpeg" },
		{ ".jpeg", "jpeg" },
		{ ".jpe", "jpeg" },
		{ ".jfif", "jpeg" },
		{ ".png", "png" },
		{ ".h5", "hdf5" },
		{ ".hdf5", "hdf5" },
		{ ".hdf", "hdf5" },
		{ ".parquet", "parquet" },
		{ ".pq", "parquet" },
		{ ".tar", "tar" },
		{ ".tfrecord", "tfrecord" },
		{ ".tfrecords", "tfrecord" },
		{ ".tfrec", "tfrecord" },
		{ ".tfrecord.gz", "tfrecord" },
		{ ".tfrecords.gz", "tfrecord" },
		{ ".csv", "csv" },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (detect_names_ends(base_name(path), all[i].suffix))
			return all[i].format;
	return NULL;
}
