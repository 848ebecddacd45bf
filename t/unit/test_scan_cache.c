/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan_cache.c - what a scan has found is found again without a look, and never where it is not so. */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "data/format.h"
#include "data/found.h"
#include "data/kept.h"
#include "data/look.h"
#include "data/scan.h"
#include "suites.h"

#define FILES 200u
/* Where it is done many times. */
#define FEW_FILES 20u

static char directory[64], data[80], cache[96];
static struct mlgen_err err;

/* ---- a dataset, and what is found in it ---- */

/* Each byte is a sample, and its word says which: its place times its value.
 * '!' is damaged, '-' ends the file. */
static int byte_look(struct look *l)
{
	for (uint64_t i = 0; i < l->file_bytes; i++) {
		const uint8_t *at = look_at(l, i, 1);

		if (!at)
			return l->err->code;
		if (*at == '!')
			return look_fail(l, i, "damaged");
		if (*at == '-')
			return 0;
		ck_assert_int_eq(look_word(l, i * *at), 0);
		l->samples++;
		l->sample_bytes++;
	}
	l->facts[1] = l->file_bytes;
	return 0;
}

static void byte_range(const struct file_shape *shape, uint64_t first,
		       uint64_t n, uint64_t *off, uint64_t *len)
{
	(void)shape;
	*off = first;
	*len = n;
}

static bool byte_beside(const char *path, unsigned i, char *out, size_t size)
{
	(void)path;
	snprintf(out, size, "%s/beside", directory);
	return i == 0;
}

static struct format byte_format = { .name = "byte",
				     .look = byte_look,
				     .found_range = byte_range };

