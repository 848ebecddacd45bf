/* SPDX-License-Identifier: Apache-2.0 */
/* test_parquet_plan.c - what is read of Parquet files for a sample. */
#include <stdio.h>

#include "data/file/file.h"
#include "parquet_rig.h"
#include "suites.h"

START_TEST(all_columns_are_read_where_none_are_named)
{
	struct table t = dlrm;
	struct dataset ds;

	t.read = NULL;
	ck_assert_uint_eq(make(&ds, &t)->read_count, 200);
	ck_assert_uint_eq(parquet_read_bytes(&ds), 761);
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_sample_lies_where_its_row_group_does)
{
	static const struct range_case {
		uint64_t first, n, group, groups;
	} cases[] = {
		{ 0, 1, 0, 1 },       { 0, 1000, 0, 1 }, { 999, 1, 0, 1 },
		{ 1000, 1000, 1, 1 }, { 999, 2, 0, 2 },  { 5000, 1000, 5, 1 },
	};
	struct file_shape shape;
	struct dataset ds;
	const struct parquet *p = make(&ds, &tables[4]);

	format_shape(&ds, 0, &shape);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t off, len;

		format_parquet.sample_range(&shape, cases[i].first, cases[i].n, &off, &len);
		ck_assert_uint_eq(off, 4 + cases[i].group * p->group_bytes);
		ck_assert_uint_eq(len, cases[i].groups * p->group_bytes);
	}
	dataset_fini(&ds);
}
END_TEST

static void next_is(struct plan *p, enum mlgen_op op, uint64_t off, uint64_t len)
{
	struct plan_op got;

	ck_assert(plan_next(p, &got));
	ck_assert_int_eq(got.op, op);
	ck_assert_uint_eq(got.off, off);
	ck_assert_uint_eq(got.len_bytes, len);
	ck_assert_uint_eq(got.got_bytes, len);
	ck_assert(got.after);
}

static void chunks_are_next(struct plan *plan, const struct parquet *p, uint64_t group)
{
	for (unsigned i = 0; i < p->columns.count; i++)
		if (p->columns.list[i].is_read)
			next_is(plan, MLGEN_READ, 4 + group * p->group_bytes + p->chunks[i].off,
				p->chunks[i].bytes);
}

static void is_over(struct plan *plan)
{
	struct plan_op op;

	next_is(plan, MLGEN_CLOSE, 0, 0);
	ck_assert(!plan_next(plan, &op));
	ck_assert(!plan_next(plan, &op));
}

static void begin(struct plan *plan, const struct plan_config *config, uint64_t id)
{
	struct extent x;

	dataset_extent(config->dataset, id, &x);
	plan_init(plan, config, &x);
}

START_TEST(the_first_row_group_of_a_file_reads_its_footer)
{
	struct dataset ds;
	const struct plan_config config = { .dataset = &ds, .access = ACCESS_FRAMEWORK };
	const struct parquet *p = make(&ds, &tables[_i]);
	uint64_t tail = p->file_bytes < 65536 ? p->file_bytes : 65536;
	struct plan plan;

	begin(&plan, &config, 2 * p->groups); /* of file 2 */
	next_is(&plan, MLGEN_OPEN, 0, 0);
	next_is(&plan, MLGEN_STAT, 0, 0);
	next_is(&plan, MLGEN_READ, p->file_bytes - tail, tail);
	if (p->footer_bytes + 8 > 65536)
		next_is(&plan, MLGEN_READ, p->footer_off, p->footer_bytes);
	chunks_are_next(&plan, p, 0);
	is_over(&plan);
	dataset_fini(&ds);
}
END_TEST

/* A file whose footer and tail have `least` to `least` + 7 bytes together: by the length of a name
 * and the number of row groups. */
