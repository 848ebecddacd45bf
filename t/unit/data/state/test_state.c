/* SPDX-License-Identifier: Apache-2.0 */
/* test_state.c - bytes and tensors of a model's state, and who saves what. */
#include "job_options.h"
#include "state_rig.h"
#include "suites.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/state/state.h"

/* ---- the models of MLPerf Storage ---- */

static void assert_bytes(uint64_t bytes, double unit, int digits, const char *want)
{
	char text[32];

	snprintf(text, sizeof(text), "%.*f", digits, (double)bytes / unit);
	ck_assert_str_eq(text, want);
}

#define GIB 1073741824.0
#define GB 1e9

START_TEST(bytes_of_the_closed_runs_are_those_of_dlio)
{
	const struct model *m = &models[_i];
	struct job *j = make_job(m->options);
	struct mlgen_err err = { 0 };
	struct state_bytes b, all, sum = { 0 };
	uint64_t least = UINT64_MAX, most = 0, writers = 0, worst = 0;
	struct state s;

	ck_assert_int_eq(state_init(&s, j, &err), 0);
	ck_assert_uint_eq(s.ranks, m->ranks);
	ck_assert_uint_eq(state_parameters(&s), m->parameters);
	for (uint64_t r = 0; r < s.ranks; r++) {
		state_rank_bytes(&s, r, &b);
		ck_assert_uint_eq(b.optimizer, m->optimizer);
		ck_assert_uint_eq(b.total, b.model + b.optimizer);
		sum.model += b.model;
		sum.optimizer += b.optimizer;
		worst = b.total > worst ? b.total : worst;
		if (!b.model)
			continue;
		writers++;
		least = b.model < least ? b.model : least;
		most = b.model > most ? b.model : most;
	}
	ck_assert_uint_eq(writers, m->model_ranks);
	ck_assert_uint_eq(least, m->model_least);
	ck_assert_uint_eq(most, m->model_most);
	state_all_bytes(&s, &all);
	ck_assert_uint_eq(all.model, sum.model);
	ck_assert_uint_eq(all.optimizer, sum.optimizer);
	ck_assert_uint_eq(all.total, sum.model + sum.optimizer);
	assert_bytes(all.model, GIB, 3, m->model_gib);
	assert_bytes(all.optimizer, GIB, 3, m->optimizer_gib);
	assert_bytes(all.total, GIB, 3, m->total_gib);
	assert_bytes(all.total, GB, 2, m->total_gb);
	assert_bytes(worst, GIB, 3, m->worst_gib);
	state_fini(&s);
	job_free(j);
}
END_TEST

/* 14 P + 60 h R, but for norms, which each tensor-parallel rank has. */
START_TEST(the_total_is_fourteen_bytes_a_parameter)
{
	const struct model *m = &models[_i];
	struct job *j = make_job(m->options);
	struct state_bytes all;
	struct state s;
	uint64_t norms, formula;

	ck_assert_int_eq(state_init(&s, j, NULL), 0);
	state_all_bytes(&s, &all);
	norms = (2 * j->model_layers + 1) * j->model_hidden;
	formula = 14 * m->parameters + 60 * j->model_hidden * s.ranks +
		  2 * norms * (s.tensor_parallel - 1);
	ck_assert_uint_le(all.total, formula);
	/* what P // R leaves */
	ck_assert_uint_le(formula - all.total, 12 * s.ranks);
	state_fini(&s);
	job_free(j);
}
END_TEST

