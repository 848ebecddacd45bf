/* SPDX-License-Identifier: Apache-2.0 */
/* test_yaml_tree.c - a YAML document is read as a tree, or refused with its place. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "config.h"
#include "import/dlio/yaml_tree.h"
#include "suites.h"

#ifdef HAVE_YAML

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

/* Texts of numbers and words bare, others in quotes; the form of a dump. */
static void dump(struct buf *out, const struct yaml_node *n)
{
	if (n->kind == YAML_TEXT) {
		buf_addf(out, n->is_plain ? "%s" : "'%s'", n->text);
		return;
	}
	buf_addc(out, n->kind == YAML_MAP ? '{' : '[');
	for (size_t i = 0; i < n->count; i++) {
		buf_add(out, i ? " " : "");
		if (n->kind == YAML_MAP)
			buf_addf(out, "%s:", n->at[i].key->text);
		dump(out, n->at[i].value);
	}
	buf_addc(out, n->kind == YAML_MAP ? '}' : ']');
}

static int parse(struct yaml_tree *t, const char *text, struct yaml_node **root,
		 struct mlgen_err *err)
{
	return yaml_tree_parse(t, "f", true, text, strlen(text), root, err);
}

/* ---- what is read ---- */

/* clang-format off */
static const struct {
	const char *text, *want;
} good[] = {
	{ "a", "a" },
	{ "a: 1\nb: {c: 2, d: [3, 4]}\n", "{a:1 b:{c:2 d:[3 4]}}" },
	{ "a: '1'\nb: \"x\\ty\"\n", "{a:'1' b:'x\ty'}" },
	{ "a: !!str 5", "{a:'5'}" },
	{ "a:\nb: ~\n", "{a: b:~}" },
	{ "a: # comment\n  - 1\n  - {b: 2}\n", "{a:[1 {b:2}]}" },
	{ "a: &x [1]\nb: *x\n", "{a:[1] b:[1]}" },
	{ "a: &x 1\nb: &x 2\nc: *x\n", "{a:1 b:2 c:2}" },
	{ "a: &x {k: 1, m: 2}\nb: {<<: *x, m: 3}\n", "{a:{k:1 m:2} b:{m:3 k:1}}" },
	{ "b: {<<: [{k: 1}, {k: 2, m: 3}], n: 4}\n", "{b:{n:4 k:1 m:3}}" },
	{ "b: {m: 3, '<<': 4}\n", "{b:{m:3 <<:4}}" },
	{ "--- \na: 1\n...\n", "{a:1}" },
	{ "a: |\n  x\n  y\n", "{a:'x\ny\n'}" },
	{ "\xef\xbb\xbf" "a: 1\n", "{a:1}" },
	{ "a: 1\r\nb: 2\r\n", "{a:1 b:2}" },
};

static const struct {
	const char *text, *want;
} bad[] = {
	{ "a: {", "f:2:1: not YAML: " },
	{ "a: 1\nb\n", "f:" },
	{ "a:\n\tb: 1\n", "f:2:1: a tab in the indentation" },
	{ "a:\n  b: 1\n \tc: 2\n", "f:3:" },
	{ "a: 1\nb: 2\na: 3\n", "f:3:1: a: is already in line 1" },
	{ "a: {b: 1, 'b': 2}", "f:1:11: b: is already in line 1" },
	{ "a: 1\n---\nb: 2\n", "f:2:1: a second document begins" },
	{ "a: *x", "f:1:4: *x: there is no anchor &x above" },
	{ "a: &x [1, *x]", "f:1:11: *x: this alias refers to a value that contains it" },
	{ "&x a: {b: &y {c: *y}}", "f:1:18: *y: this alias refers" },
	{ "? [a]\n: b\n", "f:1:3: a key must not be a list or a map" },
	{ "a: {<<: 5}", "f:1:5: <<: needs a map, or a list of maps" },
	{ "a: {<<: [5]}", "f:1:5: <<: needs a map, or a list of maps" },
	{ "a: \"x\\0y\"", "f:1:4: a NUL byte in a string" },
	{ "a: \x01", "f:1:4: not text: " },
	{ "a: \xff\xfe", "f:1:4: not text: " },
};
/* clang-format on */

START_TEST(a_document_is_read)
{
	struct yaml_tree t = { 0 };
	struct mlgen_err err = { 0 };
	struct yaml_node *root = NULL;
	struct buf got = { 0 };

	ck_assert_int_eq(parse(&t, good[_i].text, &root, &err), 0);
	dump(&got, root);
	ck_assert_str_eq(buf_str(&got), good[_i].want);
	buf_fini(&got);
	yaml_tree_fini(&t);
}
END_TEST

START_TEST(a_fault_has_its_place)
{
	struct yaml_tree t = { 0 };
	struct mlgen_err err = { 0 };
	struct yaml_node *root = NULL;

	ck_assert_int_eq(parse(&t, bad[_i].text, &root, &err), -EINVAL);
	ck_assert_ptr_null(root);
	ck_assert_msg(strncmp(err.text, bad[_i].want, strlen(bad[_i].want)) == 0, "%s", err.text);
	yaml_tree_fini(&t);
}
END_TEST

