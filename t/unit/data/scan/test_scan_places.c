/* SPDX-License-Identifier: Apache-2.0 */
/* test_scan_places.c - what directory= may name: lists, patterns, braces. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/scan/scan.h"
#include "data/scan/scan_internal.h"
#include "suites.h"
#include "temp.h"

static char directory[TEMP_BYTES];
static struct mlgen_err err;

static void set_up(void)
{
	temp_folder(directory);
	ck_assert_int_eq(chdir(directory), 0);
	memset(&err, 0, sizeof(err));
}

static void tear_down(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	temp_remove(directory);
}

static void put(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0644);

	ck_assert_int_ge(fd, 0);
	close(fd);
}

/* "A B C", of all names, and none is left to free. */
static char *join(struct namelist *l)
{
	static char text[4096];

	text[0] = '\0';
	for (size_t i = 0; i < l->count; i++) {
		strcat(text, i ? " " : "");
		strcat(text, l->at[i]);
	}
	namelist_fini(l);
	return text;
}

START_TEST(braces_stand_for_names)
{
	static const struct {
		const char *name, *names;
	} cases[] = {
		{ "plain", "plain" },
		{ "", "" },
		{ "s-{000..003}.tar", "s-000.tar s-001.tar s-002.tar s-003.tar" },
		{ "{8..11}", "8 9 10 11" },
		{ "{8..011}", "008 009 010 011" },
		{ "{3..1}", "3 2 1" },
		{ "{-1..1}", "-1 0 1" },
		{ "{-01..01}", "-01 000 001" },
		{ "{0..6..3}", "0 3 6" },
		{ "{6..0..-4}", "6 2" },
		{ "{1..3..0}", "1 2 3" },
		{ "{5..5}", "5" },
		{ "{a..d}", "a b c d" },
		{ "{d..a..2}", "d b" },
		{ "{a,b}/{0..1}x", "a/0x a/1x b/0x b/1x" },
		{ "{a,b{1..2},{c,d}}", "a b1 b2 c d" },
		{ "{a,}x", "ax x" },
		{ "{,}", " " },
		{ "{a}", "{a}" },
		{ "{}", "{}" },
		{ "{", "{" },
		{ "}", "}" },
		{ "a}b{", "a}b{" },
		{ "{x{1,2}}", "{x1} {x2}" },
		{ "{a{1,2}", "{a1 {a2" },
		{ "{1..x}", "{1..x}" },
		{ "{1..}", "{1..}" },
		{ "{..}", "{..}" },
		{ "{1..2..}", "{1..2..}" },
		{ "{1..2..3..4}", "{1..2..3..4}" },
		{ "{1...2}", "{1...2}" },
		{ "{-..2}", "{-..2}" },
		{ "{1..99999999999999999999}", "{1..99999999999999999999}" },
	};
	struct namelist l = { 0 };

	ck_assert_int_eq(braces_expand(&l, cases[_i].name, &err), 0);
	ck_assert_str_eq(join(&l), cases[_i].names);
}
END_TEST

START_TEST(too_many_names_are_refused)
{
	static const char *const names[] = {
		"{0..1000000}",
		"{0..999999999999999999}",
		"{-999999999999999999..999999999999999999}",
		"{0..999}{0..999}{0..999}",
		("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{"
		 "a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}"),
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct namelist l = { 0 };

		memset(&err, 0, sizeof(err));
		ck_assert_int_eq(braces_expand(&l, names[i], &err), -E2BIG);
		ck_assert_ptr_nonnull(strstr(err.text, "more names than"));
		ck_assert_uint_eq(l.count, 0);
	}
}
END_TEST

/* "BASE: NAME NAME/": folders end in a slash here. */
static const char *found(const char *where)
{
	static char text[4096];
	struct scan_places p;
	int r = places_find(&p, where, &err);

	ck_assert_msg(r == 0, "%s: %s", where, err.text);
	snprintf(text, sizeof(text), "%s:", p.base);
	for (size_t i = 0; i < p.count; i++) {
		strcat(text, " ");
		strcat(text, p.at[i].name);
		strcat(text, p.at[i].is_folder ? "/" : "");
	}
	places_fini(&p);
	return text;
}

static void refused(const char *where, int code, const char *words)
{
	struct scan_places p;

	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(places_find(&p, where, &err), code);
	ck_assert_msg(strstr(err.text, words), "%s", err.text);
	places_fini(&p);
}

static void put_tree(void)
{
	ck_assert_int_eq(system("mkdir -p a b ab/c ab/d x:y '{p,q}' '*'"), 0);
	put("a/0.tar");
	put("a/1.tar");
	put("b/0.tar");
	put("l:m");
}

START_TEST(places_are_lists_patterns_and_braces)
{
	static const struct {
		const char *where, *what;
	} cases[] = {
		{ "a", "a: /" },
		{ "a/", "a: /" },
		{ ".", ".: /" },
		{ "./a//", "./a: /" },
		{ "a:b", ".: a/ b/" },
		{ ":a::b:", ".: a/ b/" },
		{ "ab/c:ab/d", "ab: c/ d/" },
		{ "./ab//c/:ab/./d", "ab: c/ d/" },
		{ "ab/c:ab", "ab: c/ /" },
		{ "a:.", ".: a/ /" },
		{ "a:ab", ".: a/ ab/" },
		{ "x\\:y", "x:y: /" },
		{ "x:y", "x:y: /" },
		{ "x\\:y:a", ".: x:y/ a/" },
		{ "{p,q}", "{p,q}: /" },
		{ "*", "*: /" },
		{ "a/0.tar", "a: 0.tar" },
		{ "l\\:m", ".: l:m" },
		{ "{a,b}/0.tar", ".: a/0.tar b/0.tar" },
		{ "a/{0..1}.tar", "a: 0.tar 1.tar" },
		{ "a/*.tar", "a: 0.tar 1.tar" },
		{ "?/[0]*", ".: a/0.tar b/0.tar" },
		{ "{a,b}/*:ab/?", ".: a/0.tar a/1.tar b/0.tar ab/c/ ab/d/" },
	};

	put_tree();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		ck_assert_str_eq(found(cases[i].where), cases[i].what);
}
END_TEST

