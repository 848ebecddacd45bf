/* SPDX-License-Identifier: Apache-2.0 */
/* test_checkpoints_remove.c - only what a checkpoint of ours names is deleted. */
#include <errno.h>
#include <string.h>

#include "checkpoints_rig.h"
#include "suites.h"

/* The files of `k` as a checkpoint writer writes them, and those in `more`. */
static void put_files(const struct checkpoint_removal *r, const char *more)
{
	char name[256];

	for (size_t i = 0; i < r->count; i++) {
		snprintf(name, sizeof(name), "%s/%s", r->now.name, r->names[i]);
		put_file(name, "");
	}
	if (!more)
		return;
	snprintf(name, sizeof(name), "%s/%s", r->now.name, more);
	put_file(name, "");
}

static void unlink_files(const struct checkpoint_removal *r)
{
	for (size_t i = 0; i < r->count; i++)
		ck_assert_int_eq(unlinkat(r->folder_fd, r->names[i], 0), 0);
}

START_TEST(one_goes_with_the_files_that_it_names_and_no_others)
{
	struct mlgen_err err = { 0 };
	struct checkpoint_removal removal;
	struct checkpoint k;
	struct rig r;

	rig_open(&r, SMALL, "checkpoint_ranks=0-1");
	k = save(&r, true);
	rig_close(&r);
	rig_open(&r, "checkpoint_size=1m", ""); /* of another job */
	ck_assert_int_eq(checkpoints_prepare(&r.c, NULL), 0);
	ck_assert_int_eq(checkpoint_removal_begin(&removal, &r.c, &k, NULL), 0);
	ck_assert_uint_eq(removal.count, 2);
	put_files(&removal, "mine");
	ck_assert_int_eq(checkpoint_removal_mark(&removal, &r.c, NULL), 0);
	unlink_files(&removal);
	ck_assert_int_eq(checkpoint_removal_end(&removal, &r.c, &err), -ENOTEMPTY);
	ck_assert(exists("global_epoch1_step1/mine"));
	ck_assert(exists("global_epoch1_step1/" CHECKPOINT_MANIFEST));
	checkpoint_removal_fini(&removal);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert(!r.c.items[0].is_complete);
	ck_assert_int_eq(checkpoints_prepare(&r.c, NULL), 0);
	ck_assert_int_eq(checkpoint_removal_begin(&removal, &r.c, &r.c.items[0], NULL), 0);
	ck_assert_int_eq(unlinkat(removal.folder_fd, "mine", 0), 0);
	ck_assert_int_eq(checkpoint_removal_end(&removal, &r.c, NULL), 0);
	checkpoint_removal_fini(&removal);
	ck_assert(!exists(k.name));
	rig_close(&r);
}
END_TEST

/* It may not be deleted, which `why` says. */
static void check_stays(struct rig *r, const struct checkpoint *k, const char *why)
{
	struct checkpoint_removal removal;
	struct mlgen_err err = { 0 };

	ck_assert_int_eq(checkpoint_removal_begin(&removal, &r->c, k, &err), -EPERM);
	ck_assert_msg(strstr(err.text, why) != NULL, "%s", err.text);
	checkpoint_removal_fini(&removal);
}

START_TEST(what_no_layout_names_is_not_deleted)
{
	static const char *const names[] = {
		"../x", "/etc/x", ".", "..", "", "notes.txt", "rank_01.pt", CHECKPOINT_MANIFEST
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct checkpoint k;
		struct rig r;

		rig_open(&r, SMALL, "");
		k = save(&r, true);
		k.number = 1;
		forge(k.name, names[i]);
		check_stays(&r, &k, "which is not a file of a checkpoint");
		rig_close(&r);
	}
}
END_TEST

