/* SPDX-License-Identifier: Apache-2.0 */
/* test_metrics.c - keys of the JSON document have sentences, and tables that are listed. */
#include <check.h>

#include "metrics_rig.h"
#include "suites.h"

static bool is_sentence(const char *help)
{
	size_t len = help ? strlen(help) : 0;

	return len > 2 && help[len - 1] == '.' && help[0] >= 'A' && help[0] <= 'Z';
}

static bool is_listed(const struct mlgen_field *table)
{
	for (const struct metrics_section *s = metrics_sections; s->table; s++)
		if (s->table == table)
			return true;
	return false;
}

START_TEST(every_key_has_a_sentence)
{
	unsigned keys = 0;

	for (const struct metrics_section *s = metrics_sections; s->table; s++)
		for (const struct mlgen_field *f = s->table; f->name; f++) {
			ck_assert_msg(is_sentence(f->help), "%s.%s", s->path, f->name);
			keys++;
		}
	ck_assert_uint_gt(keys, 150);
}
END_TEST

START_TEST(no_object_has_a_key_twice)
{
	for (const struct metrics_section *s = metrics_sections; s->table; s++)
		for (const struct mlgen_field *f = s->table; f->name; f++)
			for (const struct mlgen_field *g = f + 1; g->name; g++)
				ck_assert_msg(strcmp(f->name, g->name) != 0, "%s.%s", s->path,
					      f->name);
}
END_TEST

START_TEST(every_table_inside_another_is_listed)
{
	for (const struct metrics_section *s = metrics_sections; s->table; s++)
		for (const struct mlgen_field *f = s->table; f->name; f++)
			ck_assert_msg(!f->sub || is_listed(f->sub), "%s.%s", s->path, f->name);
}
END_TEST

Suite *suite_metrics(void)
{
	Suite *s = suite_create("metrics");
	TCase *t = tcase_create("metrics");

	tcase_add_test(t, every_key_has_a_sentence);
	tcase_add_test(t, no_object_has_a_key_twice);
	tcase_add_test(t, every_table_inside_another_is_listed);
	suite_add_tcase(s, t);
	return s;
}