static void check_group(const struct state *s, const struct model *m, const struct state_group *g)
{
	uint64_t layers = s->job->model_layers, sum = 0;
	struct state_tensor t, other;

	for (uint64_t i = 0; i < g->tensors; i++) {
		state_tensor(s, g, i, &t);
		sum += t.bytes;
		ck_assert_uint_eq(t.value_bytes, g->is_optimizer ? 4 : 2);
		for (uint64_t k = 0; k < i; k++) {
			state_tensor(s, g, k, &other);
			ck_assert_str_ne(t.name, other.name);
		}
		if (g->is_optimizer)
			continue;
		if (g->layer == 0 || g->layer == layers + 1)
			ck_assert_uint_eq(t.bytes, m->embedding);
		else if (g->layer == layers + 2)
			ck_assert_uint_eq(t.bytes, m->norm);
		else
			ck_assert_uint_eq(t.bytes, m->block[i]);
	}
	ck_assert_uint_eq(sum, g->bytes);
}

START_TEST(groups_and_tensors_sum_to_the_bytes_of_their_rank)
{
	const struct model *m = &models[_i];
	struct job *j = make_job(m->options);
	uint64_t model_groups = 0;
	struct state s;

	ck_assert_int_eq(state_init(&s, j, NULL), 0);
	for (uint64_t r = 0; r < s.ranks; r++) {
		struct state_bytes b, sum = { 0 };
		uint64_t n = state_groups(&s, r);

		for (uint64_t i = 0; i < n; i++) {
			struct state_group g;

			state_group(&s, r, i, &g);
			check_group(&s, m, &g);
			ck_assert_uint_eq(g.rank, r);
			ck_assert_int_eq(g.is_optimizer, i == n - 1);
			model_groups += !g.is_optimizer;
			if (g.is_optimizer)
				sum.optimizer += g.bytes;
			else
				sum.model += g.bytes;
		}
		state_rank_bytes(&s, r, &b);
		ck_assert_uint_eq(b.model, sum.model);
		ck_assert_uint_eq(b.optimizer, sum.optimizer);
	}
	ck_assert_uint_eq(model_groups, m->model_groups);
	state_fini(&s);
	job_free(j);
}
END_TEST

/* Pairs of a flat part and five rows, three times. */
START_TEST(the_optimizer_is_three_pairs)
{
	struct job *j = make_job(LLAMA_8B "ranks=8 zero_stage=3");
	struct state_group g;
	struct state_tensor t;
	struct state s;

	ck_assert_int_eq(state_init(&s, j, NULL), 0);
	state_group(&s, 3, state_groups(&s, 3) - 1, &g);
	ck_assert(g.is_optimizer);
	ck_assert_uint_eq(g.tensors, 6);
	for (uint64_t i = 0; i < 6; i++) {
		state_tensor(&s, &g, i, &t);
		ck_assert_uint_eq(t.bytes, i % 2 ? 5 * 4096 * 4 : 8030261248 / 8 * 4);
		ck_assert_int_eq(strncmp(t.name, "optimizer.", 10), 0);
	}
	state_fini(&s);
	job_free(j);
}
END_TEST

/* ---- who saves what ---- */

START_TEST(each_rank_saves_its_share)
{
	struct job *j = make_job(shares[_i].options);
	struct state_bytes b;
	struct state s;
	char text[128] = "";

	ck_assert_int_eq(state_init(&s, j, NULL), 0);
	for (uint64_t i = 0; i < state_groups(&s, shares[_i].rank); i++) {
		struct state_group g;
		size_t n = strlen(text);

		state_group(&s, shares[_i].rank, i, &g);
		if (g.is_optimizer)
			snprintf(text + n, sizeof(text) - n, "%so", i ? " " : "");
		else
			snprintf(text + n, sizeof(text) - n, "%s%" PRIu64, i ? " " : "", g.layer);
	}
	ck_assert_str_eq(text, shares[_i].groups);
	state_rank_bytes(&s, shares[_i].rank, &b);
	ck_assert_int_eq(b.total > 0, *text != '\0');
	state_fini(&s);
	job_free(j);
}
END_TEST