START_TEST(a_link_in_place_of_its_directory_or_manifest_is_not_followed)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct checkpoint k;
	struct rig r;

	rig_open(&r, SMALL, "");
	put_directory("victim");
	forge("victim", "rank_1.pt");
	name_of(from, "victim");
	name_of(to, "global_epoch1_step1");
	ck_assert_int_eq(symlink(from, to), 0);
	rig_close(&r);
	rig_open(&r, SMALL, "");
	ck_assert_int_eq(checkpoints_prepare(&r.c, NULL), 0);
	ck_assert_uint_eq(r.c.count, 1);
	check_stays(&r, &r.c.items[0], "it is a symbolic link");
	k = save(&r, true);
	name_of(to, "global_epoch1_step2/" CHECKPOINT_MANIFEST);
	ck_assert_int_eq(unlink(to), 0);
	name_of(from, "victim/" CHECKPOINT_MANIFEST);
	ck_assert_int_eq(symlink(from, to), 0);
	check_stays(&r, &k, CHECKPOINT_MANIFEST " is a symbolic link");
	ck_assert_int_eq(unlink(to), 0);
	ck_assert_int_eq(mkfifo(to, 0600), 0);
	check_stays(&r, &k, CHECKPOINT_MANIFEST " is a fifo");
	rig_close(&r);
}
END_TEST

START_TEST(a_directory_of_another_user_is_not_emptied)
{
	struct checkpoint_removal removal;
	char path[PATH_MAX];
	struct checkpoint k;
	struct rig r;

	if (geteuid() != 0)
		return; /* nobody else can give one away */
	rig_open(&r, SMALL, "");
	k = save(&r, true);
	name_of(path, k.name);
	ck_assert_int_eq(chown(path, 12345, 12345), 0);
	check_stays(&r, &k, "it belongs to another user");
	/* Whoever makes files here is the one. */
	r.c.maker = 12345;
	ck_assert_int_eq(checkpoint_removal_begin(&removal, &r.c, &k, NULL), 0);
	checkpoint_removal_fini(&removal);
	rig_close(&r);
}
END_TEST

/* Between the look at it and the deletion. */
START_TEST(a_directory_that_is_exchanged_meanwhile_is_not_touched)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct checkpoint_removal removal;
	struct checkpoint k;
	struct rig r;

	rig_open(&r, SMALL, "");
	k = save(&r, true);
	ck_assert_int_eq(checkpoint_removal_begin(&removal, &r.c, &k, NULL), 0);
	put_files(&removal, NULL);
	name_of(from, k.name);
	name_of(to, "moved");
	ck_assert_int_eq(rename(from, to), 0);
	put_directory("victim");
	put_file("victim/rank_0.pt", "");
	name_of(to, "victim");
	ck_assert_int_eq(symlink(to, from), 0);
	ck_assert_int_eq(checkpoint_removal_mark(&removal, &r.c, NULL), 0);
	unlink_files(&removal);
	ck_assert_int_eq(checkpoint_removal_end(&removal, &r.c, NULL), 0);
	checkpoint_removal_fini(&removal);
	ck_assert(exists("victim/rank_0.pt"));
	ck_assert(!exists("victim/" CHECKPOINT_MANIFEST));
	ck_assert(!exists("moved/rank_0.pt"));
	ck_assert(exists("global_epoch1_step1")); /* the link */
	rig_close(&r);
}
END_TEST

START_TEST(another_one_under_its_name_is_not_deleted)
{
	struct checkpoint_removal removal;
	struct mlgen_err err = { 0 };
	struct checkpoint k, other;
	struct rig r;

	rig_open(&r, SMALL, "");
	k = save(&r, true);
	other = k;
	other.number = 7;
	ck_assert_int_eq(checkpoint_write_manifest(&r.c, &other, true, NULL), 0);
	ck_assert_int_eq(checkpoint_removal_begin(&removal, &r.c, &k, &err), -ENOENT);
	ck_assert_ptr_nonnull(strstr(err.text, "was replaced by another checkpoint"));
	checkpoint_removal_fini(&removal);
	rig_close(&r);
}
END_TEST

Suite *suite_checkpoints_remove(void)
{
	Suite *s = suite_create("checkpoints_remove");
	TCase *t = tcase_create("removed");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, one_goes_with_the_files_that_it_names_and_no_others);
	tcase_add_test(t, what_no_layout_names_is_not_deleted);
	tcase_add_test(t, a_link_in_place_of_its_directory_or_manifest_is_not_followed);
	tcase_add_test(t, a_directory_of_another_user_is_not_emptied);
	tcase_add_test(t, a_directory_that_is_exchanged_meanwhile_is_not_touched);
	tcase_add_test(t, another_one_under_its_name_is_not_deleted);
	suite_add_tcase(s, t);
	return s;
}