START_TEST(nothing_is_no_root)
{
	static const char *const texts[] = { "", "\n\n", "# comment\n" };
	struct yaml_tree t = { 0 };
	struct mlgen_err err = { 0 };
	struct yaml_node *root = (struct yaml_node *)&t;

	ck_assert_int_eq(parse(&t, texts[_i], &root, &err), 0);
	ck_assert_ptr_null(root);
	yaml_tree_fini(&t);
}
END_TEST

START_TEST(nodes_know_where_they_stand)
{
	struct yaml_tree t = { 0 };
	struct mlgen_err err = { 0 };
	struct yaml_node *root = NULL;
	const struct yaml_node *n;
	struct buf place = { 0 };

	ck_assert_int_eq(parse(&t, "a: 1\nb:\n   c:  xy\n", &root, &err), 0);
	n = yaml_find(yaml_find(root, "b"), "c");
	ck_assert_str_eq(n->text, "xy");
	yaml_place(&place, n);
	ck_assert_str_eq(buf_str(&place), "f:3:8");
	ck_assert_ptr_null(yaml_find(root, "c"));
	ck_assert_ptr_null(yaml_find(n, "c"));
	ck_assert_ptr_null(yaml_find(NULL, "c"));
	buf_fini(&place);
	yaml_tree_fini(&t);
}
END_TEST

START_TEST(null_has_several_spellings)
{
	static const struct {
		const char *text;
		bool is_null;
	} rows[] = { { "a:", true },        { "a: ~", true },  { "a: null", true },
		     { "a: ''", false },    { "a: 0", false }, { "a: []", false },
		     { "a: 'null'", false } };
	struct yaml_tree t = { 0 };
	struct mlgen_err err = { 0 };
	struct yaml_node *root = NULL;

	ck_assert_int_eq(parse(&t, rows[_i].text, &root, &err), 0);
	ck_assert_int_eq(yaml_is_null(yaml_find(root, "a")), rows[_i].is_null);
	yaml_tree_fini(&t);
}
END_TEST

/* ---- limits ---- */

static void repeat(struct buf *out, const char *text, unsigned times)
{
	while (times--)
		buf_add(out, text);
}

static int parse_buf(struct buf *text, struct mlgen_err *err, size_t *nodes)
{
	struct yaml_tree t = { 0 };
	struct yaml_node *root;
	int rc = parse(&t, buf_str(text), &root, err);

	*nodes = t.nodes.count;
	yaml_tree_fini(&t);
	buf_fini(text);
	return rc;
}

START_TEST(depth_is_limited)
{
	struct buf text = { 0 };
	struct mlgen_err err = { 0 };
	size_t nodes;

	repeat(&text, "[", YAML_DEPTH_MAX);
	repeat(&text, "]", YAML_DEPTH_MAX);
	ck_assert_int_eq(parse_buf(&text, &err, &nodes), 0);
	repeat(&text, "[", YAML_DEPTH_MAX + 1);
	repeat(&text, "]", YAML_DEPTH_MAX + 1);
	ck_assert_int_eq(parse_buf(&text, &err, &nodes), -EINVAL);
	ck_assert_str_eq(err.text, "f:1:33: more than 32 levels deep");
}
END_TEST

START_TEST(values_are_limited)
{
	struct buf text = { 0 };
	struct mlgen_err err = { 0 };
	size_t nodes;

	buf_addc(&text, '[');
	repeat(&text, "1,", YAML_NODES_MAX);
	buf_addc(&text, ']');
	ck_assert_int_eq(parse_buf(&text, &err, &nodes), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "more than 100000 values"));
	ck_assert_uint_eq(nodes, YAML_NODES_MAX);
}
END_TEST

START_TEST(aliases_take_no_memory)
{
	struct buf text = { 0 };
	struct mlgen_err err = { 0 };
	size_t nodes;

	buf_add(&text, "a: &a [1]\n");
	for (char c = 'b'; c < 'p'; c++) {
		buf_addf(&text, "%c: &%c [", c, c);
		for (unsigned i = 0; i < 10; i++)
			buf_addf(&text, "*%c,", c - 1);
		buf_add(&text, "]\n");
	}
	ck_assert_int_eq(parse_buf(&text, &err, &nodes), 0);
	ck_assert_uint_le(nodes, 40);
}
END_TEST

START_TEST(aliases_and_anchors_are_limited)
{
	struct buf text = { 0 };
	struct mlgen_err err = { 0 };
	size_t nodes;

	buf_add(&text, "[&a 1,");
	repeat(&text, _i ? "*a," : "&b 1,", YAML_ALIASES_MAX + 1);
	buf_addc(&text, ']');
	ck_assert_int_eq(parse_buf(&text, &err, &nodes), -EINVAL);
	ck_assert_ptr_nonnull(
		strstr(err.text, _i ? "more than 1000 aliases" : "more than 1000 anchors"));
}
END_TEST

