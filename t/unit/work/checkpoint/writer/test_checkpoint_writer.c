/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoint_writer.c - checkpoints are what the layout says, byte for byte, and are read back
 * so. */
#include "suites.h"

#include <dirent.h>
#include <fcntl.h>
#include <math.h>

#include "writer_rig.h"
#include "temp.h"

static const struct mlgen_engine *engine(const char *name)
{
	const struct mlgen_engine *e = engines_find(name);

	ck_assert_msg(e != NULL, "%s is not built in", name);
	return e;
}

static void abort_at_difference(const char *path, const unsigned char *want,
				const unsigned char *got)
{
	size_t i = 0;

	while (want[i] == got[i])
		i++;
	ck_abort_msg("%s: byte %zu", path, i);
}

static void assert_file(const struct rig *r, uint64_t rank, uint64_t index)
{
	struct shard_piece at = { 0 };
	struct shard f;
	char path[PATH_MAX];
	unsigned char *want, *got;
	FILE *file;

	rig_path(r, rank, index, &f, path);
	want = mem_zalloc(f.bytes);
	got = mem_zalloc(f.bytes + 1);
	shard_copy(&f, &at, 0, want, f.bytes);
	file = fopen(path, "r");
	ck_assert_msg(file != NULL, "%s: %s", path, strerror(errno));
	ck_assert_uint_eq(fread(got, 1, f.bytes + 1, file), f.bytes);
	fclose(file);
	if (memcmp(want, got, f.bytes) != 0)
		abort_at_difference(path, want, got);
	mem_free(want);
	mem_free(got);
}

static void assert_files(const struct rig *r)
{
	for (uint64_t rank = 0; rank < r->job->ranks; rank++)
		for (uint64_t i = 0; i < shard_files(&r->set, rank); i++)
			assert_file(r, rank, i);
}

/* The number of names in the directory. */
static unsigned entries(void)
{
	DIR *d = opendir(directory);
	const struct dirent *e;
	unsigned n = 0;

	ck_assert_ptr_nonnull(d);
	while ((e = readdir(d)) != NULL)
		n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(d);
	return n;
}

static bool has_direct(void)
{
	char path[TEMP_BELOW];
	int fd;

	snprintf(path, sizeof(path), "%s/probe", directory);
	fd = open(path, O_WRONLY | O_CREAT | O_DIRECT, 0600);
	if (fd >= 0)
		close(fd);
	unlink(path);
	return fd >= 0;
}

static const char *const ways[] = {
	"checkpoint_layout=torch access=plain",
	"checkpoint_layout=torch access=plain checkpoint_threads=2",
	"checkpoint_layout=torch access=plain checkpoint_threads=2 checkpoint_fsync=end",
	"checkpoint_layout=torch access=plain bs=4096 checkpoint_threads=3",
	("checkpoint_layout=torch access=plain bs=2m checkpoint_threads=3 checkpoint_fsync=end "
	 "rename_commit=1"),
	"checkpoint_layout=torch access=plain checkpoint_threads=2 direct=1",
	"checkpoint_layout=torch access=framework",
	"checkpoint_layout=torch access=framework checkpoint_fsync=end",
	"checkpoint_layout=deepspeed access=plain checkpoint_threads=2 rename_commit=1",
	"checkpoint_layout=deepspeed access=framework checkpoint_threads=2",
	"checkpoint_layout=deepspeed access=framework checkpoint_threads=3 checkpoint_fsync=end",
	"checkpoint_layout=stream access=plain checkpoint_fsync=none",
	"checkpoint_layout=stream access=framework checkpoint_threads=2",
	/* one rank, because each has a buffer of 32 MiB */
	"checkpoint_layout=stream access=framework direct=1 ranks=1",
	"checkpoint_layout=stream access=plain direct=1 bs=4096",
};

static const char *const engine_names[] = { "psync", "mmap", "io_uring" };

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* Where an engine cannot be had, or O_DIRECT, there is nothing to see. */
static bool can_be_done(const char *name, const char *way)
{
	if (!engines_find(name))
		return false;
	if (strstr(way, "direct=1"))
		return strcmp(name, "mmap") != 0 && has_direct();
	return true;
}