START_TEST(places_may_be_anywhere)
{
	char where[256], want[256];

	put_tree();
	snprintf(where, sizeof(where), "%s/ab/c:%s/ab/d", directory, directory);
	snprintf(want, sizeof(want), "%s/ab: c/ d/", directory);
	ck_assert_str_eq(found(where), want);
	/* a relative one among others is made like them */
	snprintf(where, sizeof(where), "a:%s/b", directory);
	snprintf(want, sizeof(want), "%s: a/ b/", directory);
	ck_assert_str_eq(found(where), want);
	snprintf(where, sizeof(where), "%s/a/0.tar:/", directory);
	snprintf(want, sizeof(want), "/: %s/a/0.tar /", directory + 1);
	ck_assert_str_eq(found(where), want);
	ck_assert_str_eq(found("/"), "/: /");
	ck_assert_int_eq(chdir("a"), 0);
	ck_assert_str_eq(found("../ab/c:../ab/d"), "../ab: c/ d/");
	ck_assert_str_eq(found("..:../b"), "..: / b/");
}
END_TEST

START_TEST(places_that_are_not_there_are_named)
{
	char name[8192];

	put_tree();
	ck_assert_int_eq(mkfifo("pipe", 0644), 0);
	refused("no", -ENOENT, "no: No such file or directory; dataset=scan");
	refused("a:no", -ENOENT, "no: No such file");
	refused("a/{0..2}.tar", -ENOENT, "a/2.tar: No such file");
	refused("a/{0..5}.tar", -ENOENT,
		"a/2.tar: No such file or directory; dataset=scan reads the files of a directory "
		"that exists (the same for 4 of the 6 names of a/{0..5}.tar)");
	refused("a/*.npy", -ENOENT, "directory: nothing matches a/*.npy");
	refused("a:pipe", -EINVAL, "pipe: a socket, pipe or device");
	refused("pipe", -EINVAL, "pipe: a socket, pipe or device");
	refused("a/0.tar/x", -ENOTDIR, "a/0.tar/x: Not a directory");
	refused(":", -EINVAL, "directory: ':' names nothing");
	refused("{0..9999999}", -E2BIG, "more names than");
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	refused(name, -ENAMETOOLONG, "too long");
}
END_TEST

/* As found(), of the part that is trained with or evaluated with. */
static const char *part(const char *where, bool evaluates)
{
	static char text[4096];
	struct scan_places p;

	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(places_find(&p, where, &err), 0);
	if (!evaluates) {
		places_select_training(&p, false);
	} else if (places_select_evaluation(&p, false, &err)) {
		places_fini(&p);
		return "none";
	}
	text[0] = '\0';
	for (size_t i = 0; i < p.count; i++) {
		strcat(text, i ? " " : "");
		strcat(text, p.at[i].name);
	}
	places_fini(&p);
	return text;
}

START_TEST(train_and_valid_are_parts_of_a_place)
{
	static const struct {
		const char *folders, *where, *train, *valid;
	} cases[] = {
		{ "d/train d/valid", "d", "train", "valid" },
		{ "d/train d/valid d/x", "d", "train", "valid" },
		{ "d/train", "d", "train", "none" },
		{ "d/train d/val d/index d/.x", "d", "train", "none" },
		{ "d/train d/car", "d", "", "none" },
		{ "d/valid", "d", "", "none" },
		{ "d", "d", "", "none" },
		{ "d/train d/valid e/train e/valid f", "d:e:f", "d/train e/train f",
		  "d/valid e/valid" },
		{ "d e/train e/valid", "d:e", "d e/train", "e/valid" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char command[256];

		snprintf(command, sizeof(command), "rm -rf *; mkdir -p %s", cases[i].folders);
		ck_assert_int_eq(system(command), 0);
		ck_assert_str_eq(part(cases[i].where, false), cases[i].train);
		ck_assert_str_eq(part(cases[i].where, true), cases[i].valid);
	}
	/* a file of that name is none, a link is one */
	ck_assert_int_eq(system("rm -rf *; mkdir d; touch d/train"), 0);
	ck_assert_str_eq(part("d", false), "");
	ck_assert_int_eq(system("rm d/train; mkdir e; ln -s ../e d/train"), 0);
	ck_assert_str_eq(part("d", false), "train");
}
END_TEST

Suite *suite_scan_places(void)
{
	Suite *s = suite_create("scan_places");
	TCase *t = tcase_create("scan_places");

	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_loop_test(t, braces_stand_for_names, 0, 33);
	tcase_add_test(t, too_many_names_are_refused);
	tcase_add_test(t, places_are_lists_patterns_and_braces);
	tcase_add_test(t, places_may_be_anywhere);
	tcase_add_test(t, places_that_are_not_there_are_named);
	tcase_add_test(t, train_and_valid_are_parts_of_a_place);
	suite_add_tcase(s, t);
	return s;
}