START_TEST(merges_are_limited)
{
	struct buf text = { 0 };
	struct mlgen_err err = { 0 };
	size_t nodes;

	buf_add(&text, "a: &a {");
	for (unsigned i = 0; i < 1000; i++)
		buf_addf(&text, "k%u: 1, ", i);
	buf_add(&text, "}\nb:\n");
	repeat(&text, "- {<<: *a}\n", 20);
	ck_assert_int_eq(parse_buf(&text, &err, &nodes), -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "<<: merges too many keys"));
}
END_TEST

/* ---- setting ---- */

/* clang-format off */
static const struct {
	const char *path, *want; /* of {a:1 s:{x:1} t:{x:1}}, s and t one */
} sets[] = {
	{ "a", "{a:[7] s:{x:1} t:{x:1}}" },
	{ "b", "{a:1 s:{x:1} t:{x:1} b:[7]}" },
	{ "b.c.d", "{a:1 s:{x:1} t:{x:1} b:{c:{d:[7]}}}" },
	{ "s.x", "{a:1 s:{x:[7]} t:{x:1}}" },
	{ "t.y", "{a:1 s:{x:1} t:{x:1 y:[7]}}" },
	{ "a.b", NULL },
	{ "s.", NULL },
	{ ".s", NULL },
	{ "s..x", NULL },
};
/* clang-format on */

START_TEST(a_value_can_be_set)
{
	const char *text = "{a: 1, s: &m {x: 1}, t: *m}";
	struct yaml_tree t = { 0 };
	struct mlgen_err err = { 0 };
	struct yaml_node *root = NULL, *value = NULL;
	struct buf got = { 0 };
	int rc;

	ck_assert_int_eq(parse(&t, text, &root, &err), 0);
	ck_assert_int_eq(yaml_tree_parse(&t, "+p=[7]", false, "[7]", 3, &value, &err), 0);
	rc = yaml_tree_set(&t, root, sets[_i].path, value, &err);
	if (sets[_i].want) {
		ck_assert_int_eq(rc, 0);
		dump(&got, root);
		ck_assert_str_eq(buf_str(&got), sets[_i].want);
	} else {
		ck_assert_int_eq(rc, -EINVAL);
		ck_assert_ptr_eq(strstr(err.text, "+p=[7]: "), err.text);
	}
	buf_fini(&got);
	yaml_tree_fini(&t);
}
END_TEST

START_TEST(a_file_that_cannot_be_read_is_named)
{
	struct yaml_tree t = { 0 };
	struct mlgen_err err = { 0 }, dir = { 0 };
	struct yaml_node *root;

	ck_assert_int_eq(yaml_tree_read(&t, "/nowhere/x.yaml", &root, &err), -ENOENT);
	ck_assert_ptr_eq(strstr(err.text, "/nowhere/x.yaml: "), err.text);
	ck_assert_int_eq(yaml_tree_read(&t, "/", &root, &dir), -EISDIR);
	yaml_tree_fini(&t);
}
END_TEST

Suite *suite_yaml_tree(void)
{
	Suite *s = suite_create("yaml_tree");
	TCase *t = tcase_create("reading");
	TCase *l = tcase_create("limits");

	tcase_add_loop_test(t, a_document_is_read, 0, COUNT(good));
	tcase_add_loop_test(t, a_fault_has_its_place, 0, COUNT(bad));
	tcase_add_loop_test(t, nothing_is_no_root, 0, 3);
	tcase_add_test(t, nodes_know_where_they_stand);
	tcase_add_loop_test(t, null_has_several_spellings, 0, 7);
	tcase_add_loop_test(t, a_value_can_be_set, 0, COUNT(sets));
	tcase_add_test(t, a_file_that_cannot_be_read_is_named);
	suite_add_tcase(s, t);
	tcase_add_test(l, depth_is_limited);
	tcase_add_test(l, values_are_limited);
	tcase_add_test(l, aliases_take_no_memory);
	tcase_add_loop_test(l, aliases_and_anchors_are_limited, 0, 2);
	tcase_add_test(l, merges_are_limited);
	suite_add_tcase(s, l);
	return s;
}

#else

START_TEST(what_is_missing_is_named)
{
	struct yaml_tree t = { 0 };
	struct mlgen_err err = { 0 };
	struct yaml_node *root;

	ck_assert_int_eq(yaml_tree_read(&t, "x.yaml", &root, &err), -ENOTSUP);
	ck_assert_ptr_nonnull(strstr(err.text, PACKAGES_YAML));
}
END_TEST

Suite *suite_yaml_tree(void)
{
	Suite *s = suite_create("yaml_tree");
	TCase *t = tcase_create("left out");

	tcase_add_test(t, what_is_missing_is_named);
	suite_add_tcase(s, t);
	return s;
}

#endif