START_TEST(files_are_what_the_layout_says_and_are_read_back)
{
	const char *name = engine_names[(size_t)_i / WAYS];
	const char *way = ways[(size_t)_i % WAYS];
	char verified[256];
	struct rig r;

	temp_folder_in(directory, strstr(way, "direct=1") ? temp_disk() : temp_memory());
	if (can_be_done(name, way)) {
		ck_assert_int_eq(rig_saves(&r, engine(name), way, 2), 0);
		ck_assert_uint_eq(r.result.completed, 2);
		ck_assert_uint_eq(entries(), 2);
		assert_files(&r);
		rig_end(&r);
		snprintf(verified, sizeof(verified), "%s verify=crc32c", way);
		ck_assert_int_eq(rig_restores(&r, engine(name), verified), 0);
		ck_assert(r.result.verified);
		ck_assert_uint_eq(r.result.completed, 1);
		rig_end(&r);
		ck_assert_int_eq(rig_restores(&r, engine(name), way), 0);
		rig_end(&r);
	}
	remove_directory();
}
END_TEST

/* Three, of which two are kept, in an order that is not theirs. */
START_TEST(older_ones_are_deleted_and_what_is_foreign_stays)
{
	char path[PATH_MAX + 32];
	struct rig r;
	FILE *f;

	make_directory();
	rig_saves(&r, engine("psync"), "checkpoint_keep=2", 3);
	ck_assert_uint_eq(entries(), 2);
	ck_assert_uint_eq(r.result.deleted_checkpoints, 1);
	ck_assert_uint_eq(r.result.deleted_files, 2);
	ck_assert_uint_eq(r.result.unlink_ns->count, 2);
	ck_assert(r.result.delete_seconds >= 0);
	ck_assert(isnan(rig_record(&r, 1)->delete_seconds));
	ck_assert_uint_eq(rig_record(&r, 2)->deleted_checkpoints, 1);
	ck_assert_uint_eq(r.checkpoints.items[0].number, 2);

	snprintf(path, sizeof(path), "%s/%s/notes", directory, r.checkpoints.items[0].name);
	rig_end(&r);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fclose(f);
	ck_assert_int_eq(rig_saves(&r, engine("psync"), "checkpoint_keep=1", 1), 0);
	ck_assert_int_eq(access(path, F_OK), 0);
	ck_assert_uint_eq(entries(), 2);
	ck_assert_uint_eq(r.checkpoints.count, 1);
	ck_assert_uint_eq(r.checkpoints.items[0].number, 4);
	rig_end(&r);
	remove_directory();
}
END_TEST

/* As a killed run leaves it. */
START_TEST(broken_ones_go_where_older_ones_do)
{
	struct checkpoint k;
	struct rig r;

	make_directory();
	rig_open(&r, engine("psync"), "", "");
	ck_assert_int_eq(checkpoints_prepare(&r.checkpoints, NULL), 0);
	checkpoints_next(&r.checkpoints, 1, UINT64_MAX, &k);
	ck_assert_int_eq(checkpoint_create(&r.checkpoints, &k, NULL), 0);
	rig_start(&r, clock_new_real());
	rig_finish(&r);
	rig_end(&r);
	ck_assert_int_eq(rig_saves(&r, engine("psync"), "", 1), 0);
	ck_assert_uint_eq(entries(), 2);
	rig_end(&r);
	ck_assert_int_eq(rig_saves(&r, engine("psync"), "checkpoint_keep=5", 1), 0);
	ck_assert_uint_eq(r.result.deleted_checkpoints, 1);
	ck_assert_uint_eq(entries(), 2);
	ck_assert_uint_eq(r.checkpoints.items[0].number, 2);
	rig_end(&r);
	remove_directory();
}
END_TEST

/* Whether or not new ones are renamed, too. */
START_TEST(one_of_the_same_step_is_replaced)
{
	struct rig r;

	make_directory();
	rig_open(&r, engine("psync"), _i ? "rename_commit=1" : "", "");
	rig_start(&r, clock_new_real());
	for (unsigned i = 0; i < 2; i++) {
		ck_assert_int_eq(writer_begin_save(r.writer, 3, 500, &r.err), 0);
		ck_assert_int_eq(writer_await(r.writer), 0);
	}
	rig_finish(&r);
	ck_assert_uint_eq(entries(), 1);
	ck_assert_uint_eq(r.checkpoints.count, 1);
	/* The old one aside, and the new one there. */
	ck_assert_uint_eq(r.result.rename_ns->count, (uint64_t)_i + 2);
	ck_assert_uint_eq(r.result.deleted_checkpoints, 1);
	ck_assert_uint_eq(r.result.deleted_files, 2);
	ck_assert(rig_record(&r, 1)->delete_seconds >= 0);
	ck_assert_str_eq(rig_record(&r, 1)->name, "global_epoch3_step500");
	assert_files(&r);
	rig_end(&r);
	remove_directory();
}
END_TEST

