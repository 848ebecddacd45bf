/* SPDX-License-Identifier: Apache-2.0 */
/* test_storage.c - which filesystem a path of a trace is on, and which of them counts. */
#include <check.h>
#include <fcntl.h>

#include "base/mem.h"
#include "tracing/score/codefolders.h"
#include "tracing/score/scope.h"
#include "tracing/score/storage.h"
#include "suites.h"
#include "trace/trace.h"

static struct storage some;

static void setup(void)
{
	some = (struct storage){ 0 };
	storage_add(&some, "ext4 / /dev/sda1");
	storage_add(&some, "xfs /data /dev/sdb1");
	storage_add(&some, "nfs /data/with\\040blank server:/x");
	storage_add(&some, "tmpfs /dev/shm tmpfs");
	storage_add(&some, "overlay /data none");
}

static void teardown(void)
{
	storage_fini(&some);
}

START_TEST(the_longest_mount_point_has_a_path)
{
	ck_assert_uint_eq(storage_of(&some, "/home/me/x"), 1);
	ck_assert_uint_eq(storage_of(&some, "/database"), 1);
	ck_assert_uint_eq(storage_of(&some, "/data/with blank/x"), 3);
	ck_assert_uint_eq(storage_of(&some, "/data/with"), 5);
	ck_assert_uint_eq(storage_of(&some, "data/x"), 0);
	ck_assert_uint_eq(storage_of(&(struct storage){ 0 }, "/x"), 0);
}
END_TEST

static void check_text(const char *want)
{
	char *text = storage_text(&some);

	ck_assert_pstr_eq(text, want);
	mem_free(text);
}

START_TEST(a_hundredth_of_the_bytes_counts)
{
	storage_moved(&some, 2, 99);
	storage_moved(&some, 1, 1);
	check_text("ext4 / /dev/sda1, xfs /data /dev/sdb1");
	storage_moved(&some, 2, 1);
	check_text("xfs /data /dev/sdb1");
	/* Nobody knows where that was. */
	storage_moved(&some, 0, 1000);
	check_text("xfs /data /dev/sdb1");
}
END_TEST

START_TEST(where_nothing_is_known_all_are_there)
{
	check_text("ext4 / /dev/sda1, nfs /data/with\\040blank server:/x, overlay /data none, "
		   "tmpfs /dev/shm tmpfs, xfs /data /dev/sdb1");
	storage_fini(&some);
	check_text(NULL);
}
END_TEST

START_TEST(memory_that_processes_share_is_no_data)
{
	ck_assert(scope_has("/dev/shm/batch"));
	ck_assert(!scope_has("/dev/shm/sem.z3c8Be"));
	ck_assert(!scope_has("/dev/shm/torch_23485_1298_0"));
	ck_assert(!scope_has("/tmp/pymp-ecx66s4b"));
	ck_assert(!scope_has("/dev/sda"));
	ck_assert(scope_has("/data/sem.npz"));
}
END_TEST

START_TEST(folders_of_code_and_what_they_are_in_are_no_data)
{
	struct codefolders f = { 0 };

	codefolders_add(&f, "/me/venv/lib/x.py");
	codefolders_add(&f, "/me/data/a.npz");
	ck_assert(codefolders_has(&f, "/me/venv/lib"));
	ck_assert(codefolders_has(&f, "/me/venv"));
	ck_assert(codefolders_has(&f, "/me"));
	ck_assert(codefolders_has(&f, "/"));
	ck_assert(!codefolders_has(&f, "/me/ven"));
	ck_assert(!codefolders_has(&f, "/me/venv/lib/x.py"));
	ck_assert(!codefolders_has(&f, "/me/data"));
	codefolders_fini(&f);
	ck_assert(!codefolders_has(&f, "/"));
}
END_TEST

START_TEST(programs_and_logs_are_no_files_of_data)
{
	static const char *const no_data[] = { "/opt/libtorch.so", "/me/train.py", "/me/a.pyc",
					       "/me/a.log" };

	for (size_t i = 0; i < 4; i++)
		ck_assert(!scope_has(no_data[i]));
	ck_assert(scope_has("/data/x.logs"));
	ck_assert(scope_has("so"));
}
END_TEST

START_TEST(what_python_tries_a_folder_with_is_no_data)
{
	struct trace_record r = { .op = TRACE_OPEN,
				  .len_bytes = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC };

	ck_assert(scope_is_probe("/tmp/5qu1_cgv", &r));
	ck_assert(!scope_is_probe("/tmp/5qu1_cgv.npz", &r));
	ck_assert(!scope_is_probe("/tmp/5qu1_cg", &r));
	ck_assert(!scope_is_probe("/tmp/5qu1_Cgv", &r));
	ck_assert(!scope_is_probe("5qu1_cgv", &r));
	r.len_bytes = O_RDWR | O_CREAT;
	ck_assert(!scope_is_probe("/tmp/5qu1_cgv", &r));
	r.len_bytes = TRACE_UNKNOWN;
	ck_assert(!scope_is_probe("/tmp/5qu1_cgv", &r));
	r.op = TRACE_STAT;
	r.len_bytes = O_RDWR | O_CREAT | O_EXCL;
	ck_assert(!scope_is_probe("/tmp/5qu1_cgv", &r));
}
END_TEST

Suite *suite_storage(void)
{
	Suite *s = suite_create("storage");
	TCase *t = tcase_create("storage");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, the_longest_mount_point_has_a_path);
	tcase_add_test(t, a_hundredth_of_the_bytes_counts);
	tcase_add_test(t, where_nothing_is_known_all_are_there);
	tcase_add_test(t, memory_that_processes_share_is_no_data);
	tcase_add_test(t, what_python_tries_a_folder_with_is_no_data);
	tcase_add_test(t, folders_of_code_and_what_they_are_in_are_no_data);
	tcase_add_test(t, programs_and_logs_are_no_files_of_data);
	suite_add_tcase(s, t);
	return s;
}
