/* SPDX-License-Identifier: Apache-2.0 */
/* test_model_scope.c - which files of a trace are in scope, and which mounts count. */
#include <check.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
#include "suites.h"
#include "temp.h"
#include "trace/model/model.h"

static const char *const mounts[] = {
	"ext4 / /dev/sda1",     "xfs /data /dev/sdb1", "nfs /data/with\\040blank server:/x",
	"tmpfs /dev/shm tmpfs", "overlay /data none",
};

static const char *const paths[] = {
	"/home/me/x",
	"/database",
	"/data/with blank/x",
	"/data/with",
	"data/x",
	"/me/venv/x.py",
	"/me/data/a.npz",
	"/me/venv",
	"/me",
	"/",
	"/me/ven",
	"/me/data",
	"/me/out",
	"/tmp/5qu1_cgv",
};

static struct trace_ordered *records;
static struct trace_scope scope;
static struct mlgen_err err;

/* A trace that names the paths, ordered by time, and a scope that knows the mounts. */
static void setup(void)
{
	const struct trace_head head = { .run_id = "a run" };
	struct trace_writer *w;
	struct trace_reader *r;
	char path[TEMP_BYTES];
	int fd = temp_file(path);

	ck_assert_int_eq(trace_writer_new(&w, fd, path, &head, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(paths); i++)
		trace_writer_name(w, paths[i], strlen(paths[i]));
	ck_assert_int_eq(trace_writer_finish(w, NULL, &err), 0);
	ck_assert_int_eq(trace_reader_open_fd(&r, fd, path, &err), 0);
	ck_assert_int_eq(trace_ordered_read(&records, r, &err), 0);
	trace_reader_close(r);
	unlink(path);
	for (size_t i = 0; i < ARRAY_LEN(mounts); i++)
		trace_scope_add_entry(
			&scope, &(struct trace_entry){ .kind = TRACE_MOUNT, .text = mounts[i] });
	trace_scope_add_entry(
		&scope, &(struct trace_entry){ .kind = TRACE_FACT, .text = "stdout=/me/out" });
}

static void teardown(void)
{
	trace_scope_fini(&scope);
	trace_ordered_free(records);
}

/* The path, as the file of a record that reads it. */
static struct trace_record record_of(const char *path)
{
	struct trace_record r = { .op = TRACE_READ };
	size_t bytes;

	for (uint32_t id = 1; id <= trace_ordered_names(records); id++)
		if (!strcmp(trace_ordered_name(records, id, &bytes), path))
			r.file = id;
	ck_assert_msg(r.file, "no id for %s", path);
	return r;
}

static bool has(const char *path)
{
	struct trace_record r = record_of(path);
	bool before = trace_scope_has_file(&scope, r.file);
	bool is_in = trace_scope_has(&scope, &r);

	ck_assert(before == is_in && trace_scope_has_file(&scope, r.file) == is_in);
	return is_in;
}

static void move(const char *path, uint64_t bytes)
{
	ck_assert(has(path));
	trace_scope_add_bytes(&scope, record_of(path).file, bytes);
}

static void check_storage(const char *want)
{
	char *text = trace_scope_storage(&scope);

	ck_assert_pstr_eq(text, want);
	mem_free(text);
}

START_TEST(a_path_is_on_the_mount_with_the_longest_mount_point)
{
	static const struct {
		const char *path;
		unsigned mount;
	} rows[] = {
		{ "/home/me/x", 0 },
		{ "/database", 0 },
		{ "/data/with blank/x", 2 },
		{ "/data/with", 4 },
	};

	trace_scope_start(&scope, records, false);
	move(rows[_i].path, 1000);
	/* Its mount is unknown. */
	move("data/x", 100000);
	check_storage(mounts[rows[_i].mount]);
}
END_TEST

START_TEST(a_hundredth_of_the_bytes_counts)
{
	trace_scope_start(&scope, records, false);
	move("/data/with blank/x", 99);
	move("/database", 1);
	check_storage("ext4 / /dev/sda1, nfs /data/with\\040blank server:/x");
	move("/data/with blank/x", 1);
	check_storage("nfs /data/with\\040blank server:/x");
}
END_TEST

START_TEST(all_mounts_count_if_no_bytes_are_known)
{
	check_storage("ext4 / /dev/sda1, nfs /data/with\\040blank server:/x, overlay /data none, "
		      "tmpfs /dev/shm tmpfs, xfs /data /dev/sdb1");
	trace_scope_fini(&scope);
	check_storage(NULL);
}
END_TEST

START_TEST(memory_that_processes_share_is_no_data)
{
	ck_assert(trace_scope_has_path("/dev/shm/batch"));
	ck_assert(!trace_scope_has_path("/dev/shm/sem.z3c8Be"));
	ck_assert(!trace_scope_has_path("/dev/shm/torch_23485_1298_0"));
	ck_assert(!trace_scope_has_path("/tmp/pymp-ecx66s4b"));
	ck_assert(!trace_scope_has_path("/dev/sda"));
	ck_assert(trace_scope_has_path("/data/sem.npz"));
}
END_TEST

START_TEST(programs_and_logs_are_no_data)
{
	static const char *const no_data[] = { "/opt/libtorch.so", "/me/train.py", "/me/a.pyc",
					       "/me/a.log", "" };

	for (size_t i = 0; i < ARRAY_LEN(no_data); i++)
		ck_assert(!trace_scope_has_path(no_data[i]));
	ck_assert(trace_scope_has_path("/data/x.logs"));
	ck_assert(trace_scope_has_path("so"));
}
END_TEST

START_TEST(folders_of_code_are_no_data_if_the_caller_asks)
{
	static const char *const folders[] = { "/me/venv", "/me", "/" };

	trace_scope_start(&scope, records, _i);
	for (size_t i = 0; i < ARRAY_LEN(folders); i++)
		ck_assert(has(folders[i]) == !_i);
	ck_assert(!has("/me/venv/x.py"));
	ck_assert(has("/me/ven"));
	ck_assert(has("/me/data"));
	ck_assert(has("/me/data/a.npz"));
}
END_TEST

START_TEST(standard_output_is_no_data)
{
	trace_scope_start(&scope, records, false);
	ck_assert(!has("/me/out"));
	ck_assert(!trace_scope_has_file(&scope, 0));
	ck_assert(!trace_scope_has_file(&scope, UINT32_MAX));
}
END_TEST

START_TEST(a_file_of_pythons_tempfile_is_no_data)
{
	static const struct {
		unsigned op;
		uint64_t flags;
		bool is_data;
	} rows[] = {
		{ TRACE_OPEN, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, false },
		{ TRACE_OPEN, O_RDWR | O_CREAT, true },
		{ TRACE_OPEN, TRACE_UNKNOWN, true },
		{ TRACE_STAT, O_RDWR | O_CREAT | O_EXCL, true },
	};
	struct trace_record r = record_of("/tmp/5qu1_cgv");

	trace_scope_start(&scope, records, false);
	r.op = (uint16_t)rows[_i].op;
	r.len_bytes = rows[_i].flags;
	ck_assert(trace_scope_has(&scope, &r) == rows[_i].is_data);
	/* The first record counts. */
	r.op = TRACE_READ;
	ck_assert(trace_scope_has(&scope, &r) == rows[_i].is_data);
	ck_assert(trace_scope_has_file(&scope, r.file) == rows[_i].is_data);
	/* The name is not that of a temporary file. */
	r = record_of("/home/me/x");
	r.op = TRACE_OPEN;
	r.len_bytes = O_RDWR | O_CREAT | O_EXCL;
	ck_assert(trace_scope_has(&scope, &r));
}
END_TEST

Suite *suite_model_scope(void)
{
	Suite *s = suite_create("model_scope");
	TCase *t = tcase_create("model_scope");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, a_path_is_on_the_mount_with_the_longest_mount_point, 0, 4);
	tcase_add_test(t, a_hundredth_of_the_bytes_counts);
	tcase_add_test(t, all_mounts_count_if_no_bytes_are_known);
	tcase_add_test(t, memory_that_processes_share_is_no_data);
	tcase_add_test(t, programs_and_logs_are_no_data);
	tcase_add_loop_test(t, folders_of_code_are_no_data_if_the_caller_asks, 0, 2);
	tcase_add_test(t, standard_output_is_no_data);
	tcase_add_loop_test(t, a_file_of_pythons_tempfile_is_no_data, 0, 4);
	suite_add_tcase(s, t);
	return s;
}
