/* SPDX-License-Identifier: Apache-2.0 */
/* scan_cache_rig.h - a dataset whose files are looked into, and the cache of what they have. */
#pragma once

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/file/file_internal.h"
#include "data/scan/scan.h"
#include "temp.h"

#define FILES 100u

static char directory[TEMP_BYTES], data[TEMP_BYTES + 8], cache[TEMP_BYTES + 16];

static struct mlgen_err err;

/* Each byte is a sample, and its word says which: its place times its value. '!' is damaged, '-'
 * ends the file. */
static inline int byte_look(struct look *l)
{
	for (uint64_t i = 0; i < l->file_bytes; i++) {
		const uint8_t *at = look_at(l, i, 1);

		if (!at)
			return l->err->code;
		if (*at == '!')
			return look_fail(l, i, "damaged");
		if (*at == '-')
			return 0;
		ck_assert_int_eq(look_add_word(l, i * *at), 0);
		l->samples++;
		l->sample_bytes++;
	}
	l->facts[1] = l->file_bytes;
	return 0;
}

static inline void byte_range(const struct file_shape *shape, uint64_t first, uint64_t n,
			      uint64_t *off, uint64_t *len)
{
	(void)shape;
	*off = first;
	*len = n;
}

static struct format byte_format = { .name = "byte",
				     .look = byte_look,
				     .scanned_range = byte_range };

static inline void set_up(void)
{
	int fd = open("/dev/null", O_WRONLY);

	temp_folder_in(directory, temp_memory());
	snprintf(data, sizeof(data), "%s/data", directory);
	snprintf(cache, sizeof(cache), "%s/cache", directory);
	ck_assert_int_eq(mkdir(data, 0700), 0);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	byte_format.sidecar_path = NULL;
	memset(&err, 0, sizeof(err));
}

static inline void tear_down(void)
{
	temp_remove(directory);
}

static inline void put(unsigned number, char what, size_t bytes)
{
	char path[TEMP_BELOW], *text = mem_zalloc(bytes + 1);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%06u", data, number);
	f = fopen(path, "w");
	memset(text, what, bytes);
	ck_assert_uint_eq(fwrite(text, 1, bytes, f), bytes);
	fclose(f);
	mem_free(text);
}

static inline void put_some(unsigned files)
{
	for (unsigned i = 0; i < files; i++)
		put(i, i % 50 == 7 ? '-' : (char)('A' + i % 20), 1 + i * 7 % 100);
}

static inline void put_all(void)
{
	put_some(FILES);
}

static inline int make(struct dataset *ds, const struct scan_cache_request *keeps)
{
	const struct scan_request req = { .directory = data, .except = cache, .errors = SCAN_SKIP };
	int r;

	err = (struct mlgen_err){ 0 };
	*ds = (struct dataset){ .format = &byte_format,
				.directory = mem_strdup(data),
				.parts = 1,
				.extent_samples = 1 };
	r = scan_new(&ds->scan, &req, &err);
	if (r == 0)
		r = scan_index_new(&ds->found, ds->scan, ds, SCAN_SKIP, keeps, &err);
	if (r == 0)
		ds->files = ds->files_named = scan_files(ds->scan);
	return r;
}

static inline void unmake(struct dataset *ds)
{
	ds->format = NULL;
	dataset_fini(ds);
}

static inline void check_same(const struct dataset *a, const struct dataset *b)
{
	ck_assert_uint_eq(a->files, b->files);
	for (uint64_t i = 0; i < a->files; i++) {
		struct file_shape x = { 0 }, y = { 0 };

		scan_index_shape(a->found, i, &x);
		scan_index_shape(b->found, i, &y);
		ck_assert_uint_eq(x.samples, y.samples);
		ck_assert_mem_eq(x.facts, y.facts, LOOK_FACTS * sizeof(x.facts[0]));
		ck_assert_mem_eq(x.words, y.words, x.samples * sizeof(x.words[0]));
	}
	ck_assert_uint_eq(scan_index_first_sample(a->found, a->files),
			  scan_index_first_sample(b->found, b->files));
	ck_assert_uint_eq(scan_index_sample_bytes(a->found, a->files),
			  scan_index_sample_bytes(b->found, b->files));
}

/* Scans by the cache, and finds what a scan without one finds: so many files were known. */
static inline uint64_t scan_with(const struct scan_cache_request *keeps)
{
	struct dataset fresh, ds;
	uint64_t known;

	ck_assert_int_eq(make(&fresh, NULL), 0);
	ck_assert_msg(make(&ds, keeps) == 0, "%s", err.text);
	check_same(&fresh, &ds);
	known = scan_index_cached_files(ds.found);
	if (known == 0)
		ck_assert_uint_eq(scan_index_read_bytes(ds.found),
				  scan_index_read_bytes(fresh.found));
	else
		ck_assert_uint_lt(scan_index_read_bytes(ds.found),
				  scan_index_read_bytes(fresh.found));
	unmake(&fresh);
	unmake(&ds);
	return known;
}

static inline uint64_t scan_by_cache(void)
{
	return scan_with(&(struct scan_cache_request){ .path = cache });
}

static inline size_t read_cache(char **bytes)
{
	FILE *f = fopen(cache, "r");
	size_t n;

	ck_assert_ptr_nonnull(f);
	*bytes = mem_zalloc(1 << 20);
	n = fread(*bytes, 1, 1 << 20, f);
	fclose(f);
	return n;
}

static inline unsigned files_in(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return n;
}
