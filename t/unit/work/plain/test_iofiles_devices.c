/* SPDX-License-Identifier: Apache-2.0 */
/* test_iofiles_devices.c - a block device as the file of a plain job; root only. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "iofiles_rig.h"
#include "suites.h"
#include "work/plain/plain.h"

static char loop[64];

static bool set_loop(void)
{
	FILE *f;
	size_t n;

	if (geteuid() != 0)
		return false;
	shell("truncate -s 8m image");
	f = popen("losetup -f --show image 2>/dev/null", "r");
	n = fread(loop, 1, sizeof(loop) - 1, f);
	pclose(f);
	loop[n ? n - 1 : 0] = '\0';
	return n > 1;
}

static void drop_loop(void)
{
	char command[256];

	iofiles_fini(&files); /* or the device is not let go */
	snprintf(command, sizeof(command), "losetup -d %s", loop);
	shell(command);
}

START_TEST(a_block_device_is_read_and_never_extended)
{
	if (!set_loop())
		return;
	make_job(RW_READ, loop, NULL);
	look_ok();
	ck_assert_int_eq(files.files[0].kind, IOFILE_BLOCK);
	ck_assert_uint_eq(files.files[0].bytes, 8 << 20);
	ck_assert_uint_eq(files.files[0].region.bytes, 8 << 20);
	ck_assert_str_eq(files.directory, loop);
	job.size = share("50%");
	look_ok();
	ck_assert_uint_eq(files.files[0].region.bytes, 4 << 20);
	job.size = share("8193k");
	look_fails(-EFBIG, "a device cannot be extended");
	drop_loop();
}
END_TEST

START_TEST(a_block_device_is_written_only_where_it_is_named)
{
	char link[TEMP_BELOW], command[256];

	if (!set_loop())
		return;
	snprintf(link, sizeof(link), "%s/by-id", top);
	snprintf(command, sizeof(command), "ln -s %s by-id", loop);
	shell(command);
	make_job(RW_WRITE, loop, "1024k");
	look_fails(-EPERM, "is a block device, and this job would overwrite");
	request.allow_device = "/dev/zero:/dev/mlgen-none";
	look_fails(-EPERM, "to allow this, use --allow_device=/dev/loop");
	snprintf(command, sizeof(command), "/dev/zero:%s", link);
	request.allow_device = command;
	look_ok();
	ck_assert_uint_eq(files.held.count, 1);
	lay_out_ok(0);
	request.readonly = true;
	look_fails(-EROFS, "readonly");
	drop_loop();
}
END_TEST

START_TEST(a_device_in_use_is_not_written)
{
	struct blockdev_guards guards = { 0 };
	struct iofiles second;
	int fd;

	if (!set_loop())
		return;
	make_job(RW_WRITE, loop, "1024k");
	request.allow_device = loop;
	fd = open(loop, O_RDONLY | O_EXCL);
	ck_assert_int_ge(fd, 0);
	look_fails(-EBUSY, "is held by another program");
	close(fd);
	look_ok();
	fd = open(loop, O_RDONLY | O_EXCL);
	ck_assert_msg(fd < 0 && errno == EBUSY, "the guard holds it");
	/* Jobs of one run may share it, until the last one lets it go. */
	ck_assert_int_eq(iofiles_init(&second, &request, NULL), -EBUSY);
	request.guards = &guards;
	look_ok();
	ck_assert_int_eq(iofiles_init(&second, &request, NULL), 0);
	iofiles_fini(&second);
	fd = open(loop, O_RDONLY | O_EXCL);
	ck_assert_int_lt(fd, 0);
	iofiles_fini(&files);
	fd = open(loop, O_RDONLY | O_EXCL);
	ck_assert_int_ge(fd, 0);
	close(fd);
	ck_assert_uint_eq(guards.count, 0);
	drop_loop();
}
END_TEST

Suite *suite_iofiles_devices(void)
{
	Suite *s = suite_create("iofiles_devices");
	TCase *t = tcase_create("iofiles_devices");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_block_device_is_read_and_never_extended);
	tcase_add_test(t, a_block_device_is_written_only_where_it_is_named);
	tcase_add_test(t, a_device_in_use_is_not_written);
	suite_add_tcase(s, t);
	return s;
}