static void flip(const char *path, off_t off)
{
	int fd = open(path, O_RDWR);
	char byte;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(pread(fd, &byte, 1, off), 1);
	byte ^= 1;
	ck_assert_int_eq(pwrite(fd, &byte, 1, off), 1);
	close(fd);
}

START_TEST(a_flipped_byte_is_found)
{
	static const char *const accesses[] = { "access=plain", "access=framework" };
	struct shard f;
	char path[PATH_MAX], want[64];
	struct rig r;

	make_directory();
	ck_assert_int_eq(rig_saves(&r, engine("psync"), accesses[_i], 1), 0);
	rig_path(&r, 1, 0, &f, path);
	flip(path, (off_t)f.bytes / 2 + 1);
	snprintf(want, sizeof(want), "byte %llu is wrong (tensor ",
		 (unsigned long long)f.bytes / 2 + 1);
	rig_end(&r);
	ck_assert_int_eq(rig_restores(&r, engine("psync"), accesses[_i]), 0);
	rig_end(&r);
	snprintf(path, sizeof(path), "%s verify=crc32c", accesses[_i]);
	ck_assert_int_lt(rig_restores(&r, engine("psync"), path), 0);
	ck_assert_msg(strstr(r.err.text, want) != NULL, "%s", r.err.text);
	ck_assert_ptr_nonnull(strstr(r.err.text, "checkpoint 1, rank 1: "));
	ck_assert(!rig_record(&r, 0)->complete);
	ck_assert_str_ne(rig_record(&r, 0)->error, "");
	ck_assert(!r.result.verified);
	rig_end(&r);
	remove_directory();
}
END_TEST

static const struct {
	const char *options;
	off_t part; /* of 8 */
} cuts[] = {
	{ "access=plain", 0 },
	{ "access=plain", 4 },
	{ "access=plain bs=4096 verify=crc32c", 7 },
	{ "access=framework", 4 },
	{ "access=framework verify=crc32c", 4 },
};

START_TEST(a_short_file_says_where_it_ends)
{
	struct shard f;
	char path[PATH_MAX], want[64];
	struct rig r;
	off_t end;

	make_directory();
	ck_assert_int_eq(rig_saves(&r, engine("psync"), cuts[_i].options, 1), 0);
	rig_path(&r, 0, 0, &f, path);
	end = (off_t)f.bytes / 8 * cuts[_i].part + 11;
	ck_assert_int_eq(truncate(path, end), 0);
	snprintf(want, sizeof(want), "the file ends at %lld of %llu bytes", (long long)end,
		 (unsigned long long)f.bytes);
	rig_end(&r);
	ck_assert_int_lt(rig_restores(&r, engine("psync"), cuts[_i].options), 0);
	ck_assert_msg(strstr(r.err.text, want) != NULL, "%s, not: %s", want, r.err.text);
	rig_end(&r);
	remove_directory();
}
END_TEST

START_TEST(a_missing_file_is_named)
{
	struct shard f;
	char path[PATH_MAX];
	struct rig r;

	make_directory();
	ck_assert_int_eq(rig_saves(&r, engine("psync"), "", 1), 0);
	rig_path(&r, 1, 0, &f, path);
	ck_assert_int_eq(unlink(path), 0);
	rig_end(&r);
	ck_assert_int_lt(rig_restores(&r, engine("psync"), ""), 0);
	ck_assert_ptr_nonnull(strstr(r.err.text, path));
	ck_assert_ptr_nonnull(strstr(r.err.text, "open: "));
	rig_end(&r);
	remove_directory();
}
END_TEST

Suite *suite_checkpoint_writer(void)
{
	Suite *s = suite_create("checkpoint_writer");
	TCase *t = tcase_create("checkpoint_writer");

	tcase_add_loop_test(t, files_are_what_the_layout_says_and_are_read_back, 0,
			    (int)(WAYS * sizeof(engine_names) / sizeof(engine_names[0])));
	tcase_add_test(t, older_ones_are_deleted_and_what_is_foreign_stays);
	tcase_add_test(t, broken_ones_go_where_older_ones_do);
	tcase_add_loop_test(t, one_of_the_same_step_is_replaced, 0, 2);
	tcase_add_loop_test(t, a_flipped_byte_is_found, 0, 2);
	tcase_add_loop_test(t, a_short_file_says_where_it_ends, 0, sizeof(cuts) / sizeof(cuts[0]));
	tcase_add_test(t, a_missing_file_is_named);
	suite_add_tcase(s, t);
	return s;
}
