/* SPDX-License-Identifier: Apache-2.0 */
/* names.c - file names: stored in a temporary file, paired, and classified by suffix. */
#include "data/scan/scan_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"

/* ---- name file ---- */

#define BUFFER_BYTES (64u << 10)

int namefile_failed(const struct namefile *f, int code, struct mlgen_err *err)
{
	return mlgen_fail(err, code,
			  "%s: dataset=scan keeps the names of files and the places of their "
			  "samples in temporary files there: %s; use another folder with TMPDIR=",
			  f->folder, strerror(-code));
}

int namefile_open(struct namefile *f, const char *beside, struct mlgen_err *err)
{
	*f = (struct namefile){ .folder = unnamed_folder(beside) };
	f->fd = unnamed_open(f->folder);
	if (f->fd < 0)
		return namefile_failed(f, f->fd, err);
	f->buffer = mem_zalloc(BUFFER_BYTES);
	return 0;
}

void namefile_end(struct namefile *f)
{
	mem_free(f->buffer);
	f->buffer = NULL;
}

void namefile_close(struct namefile *f)
{
	namefile_end(f);
	if (f->fd >= 0)
		close(f->fd);
	f->fd = -1;
}

int namefile_flush(struct namefile *f, struct mlgen_err *err)
{
	int rc = writeall_at(f->fd, f->buffer, f->buffered, f->end - f->buffered);

	if (rc)
		return namefile_failed(f, rc, err);
	f->buffered = 0;
	return 0;
}

int namefile_add(struct namefile *f, const char *s, size_t n, struct mlgen_err *err)
{
	int r = f->buffered + n > BUFFER_BYTES ? namefile_flush(f, err) : 0;

	if (r)
		return r;
	memcpy(f->buffer + f->buffered, s, n);
	f->buffered += n;
	f->end += n;
	return 0;
}

void namefile_cut(struct namefile *f, uint64_t end)
{
	uint64_t flushed = f->end - f->buffered;

	f->buffered = end > flushed ? (size_t)(end - flushed) : 0;
	f->end = end;
}

int namefile_read(const struct namefile *f, uint64_t at, size_t n, char *out, size_t size)
{
	ssize_t got;

	if (n >= size)
		return -ENAMETOOLONG;
	do
		got = pread(f->fd, out, n, (off_t)at);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	if ((size_t)got != n)
		return -EIO;
	out[n] = '\0';
	return (int)n;
}

int namefile_map(const struct namefile *f, uint64_t from, struct namefile_map *m,
		 struct mlgen_err *err)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	m->start = from / page * page;
	m->length = (size_t)(f->end - m->start);
	m->bytes = mmap(NULL, m->length, PROT_READ, MAP_SHARED, f->fd, (off_t)m->start);
	if (m->bytes != MAP_FAILED)
		return 0;
	m->bytes = NULL;
	return namefile_failed(f, -errno, err);
}

void namefile_unmap(struct namefile_map *m)
{
	munmap(m->bytes, m->length);
}

/* ---- name pairs FROM:TO ---- */

bool namepair_is_none(const char *text)
{
	return strcmp(text, "none") == 0;
}

bool namepair_parse(struct namepair *p, const char *text)
{
	const char *colon = strchr(text, ':');

	if (!colon || colon == text || !colon[1] || strchr(colon + 1, ':'))
		return false;
	p->from = text;
	p->from_bytes = (size_t)(colon - text);
	p->to = colon + 1;
	return strlen(p->to) != p->from_bytes || memcmp(p->from, p->to, p->from_bytes) != 0;
}

/* Find the last occurrence of a text in the path; NULL if there is none. */
static const char *last_of(const char *path, const char *what, size_t bytes)
{
	size_t n = strlen(path);

	for (; n >= bytes; n--)
		if (memcmp(path + n - bytes, what, bytes) == 0)
			return path + n - bytes;
	return NULL;
}

enum namepair_role namepair_role(const struct namepair *p, const char *path)
{
	size_t to_bytes = strlen(p->to);
	const char *from = last_of(path, p->from, p->from_bytes);
	const char *to = last_of(path, p->to, to_bytes);

	if (!from || !to)
		return from ? NAMEPAIR_FIRST : to ? NAMEPAIR_TWIN : NAMEPAIR_NEITHER;
	if (from + p->from_bytes == to + to_bytes)
		return p->from_bytes > to_bytes ? NAMEPAIR_FIRST : NAMEPAIR_TWIN;
	return from + p->from_bytes > to + to_bytes ? NAMEPAIR_FIRST : NAMEPAIR_TWIN;
}

int namepair_twin(const struct namepair *p, const char *path, char *out, size_t size)
{
	const char *from = last_of(path, p->from, p->from_bytes);
	int n;

	if (!from)
		return -EINVAL;
	n = snprintf(out, size, "%.*s%s%s", (int)(from - path), path, p->to, from + p->from_bytes);
	return n >= 0 && (size_t)n < size ? n : -ENAMETOOLONG;
}

/* ---- classification by name ---- */

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool ends_with(const char *name, const char *with)
{
	size_t n = strlen(name), m = strlen(with);

	return n > m && strcasecmp(name + n - m, with) == 0;
}

/* Is the file below a folder of this name? */
static bool is_below(const char *path, const char *folder)
{
	const char *at = strstr(path, folder);

	return at && (at == path || at[-1] == '/');
}

static bool ends_one_of(const char *name, const char *const *suffixes)
{
	for (; *suffixes; suffixes++)
		if (ends_with(name, *suffixes))
			return true;
	return false;
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
	static const char *const parquet[] = { ".parquet", ".pq", NULL };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcasecmp(name, names[i]) == 0)
			return true;
	if (strncmp(name, "._", 2) == 0 || ends_one_of(name, suffixes))
		return true;
	/* Spark, Dask and pyarrow ignore Parquet files whose names begin with '_' or '.': footers
	 * of other files, which hold no row, and parts of a job that is not committed. Delta Lake
	 * keeps checkpoints of its log as Parquet files. */
	return ends_one_of(name, parquet) &&
	       (*name == '_' || *name == '.' || is_below(path, "_delta_log/") ||
		is_below(path, "_temporary/"));
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
		if (ends_with(base_name(path), all[i].suffix))
			return all[i].format;
	return NULL;
}