static void set_up(void)
{
	int fd = open("/dev/null", O_WRONLY);

	/* In memory, if possible: files are replaced many times, and ext4 writes
	 * each one out then. */
	snprintf(directory, sizeof(directory), "%s/mlgen-unit.XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(data, sizeof(data), "%s/data", directory);
	snprintf(cache, sizeof(cache), "%s/cache", directory);
	ck_assert_int_eq(mkdir(data, 0700), 0);
	ck_assert_int_eq(dup2(fd, STDERR_FILENO), STDERR_FILENO);
	close(fd);
	byte_format.look_beside = NULL;
	memset(&err, 0, sizeof(err));
}

static void tear_down(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	ck_assert_int_eq(system(command), 0);
}

static void put(unsigned number, char what, size_t bytes)
{
	char path[96], *text = mem_zalloc(bytes + 1);
	FILE *f;

	snprintf(path, sizeof(path), "%s/%06u", data, number);
	f = fopen(path, "w");
	memset(text, what, bytes);
	ck_assert_uint_eq(fwrite(text, 1, bytes, f), bytes);
	fclose(f);
	mem_free(text);
}

static void put_some(unsigned files)
{
	for (unsigned i = 0; i < files; i++)
		put(i, i % 50 == 7 ? '-' : (char)('A' + i % 20),
		    1 + i * 7 % 100);
}

static void put_all(void)
{
	put_some(FILES);
}

static int make(struct dataset *ds, const struct kept_request *keeps)
{
	const struct scan_request req = { .directory = data,
					  .except = cache,
					  .errors = SCAN_SKIP };
	int r;

	err = (struct mlgen_err){ 0 };
	*ds = (struct dataset){ .format = &byte_format,
				.directory = mem_strdup(data),
				.parts = 1,
				.extent_samples = 1 };
	r = scan_new(&ds->scan, &req, &err);
	if (r == 0)
		r = found_new(&ds->found, ds->scan, ds, SCAN_SKIP, keeps, &err);
	if (r == 0)
		ds->files = ds->files_named = scan_files(ds->scan);
	return r;
}

static void unmake(struct dataset *ds)
{
	ds->format = NULL;
	dataset_fini(ds);
}

static void check_same(const struct dataset *a, const struct dataset *b)
{
	ck_assert_uint_eq(a->files, b->files);
	for (uint64_t i = 0; i < a->files; i++) {
		struct file_shape x = { 0 }, y = { 0 };

		found_shape(a->found, i, &x);
		found_shape(b->found, i, &y);
		ck_assert_uint_eq(x.samples, y.samples);
		ck_assert_mem_eq(x.facts, y.facts,
				 LOOK_FACTS * sizeof(x.facts[0]));
		ck_assert_mem_eq(x.words, y.words,
				 x.samples * sizeof(x.words[0]));
	}
	ck_assert_uint_eq(found_first_sample(a->found, a->files),
			  found_first_sample(b->found, b->files));
	ck_assert_uint_eq(found_sample_bytes(a->found, a->files),
			  found_sample_bytes(b->found, b->files));
}

/* Scans by the cache, and finds what a scan without one finds: so many files
 * were known. */
static uint64_t scan_with(const struct kept_request *keeps)
{
	struct dataset fresh, ds;
	uint64_t known;

	ck_assert_int_eq(make(&fresh, NULL), 0);
	ck_assert_msg(make(&ds, keeps) == 0, "%s", err.text);
	check_same(&fresh, &ds);
	known = found_kept_files(ds.found);
	if (known == 0)
		ck_assert_uint_eq(found_read_bytes(ds.found),
				  found_read_bytes(fresh.found));
	else
		ck_assert_uint_lt(found_read_bytes(ds.found),
				  found_read_bytes(fresh.found));
	unmake(&fresh);
	unmake(&ds);
	return known;
}

static uint64_t scan_by_cache(void)
{
	return scan_with(&(struct kept_request){ .path = cache });
}

static void refuses(int code, const char *why)
{
	const struct kept_request keeps = { .path = cache };
	struct dataset ds;

	ck_assert_int_eq(make(&ds, &keeps), code);
	ck_assert_ptr_nonnull(strstr(err.text, "scan_cache: "));
	ck_assert_ptr_nonnull(strstr(err.text, cache));
	ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
	unmake(&ds);
}

/* ---- the cache as bytes ---- */

static size_t read_cache(char **bytes)
{
	FILE *f = fopen(cache, "r");
	size_t n;

	ck_assert_ptr_nonnull(f);
	*bytes = mem_zalloc(1 << 20);
	n = fread(*bytes, 1, 1 << 20, f);
	fclose(f);
	return n;
}

static void write_cache(const char *bytes, size_t n)
{
	FILE *f = fopen(cache, "w");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
	fclose(f);
}

static unsigned files_in(const char *path)
{
	DIR *d = opendir(path);
	unsigned n = 0;

	for (struct dirent *e; (e = readdir(d));)
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return n;
}

/* ---- what is known ---- */

START_TEST(what_was_found_is_not_looked_for_again)
{
	put_all();
	ck_assert_uint_eq(scan_by_cache(), 0);
	/* Those without a sample, too. */
	ck_assert_uint_eq(scan_by_cache(), FILES);
	ck_assert_uint_eq(files_in(directory), 2);
}
END_TEST

START_TEST(nothing_is_written_where_nothing_is_new)
{
	struct stat before, after;

	put_all();
	scan_by_cache();
	ck_assert_int_eq(stat(cache, &before), 0);
	scan_by_cache();
	ck_assert_int_eq(stat(cache, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
}
END_TEST

START_TEST(only_files_that_changed_are_looked_into)
{
	const struct timespec times[] = { { 0, 0 }, { 1000000000, 999999999 } };
	char path[96];

	put_all();
	scan_by_cache();
	put(3, 'x', 500); /* another size */
	put(FILES, 'n', 5);
	snprintf(path, sizeof(path), "%s/%06u", data, 4);
	put(4, 'y', 29); /* of the same size */
	ck_assert_int_eq(utimensat(AT_FDCWD, path, times, 0), 0);
	snprintf(path, sizeof(path), "%s/%06u", data, 0);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_uint_eq(scan_by_cache(), FILES - 3);
	ck_assert_uint_eq(scan_by_cache(), FILES);
	/* A nanosecond is enough. */
	snprintf(path, sizeof(path), "%s/%06u", data, 4);
	ck_assert_int_eq(
		utimensat(AT_FDCWD, path,
			  (struct timespec[]){ times[0],
					       { 1000000000, 999999998 } },
			  0),
		0);
	ck_assert_uint_eq(scan_by_cache(), FILES - 1);
}
END_TEST

START_TEST(files_that_have_gone_leave_the_cache)
{
	char *bytes, path[96];
	size_t n, m;

	put_all();
	scan_by_cache();
	n = read_cache(&bytes);
	mem_free(bytes);
	for (unsigned i = 0; i < FILES / 2; i++) {
		snprintf(path, sizeof(path), "%s/%06u", data, i);
		ck_assert_int_eq(unlink(path), 0);
	}
	ck_assert_uint_eq(scan_by_cache(), FILES / 2);
	m = read_cache(&bytes);
	mem_free(bytes);
	ck_assert_uint_lt(m, n * 2 / 3);
}
END_TEST

START_TEST(damaged_files_are_looked_into_each_time)
{
	put_all();
	put(9, '!', 30);
	put(10, 'x', 30);
	scan_by_cache();
	ck_assert_uint_eq(scan_by_cache(), FILES - 1);
}
END_TEST

START_TEST(what_stands_beside_a_file_counts_for_it)
{
	char path[96];
	FILE *f;

	byte_format.look_beside = byte_beside;
	put_all();
	scan_by_cache();
	ck_assert_uint_eq(scan_by_cache(), FILES);
	snprintf(path, sizeof(path), "%s/beside", directory);
	f = fopen(path, "w");
	fclose(f);
	ck_assert_uint_eq(scan_by_cache(), 0);
	ck_assert_uint_eq(scan_by_cache(), FILES);
	ck_assert_int_eq(truncate(path, 1), 0);
	ck_assert_uint_eq(scan_by_cache(), 0);
}
END_TEST

START_TEST(both_parts_are_in_one_file)
{
	const struct kept_request train = { .path = cache,
					    .part = SCAN_TRAINING };
	const struct kept_request eval = { .path = cache,
					   .part = SCAN_EVALUATION };

	put_all();
	ck_assert_uint_eq(scan_with(&eval), 0);
	ck_assert_uint_eq(scan_with(&train), 0);
	ck_assert_uint_eq(scan_with(&eval), FILES);
	ck_assert_uint_eq(scan_with(&train), FILES);
	put(1, 'x', 1000);
	ck_assert_uint_eq(scan_with(&train), FILES - 1);
	ck_assert_uint_eq(scan_with(&eval), FILES - 1);
	ck_assert_uint_eq(scan_with(&train), FILES);
	ck_assert_uint_eq(scan_with(&eval), FILES);
}
END_TEST

START_TEST(other_options_find_other_things)
{
	const struct kept_request keeps = { .path = cache };
	struct dataset ds = { .format = &byte_format, .directory = data };
	struct kept *k;

	put_all();
	scan_by_cache();
	ck_assert_int_eq(kept_open(&k, &keeps, &ds, &err), 0);
	ck_assert(k->has_cache);
	kept_free(k);
	for (unsigned i = 0; i < 5; i++) {
		struct format other = byte_format;
		char value[] = "other";

		other.name = i == 0 ? "bite" : "byte";
		ds.format = &other;
		ds.options = (struct format_options){
			.access = i == 1 ? ACCESS_FRAMEWORK : ACCESS_PLAIN,
			.scan_key = i == 2 ? value : NULL,
			.hdf5_dataset = i == 3 ? value : NULL,
			.read_columns = i == 4 ? value : NULL,
		};
		ck_assert_int_eq(kept_open(&k, &keeps, &ds, &err), 0);
		ck_assert(!k->has_cache);
		kept_free(k);
	}
}
END_TEST

START_TEST(probes_share_a_file_without_a_name)
{
	struct job_kept memory = { .scan_fd = -1 };
	const struct kept_request keeps = { .memory = &memory };

	put_all();
	ck_assert_uint_eq(scan_with(&keeps), 0);
	ck_assert_int_ge(memory.scan_fd, 0);
	ck_assert_uint_eq(scan_with(&keeps), FILES);
	put(1, 'x', 1000);
	ck_assert_uint_eq(scan_with(&keeps), FILES - 1);
	ck_assert_uint_eq(scan_with(&keeps), FILES);
	ck_assert_uint_eq(files_in(directory), 1);
	close(memory.scan_fd);
}
END_TEST

START_TEST(of_two_writers_the_last_stays)
{
	const struct kept_request keeps = { .path = cache };
	struct dataset ds = { .format = &byte_format, .directory = data };
	const struct scan_cached none = { 0 };
	const struct scan_stamp stamp = { .size_bytes = 1 };
	struct kept *k[2];

	put_all();
	scan_by_cache();
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(kept_open(&k[i], &keeps, &ds, &err), 0);
		ck_assert_int_eq(kept_begin(k[i], 1, 1), 0);
	}
	for (unsigned i = 0; i < 2; i++)
		ck_assert_int_eq(scan_cache_add(&k[i]->writer, SCAN_TRAINING,
						i ? "b" : "a", 1, &stamp,
						&none),
				 0);
	/* Until then there is the old one. */
	ck_assert_uint_eq(scan_by_cache(), FILES);
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(kept_end(k[i]), 0);
		kept_free(k[i]);
	}
	ck_assert_int_eq(kept_open(&k[0], &keeps, &ds, &err), 0);
	ck_assert(k[0]->has_cache);
	ck_assert_uint_eq(k[0]->cache.header.files[SCAN_TRAINING], 1);
	kept_free(k[0]);
	ck_assert_uint_eq(files_in(directory), 2);
}
END_TEST

/* ---- what is wrong with it ---- */

START_TEST(one_that_is_cut_off_is_as_if_there_were_none)
{
	char *bytes;
	size_t n;

	put_some(FEW_FILES);
	scan_by_cache();
	n = read_cache(&bytes);
	for (size_t cut = 0; cut < n; cut += cut < 160 ? 1 : 499) {
		write_cache(bytes, cut);
		ck_assert_uint_eq(scan_by_cache(), 0);
	}
	write_cache(bytes, n - 1);
	ck_assert_uint_eq(scan_by_cache(), 0);
	ck_assert_uint_eq(scan_by_cache(), FEW_FILES);
	mem_free(bytes);
}
END_TEST

/* Of the words only those of one file are lost. */
START_TEST(a_bit_that_is_another_one_is_seen)
{
	struct scan_header h;
	struct scan_layout l;
	char *bytes;
	size_t n;

	put_some(FEW_FILES);
	scan_by_cache();
	n = read_cache(&bytes);
	memcpy(&h, bytes, sizeof(h));
	ck_assert(scan_cache_layout(&h, &l));
	for (size_t at = sizeof(h.magic); at < n; at += at < 160 ? 1 : 491) {
		bool is_padding =
			at >= l.names + h.name_bytes[0] && at < l.words;
		bool is_key_padding =
			at >= sizeof(h) + h.key_bytes && at < l.records;
		char old = bytes[at];

		bytes[at] = (char)(old ^ 1 << at % 8);
		write_cache(bytes, n);
		bytes[at] = old;
		if (!is_padding && !is_key_padding)
			ck_assert_uint_eq(scan_by_cache(),
					  at < l.words ? 0 : FEW_FILES - 1);
	}
	ck_assert_uint_eq(scan_by_cache(), FEW_FILES);
	mem_free(bytes);
}
END_TEST

START_TEST(other_versions_and_hosts_are_not_read)
{
	struct scan_header h;
	char *bytes;
	size_t n;

	put_all();
	scan_by_cache();
	n = read_cache(&bytes);
	memcpy(&h, bytes, sizeof(h));
	h.version--;
	memcpy(bytes, &h, sizeof(h));
	write_cache(bytes, n);
	ck_assert_uint_eq(scan_by_cache(), 0);
	h.version++;
	h.byte_order = __builtin_bswap32(h.byte_order);
	memcpy(bytes, &h, sizeof(h));
	write_cache(bytes, n);
	ck_assert_uint_eq(scan_by_cache(), 0);
	ck_assert_uint_eq(scan_by_cache(), FILES);
	mem_free(bytes);
}
END_TEST

START_TEST(what_is_no_cache_is_refused_and_stays)
{
	static const char text[] = "a letter of somebody's";
	char *bytes;

	put_all();
	write_cache(text, sizeof(text));
	refuses(-EINVAL, "is no scan cache, and is left as it is");
	ck_assert_uint_eq(read_cache(&bytes), sizeof(text));
	ck_assert_str_eq(bytes, text);
	mem_free(bytes);
	write_cache("m?", 2);
	refuses(-EINVAL, "is no scan cache");
	ck_assert_int_eq(unlink(cache), 0);
	ck_assert_int_eq(mkfifo(cache, 0600), 0);
	refuses(-EINVAL, "is a fifo, and no regular file");
	ck_assert_int_eq(unlink(cache), 0);
	ck_assert_int_eq(mkdir(cache, 0700), 0);
	refuses(-EINVAL, "is a directory, and no regular file");
	snprintf(cache, sizeof(cache), "%s/none/cache", directory);
	refuses(-ENOENT, "cannot be made");
}
END_TEST

/* Between the limits nothing is asserted: what check notes of that goes to a
 * file, too. */
START_TEST(without_room_nothing_is_kept_and_nothing_left)
{
	const struct kept_request keeps = { .path = cache };
	struct rlimit no_room, room;
	struct dataset first, ds;
	char *bytes, *after;
	size_t n;
	int r;

	put_all();
	ck_assert_int_eq(make(&first, &keeps), 0);
	unmake(&first);
	n = read_cache(&bytes);
	put(0, 'x', 1000);
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &room), 0);
	no_room = room;
	/* The words of all files, in one list at most, are less. */
	no_room.rlim_cur = 96 << 10;
	ck_assert_uint_gt(n, no_room.rlim_cur);
	setrlimit(RLIMIT_FSIZE, &no_room);
	r = make(&ds, &keeps);
	setrlimit(RLIMIT_FSIZE, &room);
	signal(SIGXFSZ, SIG_DFL);
	ck_assert_int_eq(r, 0);
	ck_assert_uint_eq(found_kept_files(ds.found), FILES - 1);
	unmake(&ds);
	ck_assert_uint_eq(files_in(directory), 2);
	ck_assert_uint_eq(read_cache(&after), n);
	ck_assert_mem_eq(bytes, after, n);
	mem_free(bytes);
	mem_free(after);
}
END_TEST

