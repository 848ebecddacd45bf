/* SPDX-License-Identifier: Apache-2.0 */
/* test_state_sizes.c - sizes of a state that are set, scaled or refused. */
#include "job_options.h"
#include "state_rig.h"
#include "suites.h"

#include <errno.h>
#include <string.h>

#include "data/state/state.h"
#include "job/job.h"

/* ---- sizes ---- */

static uint64_t all_bytes_of(const char *options)
{
	struct job *j = make_job(options);
	struct mlgen_err err = { 0 };
	struct state_bytes all;
	struct state s;
	int rc = state_init(&s, j, &err);

	ck_assert_msg(rc == 0, "%s", err.text);
	state_all_bytes(&s, &all);
	state_fini(&s);
	job_free(j);
	return all.total;
}

static const struct {
	const char *options;
	uint64_t bytes;
} totals[] = {
	{ "checkpoint_size=499153191", 499153191 },
	{ "checkpoint_size=1m ranks=3", 3 << 20 },
	{ "checkpoint_size=1000 scale=1%", 10 },
	{ "checkpoint_size=149 scale=1%", 1 },
	{ "checkpoint_size=150 scale=1%", 2 },
	{ "checkpoint_size=1 scale=0.001%", 1 },
	{ "checkpoint_layout=pattern ranks=4", 499153191 },
	{ "checkpoint_layout=pattern checkpoint_pattern=bert ranks=2", 2 * 4034713312ull },
	{ "checkpoint_layout=pattern checkpoint_pattern=dlrm ranks=4", 27129166561 },
	{ "checkpoint_layout=pattern checkpoint_size=1m", 1 << 20 },
	{ "checkpoint_layout=pattern checkpoint_size=1m model_layers=2", 1 << 20 },
	{ "checkpoint_layout=pattern ranks=4 scale=10%", 49915319 },
	/* the largest there can be: nothing wraps */
	{ "checkpoint_size=1024t ranks=8000", 8000ull << 50 },
};

START_TEST(what_is_no_transformer_has_its_size)
{
	ck_assert_uint_eq(all_bytes_of(totals[_i].options), totals[_i].bytes);
}
END_TEST

START_TEST(every_tensor_is_scaled)
{
	struct job *j = make_job(LLAMA_8B "ranks=8 zero_stage=3 scale=1%");
	struct state_tensor t;
	struct state_group g;
	struct state s;

	ck_assert_int_eq(state_init(&s, j, NULL), 0);
	state_group(&s, 0, 1, &g);
	state_tensor(&s, &g, 0, &t); /* 1024 bytes */
	ck_assert_uint_eq(t.bytes, 10);
	ck_assert_uint_eq(t.value_bytes, 2);
	state_tensor(&s, &g, 1, &t); /* 6291456 bytes: no whole values */
	ck_assert_uint_eq(t.bytes, 62915);
	ck_assert_uint_eq(t.value_bytes, 1);
	state_group(&s, 0, state_groups(&s, 0) - 1, &g);
	state_tensor(&s, &g, 0, &t); /* 4015130624 bytes */
	ck_assert_uint_eq(t.bytes, 40151306);
	state_fini(&s);
	job_free(j);
}
END_TEST

/* The state has a hundredth, and no rank or tensor is lost. */
START_TEST(a_scaled_model_keeps_its_shape)
{
	const struct model *m = &models[_i];
	struct job *j = make_job(m->options);
	struct state_bytes whole, part;
	uint64_t groups = 0;
	struct state s;

	ck_assert_int_eq(state_init(&s, j, NULL), 0);
	state_all_bytes(&s, &whole);
	j->scale = 1;
	state_all_bytes(&s, &part);
	ck_assert_double_eq_tol((double)part.total / (double)whole.total, 0.01, 1e-6);
	for (uint64_t r = 0; r < s.ranks; r++)
		groups += state_groups(&s, r);
	ck_assert_uint_eq(groups, m->model_groups + m->ranks);
	state_fini(&s);
	job_free(j);
}
END_TEST

/* Of fewer values than there are copies each has one: no tensor is empty. */
START_TEST(no_tensor_is_lost_among_many_ranks)
{
	struct job *j = make_job(SMALL "zero_stage=3 data_parallel=1000000");
	struct state_tensor t;
	struct state_group g;
	struct state s;

	ck_assert_int_eq(state_init(&s, j, NULL), 0);
	state_group(&s, 999999, 1, &g);
	for (uint64_t i = 0; i < g.tensors; i++) {
		state_tensor(&s, &g, i, &t);
		ck_assert_uint_eq(t.bytes, 2);
	}
	state_group(&s, 999999, state_groups(&s, 999999) - 1, &g);
	state_tensor(&s, &g, 0, &t);
	ck_assert_uint_eq(t.bytes, 4);
	state_fini(&s);
	job_free(j);
}
END_TEST

/* With the most of everything there is an answer or an error, never a wrap. */
START_TEST(the_largest_model_is_counted_or_refused)
{
	struct job *j = make_job(
		"model_layers=1000000 model_hidden=1000000 model_ffn=1000000 model_heads=1000000 "
		"model_kv_heads=1 model_vocabulary=1 zero_stage=1 data_parallel=1000000");
	struct mlgen_err err = { 0 };
	struct state_bytes all;
	struct state s;

	/* 5e18 parameters */
	ck_assert_int_eq(state_init(&s, j, &err), -ERANGE);
	ck_assert_str_eq(err.text,
			 "model_layers: the state of all ranks would have more than 8 EiB");
	j->model_layers = 100000; /* 5e17 */
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(state_init(&s, j, &err), 0);
	state_all_bytes(&s, &all);
	ck_assert_double_eq_tol((double)all.total, 14 * 5e17 + 60 * 1e12, 1e15);
	state_fini(&s);
	job_free(j);
}
END_TEST