/* Whatever the parallelism, all ranks together are what all_bytes says. */
START_TEST(all_bytes_is_the_sum_over_ranks)
{
	for (uint64_t zero = 0; zero <= 3; zero++) {
		for (uint64_t tp = 1; tp <= 4; tp *= 2) {
			for (uint64_t pp = 1; pp <= (zero == 3 ? 1 : 7); pp++) {
				struct job *j = make_job(SMALL);
				struct state_bytes b, all, sum = { 0 };
				struct state s;

				j->zero_stage = zero;
				j->tensor_parallel = tp;
				j->pipeline_parallel = pp;
				j->data_parallel = 3;
				j->scale = 3.7;
				ck_assert_int_eq(state_init(&s, j, NULL), 0);
				for (uint64_t r = 0; r < s.ranks; r++) {
					state_rank_bytes(&s, r, &b);
					sum.model += b.model;
					sum.optimizer += b.optimizer;
				}
				state_all_bytes(&s, &all);
				ck_assert_uint_eq(sum.model, all.model);
				ck_assert_uint_eq(sum.optimizer, all.optimizer);
				state_fini(&s);
				job_free(j);
			}
		}
	}
}
END_TEST

/* ---- local ranks ---- */

static const struct {
	const char *options;
	const char *ranks;
} locals[] = {
	{ "checkpoint_size=1 ranks=4", "0 1 2 3" },
	{ "checkpoint_size=1 ranks=4 checkpoint_ranks=zero", "0" },
	{ "checkpoint_size=1 ranks=100 checkpoint_ranks=64,0-2,9", "0 1 2 9 64" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=7,3-4,5", "3 4 5 7" },
	{ "checkpoint_size=1 tensor_parallel=2 pipeline_parallel=3", "0 1 2 3 4 5" },
	{ "checkpoint_size=1 tensor_parallel=2 data_parallel=2", "0 1 2 3" },
	/* a training: its accelerators, and no more */
	{ "checkpoint_size=1 phase=train accelerators=3", "0 1 2" },
	{ "checkpoint_size=1 phase=train accelerators=2 ranks=64", "0 1" },
	{ "checkpoint_size=1 phase=train accelerators=2 tensor_parallel=4", "0 1" },
	{ "checkpoint_size=1 phase=train accelerators=4 ranks=64 checkpoint_ranks=1-2,8", "1 2" },
};

START_TEST(local_ranks_are_those_of_this_host)
{
	struct job *j = make_job(locals[_i].options);
	char text[128] = "";
	struct state s;

	ck_assert_int_eq(state_init(&s, j, NULL), 0);
	for (uint64_t r = 0, n = 0; r < s.ranks; r++) {
		bool is_local = false;

		for (uint64_t i = 0; i < state_local_count(&s); i++)
			is_local |= state_local_rank(&s, i) == r;
		ck_assert_int_eq(state_is_local(&s, r), is_local);
		if (is_local)
			ck_assert_uint_eq(state_local_rank(&s, n++), r);
	}
	for (uint64_t i = 0; i < state_local_count(&s); i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%" PRIu64,
			 i ? " " : "", state_local_rank(&s, i));
	ck_assert_str_eq(text, locals[_i].ranks);
	state_fini(&s);
	job_free(j);
}
END_TEST

Suite *suite_state(void)
{
	Suite *s = suite_create("state");
	TCase *t = tcase_create("state");

	tcase_add_loop_test(t, bytes_of_the_closed_runs_are_those_of_dlio, 0, ROWS(models));
	tcase_add_loop_test(t, the_total_is_fourteen_bytes_a_parameter, 0, ROWS(models));
	tcase_add_loop_test(t, groups_and_tensors_sum_to_the_bytes_of_their_rank, 0, ROWS(models));
	tcase_add_test(t, the_optimizer_is_three_pairs);
	tcase_add_loop_test(t, each_rank_saves_its_share, 0, ROWS(shares));
	tcase_add_test(t, all_bytes_is_the_sum_over_ranks);
	tcase_add_loop_test(t, local_ranks_are_those_of_this_host, 0, ROWS(locals));
	suite_add_tcase(s, t);
	return s;
}