START_TEST(it_is_no_file_of_the_dataset)
{
	struct dataset ds;

	snprintf(cache, sizeof(cache), "%.80s/cache", data);
	put_all();
	ck_assert_uint_eq(scan_by_cache(), 0);
	ck_assert_uint_eq(files_in(data), FILES + 1);
	ck_assert_uint_eq(scan_by_cache(), FILES);
	ck_assert_int_eq(make(&ds, &(struct kept_request){ .path = cache }), 0);
	/* Of 50 each the one is empty of samples. */
	ck_assert_uint_eq(ds.files, FILES - FILES / 50);
	unmake(&ds);
}
END_TEST

Suite *suite_scan_cache(void)
{
	Suite *s = suite_create("scan_cache");
	TCase *c = tcase_create("scan_cache");

	tcase_add_checked_fixture(c, set_up, tear_down);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, what_was_found_is_not_looked_for_again);
	tcase_add_test(c, nothing_is_written_where_nothing_is_new);
	tcase_add_test(c, only_files_that_changed_are_looked_into);
	tcase_add_test(c, files_that_have_gone_leave_the_cache);
	tcase_add_test(c, damaged_files_are_looked_into_each_time);
	tcase_add_test(c, what_stands_beside_a_file_counts_for_it);
	tcase_add_test(c, both_parts_are_in_one_file);
	tcase_add_test(c, other_options_find_other_things);
	tcase_add_test(c, probes_share_a_file_without_a_name);
	tcase_add_test(c, of_two_writers_the_last_stays);
	tcase_add_test(c, one_that_is_cut_off_is_as_if_there_were_none);
	tcase_add_test(c, a_bit_that_is_another_one_is_seen);
	tcase_add_test(c, other_versions_and_hosts_are_not_read);
	tcase_add_test(c, what_is_no_cache_is_refused_and_stays);
	tcase_add_test(c, without_room_nothing_is_kept_and_nothing_left);
	tcase_add_test(c, it_is_no_file_of_the_dataset);
	suite_add_tcase(s, c);
	return s;
}