/* ---- what does not fit ---- */

static const struct {
	const char *options;
	const char *fault;
} bad[] = {
	{ "", "model_layers: no option defines the saved data" },
	{ "model_layers=1 checkpoint_size=1", "checkpoint_size: replaces" },
	{ "model_layers=1 tensor_sizes=/x",
	  "tensor_sizes: replaces a model, and so does model_layers" },
	{ "checkpoint_size=1 tensor_sizes=/x",
	  "tensor_sizes: replaces a model, and so does checkpoint_size" },
	{ SMALL "ranks=9 tensor_parallel=2",
	  "ranks: 9 is not a multiple of 2, the ranks of one copy" },
	{ SMALL "ranks=2 tensor_parallel=2 pipeline_parallel=2",
	  "ranks: 2 is not a multiple of 4" },
	{ SMALL "ranks=8 tensor_parallel=2 data_parallel=2",
	  "data_parallel: 2 copies on 2 ranks each" },
	{ SMALL "tensor_parallel=16", "tensor_parallel: 16 ranks cannot" },
	{ SMALL "tensor_parallel=8 model_ffn=130", "model_ffn: 130 is no" },
	{ SMALL "model_hidden=7", "model_hidden: 7 is less than" },
	{ SMALL "model_hidden=65 tensor_parallel=2",
	  "model_hidden: 65 is not a multiple of tensor_parallel=2" },
	{ SMALL "model_kv_heads=9", "model_kv_heads: 9 is more than" },
	{ SMALL "pipeline_parallel=8", "pipeline_parallel: 8 stages for 7" },
	{ SMALL "pipeline_parallel=2 zero_stage=3", "zero_stage: 3 shards" },
	{ "checkpoint_size=1 tensor_parallel=1001 data_parallel=1000",
	  "ranks: tensor_parallel=1001" },
	{ "checkpoint_size=1 tensor_parallel=1000000 pipeline_parallel=1000000 "
	  "data_parallel=1000000",
	  "ranks: " },
	{ "checkpoint_size=1 phase=train accelerators=3 tensor_parallel=2",
	  "ranks: 3 (accelerators) is not a multiple of 2" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=8",
	  "checkpoint_ranks: 8 is not among the 8 ranks" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=7-6", "checkpoint_ranks: '7-6' is reversed" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=0-3,2",
	  "checkpoint_ranks: 2 is in the list twice" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=1,",
	  "checkpoint_ranks: '1,' is not a list of ranks" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=some",
	  "checkpoint_ranks: 'some' is not a list of ranks" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=99999999999999999999",
	  "checkpoint_ranks: 18446744073709551615 is not among" },
	{ "checkpoint_size=1 phase=train accelerators=2 ranks=8 checkpoint_ranks=4-7",
	  "checkpoint_ranks: 4-7 contains no rank of this training, whose 2 accelerators" },
	{ "checkpoint_size=1024t ranks=1000000", "checkpoint_size: the state of all ranks" },
	{ "tensor_sizes=/nowhere/at/all", "tensor_sizes: /nowhere/at/all: No such file" },
	{ "tensor_sizes=/", "tensor_sizes: /: is a directory, not a regular file" },
};

START_TEST(what_does_not_fit_is_refused)
{
	struct job *j = make_job(bad[_i].options);
	struct mlgen_err err = { 0 };
	struct state s;

	ck_assert_int_lt(state_init(&s, j, &err), 0);
	ck_assert_msg(strncmp(err.text, bad[_i].fault, strlen(bad[_i].fault)) == 0, "%s", err.text);
	state_fini(&s);
	job_free(j);
}
END_TEST

START_TEST(each_rule_names_its_option)
{
	for (int k = 0; k < (int)(sizeof(bad) / sizeof(*bad)); k++) {
		struct job *j = make_job(bad[k].options);
		struct mlgen_err err = { 0 };
		const char *option;
		int rc = 0;

		for (unsigned i = 0; (option = job_check_model(j, i, &rc, &err)); i++) {
			ck_assert_ptr_nonnull(field_find(job_fields, option));
			if (rc == 0)
				continue;
			ck_assert_int_eq(strncmp(err.text, option, strlen(option)), 0);
			memset(&err, 0, sizeof(err));
		}
		job_free(j);
	}
}
END_TEST

Suite *suite_state_sizes(void)
{
	Suite *s = suite_create("state_sizes");
	TCase *t = tcase_create("state_sizes");

	tcase_add_loop_test(t, what_is_no_transformer_has_its_size, 0, ROWS(totals));
	tcase_add_test(t, every_tensor_is_scaled);
	tcase_add_loop_test(t, a_scaled_model_keeps_its_shape, 0, ROWS(models));
	tcase_add_test(t, no_tensor_is_lost_among_many_ranks);
	tcase_add_test(t, the_largest_model_is_counted_or_refused);
	tcase_add_loop_test(t, what_does_not_fit_is_refused, 0, ROWS(bad));
	tcase_add_test(t, each_rule_names_its_option);
	suite_add_tcase(s, t);
	return s;
}
