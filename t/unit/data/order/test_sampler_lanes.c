/* SPDX-License-Identifier: Apache-2.0 */
/* test_sampler_lanes.c - the lanes of tf.data. */
#include "data/order/order.h"
#include "sampler_files_rig.h"
#include "suites.h"

/*
 * tf.data's interleave with block_length=1: `cycle` places are visited in turn, each gives an
 * element of its file; a place whose file has ended takes the next one when it is visited, and is
 * passed over when there is none.
 */
struct interleave {
	uint64_t files, per_file, cycle, next_file, at;
	struct {
		bool is_open;
		uint64_t file, next;
	} places[16];
};

static bool interleave_next(struct interleave *v, uint64_t *file, uint64_t *element)
{
	for (uint64_t passed = 0; passed < v->cycle; passed++) {
		uint64_t i = v->at;

		v->at = (v->at + 1) % v->cycle;
		if (v->places[i].is_open && v->places[i].next == v->per_file)
			v->places[i].is_open = false;
		if (!v->places[i].is_open && v->next_file < v->files) {
			v->places[i].is_open = true;
			v->places[i].file = v->next_file++;
			v->places[i].next = 0;
		}
		if (!v->places[i].is_open)
			continue;
		*file = v->places[i].file;
		*element = v->places[i].next++;
		return true;
	}
	return false;
}

static void check_lanes(const struct setting *c)
{
	struct interleave v = { .files = c->files / c->ranks,
				.per_file = c->per_file,
				.cycle = c->lanes };
	uint64_t file, element, k = 0;
	struct sampler_epoch e;
	struct dataset ds;
	struct sampler s;

	ck_assert_int_eq(make(&s, &ds, c, NULL), 0);
	sampler_epoch(&e, &s, 0);
	for (; interleave_next(&v, &file, &element); k++) {
		uint64_t rank = c->ranks - 1;

		ck_assert_msg(sampler_at(&e, rank, k) ==
				      (file * c->ranks + rank) * c->per_file + element,
			      "%s", name_of(c));
		ck_assert_msg(sampler_lane_position(&e, rank, file, element) == k, "%s",
			      name_of(c));
	}
	ck_assert_uint_eq(k, s.rank_extents);
	dataset_fini(&ds);
}

START_TEST(lanes_are_those_of_tf_data)
{
	unsigned done = 0;

	for (uint64_t files = 1; files <= 17; files++)
		for (uint64_t per_file = 1; per_file <= 4; per_file++)
			for (uint64_t lanes = 1; lanes <= 9; lanes++) {
				struct setting c = { .files = files * 2,
						     .per_file = per_file,
						     .extent_samples = 1,
						     .ranks = 2,
						     .batch = 1,
						     .lanes = lanes,
						     .drop_last = true };

				check_lanes(&c);
				done++;
			}
	ck_assert_uint_eq(done, 17 * 4 * 9);
}
END_TEST

Suite *suite_sampler_lanes(void)
{
	Suite *s = suite_create("sampler_lanes");
	TCase *t = tcase_create("sampler_lanes");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, lanes_are_those_of_tf_data);
	suite_add_tcase(s, t);
	return s;
}
