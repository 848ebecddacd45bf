/* SPDX-License-Identifier: Apache-2.0 */
/* test_state_list.c - tensor_sizes: the tensors of a file. */
#include "job_options.h"
#include "suites.h"
#include "textfile_rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "data/state/state.h"
#include "data/state/state_internal.h"
#include "work/workloads.h"

static void setup(void)
{
	make_place("x.tensors");
}

static void load_list(struct state *s, struct job **j, const char *text, const char *more)
{
	char options[400];
	struct mlgen_err err = { 0 };

	put(text, strlen(text));
	snprintf(options, sizeof(options), "tensor_sizes=%s %s", path, more);
	*j = job_new("x");
	(*j)->phase = PHASE_CHECKPOINT;
	set_options(*j, options);
	if (state_init(s, *j, &err))
		ck_abort_msg("%s", err.text);
}

START_TEST(a_list_has_names_and_sizes)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} want[] = {
		{ "a.weight", 4096 }, { "tensor.1", 100 }, { "b", 3 << 19 }, { "tensor.3", 7 }
	};
	struct state_bytes all;
	struct state_group g;
	struct job *j;
	struct state s;

	load_list(&s, &j, "# a list\n\na.weight 4k\n 100 # plain\n\tb\t1.5m\r\n7", "ranks=2");
	ck_assert_uint_eq(state_groups(&s, 1), 1);
	state_group(&s, 1, 0, &g);
	ck_assert_uint_eq(g.tensors, 4);
	for (uint64_t i = 0; i < 4; i++) {
		struct state_tensor t;

		state_tensor(&s, &g, i, &t);
		ck_assert_str_eq(t.name, want[i].name);
		ck_assert_uint_eq(t.bytes, want[i].bytes);
	}
	ck_assert_uint_eq(g.bytes, 4096 + 100 + (3 << 19) + 7);
	state_all_bytes(&s, &all);
	ck_assert_uint_eq(all.total, 2 * g.bytes);
	ck_assert_uint_eq(state_parameters(&s), 0);
	state_fini(&s);
	job_free(j);
}
END_TEST

START_TEST(a_list_is_scaled_and_has_the_kb_of_its_job)
{
	struct state_group g;
	struct job *j;
	struct state s;

	load_list(&s, &j, "a 1k\nb 40\n", "kb_base=1000 scale=1%");
	state_group(&s, 0, 0, &g);
	ck_assert_uint_eq(g.bytes, 10 + 1);
	state_fini(&s);
	job_free(j);
}
END_TEST

static const struct {
	const char *text;
	size_t bytes; /* 0 = of the string */
	const char *fault;
} lists[] = {
	{ "", 0, "tensor_sizes: PATH: contains no tensor" },
	{ "# nothing\n\n", 0, "tensor_sizes: PATH: contains no tensor" },
	{ "1\n2\nx\n", 0, "PATH:3: 'x': must be a size" },
	{ "1\na 2 3\n", 0, "PATH:2: more than two words" },
	{ "a 0\n", 0, "PATH:1: a tensor of 0 bytes" },
	{ "a -1\n", 0, "PATH:1: '-1': " },
	{ "a 1\nb 2\na 3\n", 0, "PATH:3: 'a' is also the name in line 1" },
	{ "tensor.1 1\n5\n", 0, "PATH:2: 'tensor.1' is also the name in line 1" },
	{ "a\"b 1\n", 0, "PATH:1: 'a\"b': a name may have" },
	{ "a 8191p\nb 1p\n", 0, "PATH:2: the tensors are more than 8 EiB" },
	{ "a 1\n\0\0\n", 7, "PATH:2: the line has more than" },
	{ "\0", 1, "PATH:1: the line has more than" },
};

START_TEST(a_wrong_list_is_told_with_its_line)
{
	char want[200] = "", *at = strstr(lists[_i].fault, "PATH");
	struct mlgen_err err = { 0 };
	struct state_list *l = NULL;

	put(lists[_i].text, lists[_i].bytes ? lists[_i].bytes : strlen(lists[_i].text));
	ck_assert_int_lt(state_list_new(&l, path, 1024, 100, &err), 0);
	ck_assert_ptr_null(l);
	snprintf(want, sizeof(want), "%.*s%s%s", (int)(at - lists[_i].fault), lists[_i].fault, path,
		 at + strlen("PATH"));
	ck_assert_msg(strncmp(err.text, want, strlen(want)) == 0, "%s", err.text);
}
END_TEST

START_TEST(names_and_lines_have_an_end)
{
	char line[700];
	struct mlgen_err err = { 0 };
	struct state_list *l = NULL;

	memset(line, 'a', sizeof(line));
	memcpy(line + STATE_NAME_BYTES - 1, " 1\n", 3);
	put(line, STATE_NAME_BYTES + 2);
	ck_assert_int_eq(state_list_new(&l, path, 1024, 100, &err), 0);
	state_list_free(l);
	memset(line, 'a', sizeof(line));
	memcpy(line + STATE_NAME_BYTES, " 1\n", 3);
	put(line, STATE_NAME_BYTES + 3);
	ck_assert_int_eq(state_list_new(&l, path, 1024, 100, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "at most 127 bytes"));
	memset(line, 'a', sizeof(line));
	put(line, sizeof(line));
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(state_list_new(&l, path, 1024, 100, &err), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "the line has more than 510"));
}
END_TEST

START_TEST(a_million_tensors_are_the_most)
{
	struct mlgen_err err = { 0 };
	struct state_list *l = NULL;
	char *text = mem_zalloc(2 * STATE_LIST_MAX + 2);

	for (size_t i = 0; i <= STATE_LIST_MAX; i++)
		memcpy(text + 2 * i, "1\n", 2);
	put(text, 2 * STATE_LIST_MAX + 2);
	ck_assert_int_eq(state_list_new(&l, path, 1024, 100, &err), -E2BIG);
	put(text, 2 * STATE_LIST_MAX);
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(state_list_new(&l, path, 1024, 100, &err), 0);
	ck_assert_uint_eq(state_list_bytes(l), STATE_LIST_MAX);
	ck_assert_str_eq(state_list_name(l, 999999), "tensor.999999");
	state_list_free(l);
	mem_free(text);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_state_list(void)
{
	Suite *s = suite_create("state_list");
	TCase *t = tcase_create("state_list");

	tcase_add_checked_fixture(t, setup, remove_place);
	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_list_has_names_and_sizes);
	tcase_add_test(t, a_list_is_scaled_and_has_the_kb_of_its_job);
	tcase_add_loop_test(t, a_wrong_list_is_told_with_its_line, 0, ROWS(lists));
	tcase_add_test(t, names_and_lines_have_an_end);
	tcase_add_test(t, a_million_tensors_are_the_most);
	suite_add_tcase(s, t);
	return s;
}
