/* SPDX-License-Identifier: Apache-2.0 */
/* test_plan.c - the operations of every plan, one by one. */
#include <check.h>
#include <string.h>

#include "data/file/file.h"
#include "plan_rig.h"
#include "suites.h"

/* clang-format off */
static const struct plan_case {
	const char *what;
	int format;
	uint64_t per_file;
	double bytes;
	uint64_t id;		/* of the extent */
	uint64_t bs, align;
	struct {
		uint64_t off, len;
		bool eof_ok;
	} reads[8];
	uint64_t io_bytes;
} cases[] = {
	{ "raw in four requests, the last one short", FORMAT_RAW, 1, 3500, 2,
	  1024, 0,
	  { { 0, 1024, false }, { 1024, 1024, false }, { 2048, 1024, false },
	    { 3072, 428, false } }, 3500 },
	{ "one request when bs is larger", FORMAT_RAW, 1, 3500, 2, 1 << 20, 0,
	  { { 0, 3500, false } }, 3500 },
	{ "no empty request at an even end", FORMAT_RAW, 1, 2048, 2, 1024, 0,
	  { { 0, 1024, false }, { 1024, 1024, false } }, 2048 },
	{ "npz with one sample is read whole", FORMAT_NPZ, 1, 1000, 0, 4096, 0,
	  { { 0, 1498, false } }, 1498 },
	{ "npz with several: the sample's bytes", FORMAT_NPZ, 4, 1000, 6, 4096,
	  0, { { 183 + 2000, 1000, false } }, 1000 },
	{ "direct: whole blocks, past the end", FORMAT_RAW, 1, 3500, 2, 1024,
	  512,
	  { { 0, 1024, false }, { 1024, 1024, false }, { 2048, 1024, false },
	    { 3072, 512, true } }, 3500 },
	{ "direct: both sides rounded inside a file", FORMAT_NPZ, 4, 1000, 6,
	  1024, 512, { { 2048, 1024, false }, { 3072, 512, false } }, 1536 },
	{ "direct: a block that ends with the file", FORMAT_RAW, 1, 4096, 1,
	  1 << 20, 4096, { { 0, 4096, false } }, 4096 },
	{ "direct: the last sample of a file", FORMAT_RAW, 3, 1000, 2, 4096,
	  512, { { 1536, 1536, true } }, 1464 },
};
/* clang-format on */

static const struct plan_case *set_up(int i, struct dataset *ds, struct plan_config *config,
				      struct extent *x)
{
	const struct plan_case *c = &cases[i];

	make(ds, c->format, c->per_file, c->bytes);
	*config = (struct plan_config){ .dataset = ds, .bs_bytes = c->bs, .align_bytes = c->align };
	dataset_extent(ds, c->id, x);
	return c;
}

START_TEST(operations_come_in_order)
{
	struct dataset ds;
	struct plan_config config;
	struct extent x;
	struct plan_op op;
	struct plan p;
	const struct plan_case *c = set_up(_i, &ds, &config, &x);

	plan_init(&p, &config, &x);
	ck_assert(plan_next(&p, &op));
	ck_assert_int_eq(op.op, MLGEN_OPEN);
	for (size_t i = 0; i < 8 && c->reads[i].len; i++) {
		ck_assert_msg(plan_next(&p, &op), "%s", c->what);
		ck_assert_int_eq(op.op, MLGEN_READ);
		ck_assert_msg(op.off == c->reads[i].off && op.len_bytes == c->reads[i].len &&
				      (op.got_bytes < op.len_bytes) == c->reads[i].eof_ok,
			      "%s: read %lu at %lu", c->what, (unsigned long)op.len_bytes,
			      (unsigned long)op.off);
		ck_assert(op.after == (i == 0));
	}
	ck_assert(plan_next(&p, &op));
	ck_assert_msg(op.op == MLGEN_CLOSE, "%s", c->what);
	ck_assert(op.after);
	ck_assert(!plan_next(&p, &op));
	ck_assert(!plan_next(&p, &op));
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_chain_is_an_open_one_read_and_a_close)
{
	struct plan_config config;
	struct plan_op read;
	struct dataset ds;
	struct extent x;
	struct plan p;
	const struct plan_case *c = set_up(_i, &ds, &config, &x);

	plan_init(&p, &config, &x);
	ck_assert_int_eq(plan_is_chain(&p, &read), c->reads[1].len == 0);
	if (c->reads[1].len == 0) {
		ck_assert_uint_eq(read.off, c->reads[0].off);
		ck_assert_uint_eq(read.len_bytes, c->reads[0].len);
	}
	/* the plan has not moved, and from its read on it is none */
	ck_assert(plan_next(&p, &read));
	ck_assert_int_eq(read.op, MLGEN_OPEN);
	ck_assert(!plan_is_chain(&p, &read));
	dataset_fini(&ds);
}
END_TEST

START_TEST(a_framework_waits_and_chains_nothing)
{
	struct plan_config config = { .access = ACCESS_FRAMEWORK, .direct = _i };
	struct plan_op read;
	struct dataset ds;
	struct extent x;
	struct plan p;

	make(&ds, FORMAT_NPZ, 1, 1000);
	config.dataset = &ds;
	dataset_extent(&ds, 1, &x);
	plan_init(&p, &config, &x);
	ck_assert(!plan_is_chain(&p, &read));
	dataset_fini(&ds);
}
END_TEST

START_TEST(counts_are_those_of_the_operations)
{
	struct dataset ds;
	struct plan_config config;
	struct extent x;
	struct plan_op op;
	struct plan p;
	struct plan_counts want = { 0 }, got;
	const struct plan_case *c = set_up(_i, &ds, &config, &x);

	plan_init(&p, &config, &x);
	while (plan_next(&p, &op))
		add(&want, &op);
	plan_count(&config, &x, &got);
	ck_assert_uint_eq(got.io_bytes, c->io_bytes);
	ck_assert(memcmp(&got, &want, sizeof(got)) == 0);
	ck_assert_uint_eq(plan_largest_read(&config), c->bs);
	dataset_fini(&ds);
}
END_TEST

Suite *suite_plan(void)
{
	Suite *s = suite_create("plan");
	TCase *t = tcase_create("plan");
	int n = (int)(sizeof(cases) / sizeof(cases[0]));

	tcase_add_loop_test(t, operations_come_in_order, 0, n);
	tcase_add_loop_test(t, a_chain_is_an_open_one_read_and_a_close, 0, n);
	tcase_add_loop_test(t, a_framework_waits_and_chains_nothing, 0, 2);
	tcase_add_loop_test(t, counts_are_those_of_the_operations, 0, n);
	suite_add_tcase(s, t);
	return s;
}
