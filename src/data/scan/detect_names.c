/* SPDX-License-Identifier: Apache-2.0 */
/* detect_names.c - what the name of a file says of it. */
#include "data/scan/scan.h"

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

/* Is there such a folder above the file? */
static bool is_below(const char *path, const char *folder)
{
	const char *at = strstr(path, folder);

	return at && (at == path || at[-1] == '/');
}

static bool ends_one_of(const char *name, const char *const *suffixes)
{
	for (; *suffixes; suffixes++)
		if (detect_names_ends(name, *suffixes))
			return true;
	return false;
}

/*
 * Spark, Dask and pyarrow pass over names that begin with '_' or '.': footers of other files, which
 * hold no row, and parts of a job that is not committed. Delta Lake keeps checkpoints of its log as
 * Parquet files.
 */
static bool is_parquet_aside(const char *path, const char *name)
{
	static const char *const suffixes[] = { ".parquet", ".pq", NULL };

	if (!ends_one_of(name, suffixes))
		return false;
	return *name == '_' || *name == '.' || is_below(path, "_delta_log/") ||
	       is_below(path, "_temporary/");
}

static bool is_litter(const char *path, const char *name)
{
	static const char *const names[] = {
		".DS_Store", "Thumbs.db",  "desktop.ini",      "_SUCCESS",  "MD5SUMS",
		"SHA1SUMS",  "SHA256SUMS", "SHA512SUMS",       "CHECKSUMS", "LICENSE",
		"README",    "_metadata",  "_common_metadata",
	};
	static const char *const suffixes[] = {
		".md5", ".sha1",  ".sha256", ".sha512", ".crc",  ".crc32",
		".idx", ".index", ".lock",   ".tmp",    ".part", NULL,
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	return strncmp(name, "._", 2) == 0 || ends_one_of(name, suffixes) ||
	       is_parquet_aside(path, name);
}

enum detect_name detect_name(const char *path)
{
	static const char *const labels[] = {
		".txt", ".json", ".jsonl", ".xml", ".yaml", ".yml", ".toml",
		".md",  ".html", ".log",   ".tsv", ".py",   ".sh",  NULL,
	};
	const char *name = base_name(path);

	if (is_litter(path, name))
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