static void make_footer(struct dataset *ds, uint64_t least)
{
	for (uint64_t rows = 600; rows < 1500; rows++) {
		for (int letters = 1; letters < 50; letters++) {
			char column[64];
			const struct table t = { rows, 1, 8, column, NULL };
			uint64_t bytes;

			snprintf(column, sizeof(column), "%0*d:int64", letters, 1);
			bytes = make(ds, &t)->footer_bytes + 8;
			if (bytes >= least && bytes < least + 8)
				return;
			dataset_fini(ds);
		}
	}
	ck_abort_msg("no footer of %lu bytes", (unsigned long)least);
}

START_TEST(only_a_footer_that_did_not_fit_is_read_again)
{
	struct dataset ds;
	const struct plan_config config = { .dataset = &ds, .access = ACCESS_FRAMEWORK };
	/* The one column makes one read more. */
	static const struct {
		uint64_t least;
		unsigned reads;
	} cases[] = { { 65536 - 7, 2 }, { 65536 + 1, 3 } };
	struct plan_counts c;
	struct extent x;

	make_footer(&ds, cases[_i].least);
	dataset_extent(&ds, 0, &x);
	plan_count(&config, &x, &c);
	ck_assert_uint_eq(c.ops[MLGEN_READ], cases[_i].reads);
	dataset_fini(&ds);
}
END_TEST

START_TEST(other_row_groups_read_only_their_columns)
{
	struct dataset ds;
	const struct plan_config config = { .dataset = &ds, .access = ACCESS_FRAMEWORK };
	const struct parquet *p = make(&ds, &dlrm);
	struct plan plan;
	struct plan_op op;

	begin(&plan, &config, 768 + 5);
	next_is(&plan, MLGEN_OPEN, 0, 0);
	chunks_are_next(&plan, p, 5);
	is_over(&plan);
	begin(&plan, &config, 768);
	for (int i = 0; i < 4; i++)
		ck_assert(plan_next(&plan, &op)); /* the last: whole footer */
	ck_assert_uint_eq(op.off, p->footer_off);
	ck_assert_uint_eq(op.len_bytes, p->footer_bytes);
	ck_assert_uint_eq(plan_largest_read(&config), p->footer_bytes);
	dataset_fini(&ds);
}
END_TEST

START_TEST(counting_is_going_through_all_of_them)
{
	struct dataset ds;
	const struct plan_config config = { .dataset = &ds, .access = ACCESS_FRAMEWORK };
	const struct parquet *p = make(&ds, _i < TABLES ? &tables[_i] : &dlrm);
	uint64_t last = p->groups - 1;

	for (uint64_t id = 0; id <= last; id += last ? last : 1) {
		struct plan_counts sum = { 0 }, c;
		uint64_t largest = 0;
		struct extent x;
		struct plan plan;
		struct plan_op op;

		begin(&plan, &config, id);
		while (plan_next(&plan, &op)) {
			sum.ops[op.op]++;
			if (op.op == MLGEN_READ)
				sizes_add(&sum.reads, op.len_bytes, 1);
			sum.io_bytes += op.got_bytes;
			if (op.len_bytes > largest)
				largest = op.len_bytes;
		}
		dataset_extent(&ds, id, &x);
		plan_count(&config, &x, &c);
		ck_assert_mem_eq(&c, &sum, sizeof(c));
		ck_assert_uint_le(largest, plan_largest_read(&config));
	}
	dataset_fini(&ds);
}
END_TEST

Suite *suite_parquet_plan(void)
{
	Suite *s = suite_create("parquet_plan");
	TCase *t = tcase_create("parquet_plan");

	tcase_add_test(t, all_columns_are_read_where_none_are_named);
	tcase_add_test(t, a_sample_lies_where_its_row_group_does);
	tcase_add_loop_test(t, the_first_row_group_of_a_file_reads_its_footer, 0, TABLES);
	tcase_add_loop_test(t, only_a_footer_that_did_not_fit_is_read_again, 0, 2);
	tcase_add_test(t, other_row_groups_read_only_their_columns);
	tcase_add_loop_test(t, counting_is_going_through_all_of_them, 0, TABLES + 1);
	suite_add_tcase(s, t);
	return s;
}
