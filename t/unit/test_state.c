/* SPDX-License-Identifier: Apache-2.0 */
/* test_state.c - bytes, tensors and ranks of a model's state. */
#include "job_options.h"
#include "suites.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "data/state.h"
#include "job/job_check_model.h"
#include "work/workloads.h"

static struct job *make_job(const char *options)
{
	struct job *j = job_new("x");

	j->phase = PHASE_CHECKPOINT;
	set_options(j, options);
	return j;
}

/* ---- the models of MLPerf Storage ---- */

#define LLAMA_8B                                                               \
	"model_layers=32 model_hidden=4096 model_ffn=14336 model_heads=32 "    \
	"model_kv_heads=8 model_vocabulary=128256 "
#define LLAMA_70B                                                              \
	"model_layers=80 model_hidden=8192 model_ffn=28672 model_heads=128 "   \
	"model_kv_heads=8 model_vocabulary=128256 "
#define LLAMA_405B                                                             \
	"model_layers=126 model_hidden=16384 model_ffn=53248 "                 \
	"model_heads=128 model_kv_heads=8 model_vocabulary=128256 "
#define LLAMA_1T                                                               \
	"model_layers=128 model_hidden=25872 model_ffn=98304 "                 \
	"model_heads=192 model_kv_heads=32 model_vocabulary=128256 "

/* clang-format off */
static const struct model {
	const char *options;
	uint64_t ranks, parameters;
	/* of a rank that saves model; how many do */
	uint64_t model_least, model_most, model_ranks, optimizer;
	const char *model_gib, *optimizer_gib, *total_gib, *total_gb, *worst_gib;
	uint64_t block[6], embedding, norm;
	uint64_t model_groups; /* of all ranks: DLIO's files, layer by layer */
} models[] = {
	{ LLAMA_8B "ranks=8 zero_stage=3", 8, 8030261248,
	  2007565312, 2007565312, 8, 12045637632,
	  "14.958", "89.747", "104.705", "112.43", "13.088",
	  { 1024, 6291456, 4194304, 1024, 29360128, 14680064 }, 131334144, 1024,
	  35 * 8 },
	{ LLAMA_70B "ranks=64 tensor_parallel=8 zero_stage=3", 64, 69882617856,
	  2184120320, 2184120320, 64, 13103482368,
	  "130.184", "781.028", "911.212", "978.41", "14.238",
	  { 2048, 2359296, 2097152, 2048, 14680064, 7340032 }, 32833536, 2048,
	  83 * 64 },
	{ LLAMA_405B "ranks=512 tensor_parallel=8 pipeline_parallel=32 zero_stage=1",
	  512, 405853388800,
	  2390949888, 3713269760, 256, 9513171840,
	  "756.015", "4536.234", "5292.249", "5682.51", "12.318",
	  { 32768, 75497472, 67108864, 32768, 436207616, 218103808 }, 525336576, 32768,
	  129 * 8 },
	{ LLAMA_1T "ranks=1024 tensor_parallel=8 pipeline_parallel=64 zero_stage=1",
	  1024, 1183035102480,
	  4595488128, 5425099680, 512, 13865244924,
	  "2203.661", "13222.928", "15426.589", "16564.17", "17.966",
	  { 51744, 222809664, 167340096, 51744, 1271660544, 635830272 }, 829559808, 51744,
	  131 * 8 },
};
/* clang-format on */

static void assert_bytes(uint64_t bytes, double unit, int digits,
			 const char *want)
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

static void check_group(const struct state *s, const struct model *m,
			const struct state_group *g)
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
		ck_assert_uint_eq(t.bytes,
				  i % 2 ? 5 * 4096 * 4 : 8030261248 / 8 * 4);
		ck_assert_int_eq(strncmp(t.name, "optimizer.", 10), 0);
	}
	state_fini(&s);
	job_free(j);
}
END_TEST

/* ---- who saves what ---- */

/* A small model, where every rank can be looked at. */
#define SMALL                                                                  \
	"model_layers=7 model_hidden=64 model_ffn=128 model_heads=8 "          \
	"model_kv_heads=4 model_vocabulary=1000 "

/* Layers are those of DLIO; "o" is the optimizer. */
static const struct {
	const char *options;
	uint64_t rank;
	const char *groups;
} shares[] = {
	{ SMALL, 0, "0 1 2 3 4 5 6 7 8 9 o" },
	{ SMALL "optimizer_bytes=0", 0, "0 1 2 3 4 5 6 7 8 9" },
	/* the remainder goes to the first stages */
	{ SMALL "pipeline_parallel=3", 0, "0 1 2 3 o" },
	{ SMALL "pipeline_parallel=3", 1, "4 5 o" },
	{ SMALL "pipeline_parallel=3", 2, "6 7 8 9 o" },
	{ SMALL "pipeline_parallel=7", 3, "4 o" },
	{ SMALL "pipeline_parallel=7", 6, "7 8 9 o" },
	/* tensor-parallel ranks are neighbours, stages come next */
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12", 1,
	  "0 1 2 3 o" },
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12", 2, "4 5 o" },
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12", 5,
	  "6 7 8 9 o" },
	/* copies: ZeRO 0 saves nothing, 1 and 2 the optimizer, 3 a part */
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12", 6, "" },
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12 zero_stage=1",
	  6, "o" },
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12 zero_stage=2",
	  11, "o" },
	{ SMALL "ranks=4 zero_stage=3", 3, "0 1 2 3 4 5 6 7 8 9 o" },
	{ SMALL "data_parallel=4 zero_stage=3", 3, "0 1 2 3 4 5 6 7 8 9 o" },
	{ SMALL "ranks=2 zero_stage=1 optimizer_bytes=0", 1, "" },
	{ "checkpoint_size=1m ranks=3", 2, "0" },
	{ "checkpoint_layout=pattern ranks=2", 0, "0" },
	{ "checkpoint_layout=pattern ranks=2", 1, "" },
	{ "checkpoint_layout=pattern checkpoint_pattern=bert ranks=2", 1, "0" },
	{ "checkpoint_layout=pattern checkpoint_pattern=dlrm ranks=2", 1, "" },
};

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
			snprintf(text + n, sizeof(text) - n, "%so",
				 i ? " " : "");
		else
			snprintf(text + n, sizeof(text) - n, "%s%" PRIu64,
				 i ? " " : "", g.layer);
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
	{ "checkpoint_layout=pattern checkpoint_pattern=bert ranks=2",
	  2 * 4034713312ull },
	{ "checkpoint_layout=pattern checkpoint_pattern=dlrm ranks=4",
	  27129166561 },
	{ "checkpoint_layout=pattern checkpoint_size=1m", 1 << 20 },
	{ "checkpoint_layout=pattern checkpoint_size=1m model_layers=2",
	  1 << 20 },
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
	ck_assert_double_eq_tol((double)part.total / (double)whole.total, 0.01,
				1e-6);
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
	struct job *j = make_job("model_layers=1000000 model_hidden=1000000 "
				 "model_ffn=1000000 model_heads=1000000 "
				 "model_kv_heads=1 model_vocabulary=1 "
				 "zero_stage=1 data_parallel=1000000");
	struct mlgen_err err = { 0 };
	struct state_bytes all;
	struct state s;

	/* 5e18 parameters */
	ck_assert_int_eq(state_init(&s, j, &err), -ERANGE);
	ck_assert_str_eq(err.text, "model_layers: the state of all ranks would "
				   "have more than 8 EiB");
	j->model_layers = 100000; /* 5e17 */
	memset(&err, 0, sizeof(err));
	ck_assert_int_eq(state_init(&s, j, &err), 0);
	state_all_bytes(&s, &all);
	ck_assert_double_eq_tol((double)all.total, 14 * 5e17 + 60 * 1e12, 1e15);
	state_fini(&s);
	job_free(j);
}
END_TEST

/* ---- local ranks ---- */

static const struct {
	const char *options;
	const char *ranks;
} locals[] = {
	{ "checkpoint_size=1 ranks=4", "0 1 2 3" },
	{ "checkpoint_size=1 ranks=4 checkpoint_ranks=zero", "0" },
	{ "checkpoint_size=1 ranks=100 checkpoint_ranks=64,0-2,9",
	  "0 1 2 9 64" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=7,3-4,5", "3 4 5 7" },
	{ "checkpoint_size=1 tensor_parallel=2 pipeline_parallel=3",
	  "0 1 2 3 4 5" },
	{ "checkpoint_size=1 tensor_parallel=2 data_parallel=2", "0 1 2 3" },
	/* a training: its accelerators, and no more */
	{ "checkpoint_size=1 phase=train accelerators=3", "0 1 2" },
	{ "checkpoint_size=1 phase=train accelerators=2 ranks=64", "0 1" },
	{ "checkpoint_size=1 phase=train accelerators=2 tensor_parallel=4",
	  "0 1" },
	{ "checkpoint_size=1 phase=train accelerators=4 ranks=64 "
	  "checkpoint_ranks=1-2,8",
	  "1 2" },
};

START_TEST(local_ranks_are_those_of_this_host)
{
	struct job *j = make_job(locals[_i].options);
	char text[128] = "";
	struct state s;

	ck_assert_int_eq(state_init(&s, j, NULL), 0);
	for (uint64_t r = 0, n = 0; r < s.ranks; r++) {
		bool is_local = false;

		for (uint64_t i = 0; i < state_locals(&s); i++)
			is_local |= state_local(&s, i) == r;
		ck_assert_int_eq(state_is_local(&s, r), is_local);
		if (is_local)
			ck_assert_uint_eq(state_local(&s, n++), r);
	}
	for (uint64_t i = 0; i < state_locals(&s); i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%s%" PRIu64, i ? " " : "", state_local(&s, i));
	ck_assert_str_eq(text, locals[_i].ranks);
	state_fini(&s);
	job_free(j);
}
END_TEST

/* ---- what does not fit ---- */

static const struct {
	const char *options;
	const char *fault;
} bad[] = {
	{ "", "model_layers: nothing says what is saved" },
	{ "model_layers=1 checkpoint_size=1", "checkpoint_size: stands for" },
	{ "model_layers=1 tensor_sizes=/x", "tensor_sizes: stands for a model, "
					    "and so does model_layers" },
	{ "checkpoint_size=1 tensor_sizes=/x",
	  "tensor_sizes: stands for a model, and so does checkpoint_size" },
	{ SMALL "ranks=9 tensor_parallel=2", "ranks: 9 are no multiple of the "
					     "2 that one copy" },
	{ SMALL "ranks=2 tensor_parallel=2 pipeline_parallel=2",
	  "ranks: 2 are no multiple of the 4" },
	{ SMALL "ranks=8 tensor_parallel=2 data_parallel=2",
	  "data_parallel: 2 copies on 2 ranks each" },
	{ SMALL "tensor_parallel=16", "tensor_parallel: 16 ranks cannot" },
	{ SMALL "tensor_parallel=8 model_ffn=130", "model_ffn: 130 is no" },
	{ SMALL "model_hidden=7", "model_hidden: 7 is less than" },
	{ SMALL "model_hidden=65 tensor_parallel=2",
	  "model_hidden: 65 is no multiple of tensor_parallel=2" },
	{ SMALL "model_kv_heads=9", "model_kv_heads: 9 are more than" },
	{ SMALL "pipeline_parallel=8", "pipeline_parallel: 8 stages for 7" },
	{ SMALL "pipeline_parallel=2 zero_stage=3", "zero_stage: 3 shares" },
	{ "checkpoint_size=1 tensor_parallel=1001 data_parallel=1000",
	  "ranks: tensor_parallel=1001" },
	{ "checkpoint_size=1 tensor_parallel=1000000 "
	  "pipeline_parallel=1000000 data_parallel=1000000",
	  "ranks: " },
	{ "checkpoint_size=1 phase=train accelerators=3 tensor_parallel=2",
	  "ranks: 3 (accelerators) are no multiple of the 2" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=8",
	  "checkpoint_ranks: 8 is not among the 8 ranks" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=7-6",
	  "checkpoint_ranks: '7-6' runs backwards" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=0-3,2",
	  "checkpoint_ranks: 2 stands in it twice" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=1,",
	  "checkpoint_ranks: '1,' is no list of ranks" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=some",
	  "checkpoint_ranks: 'some' is no list of ranks" },
	{ "checkpoint_size=1 ranks=8 checkpoint_ranks=99999999999999999999",
	  "checkpoint_ranks: 18446744073709551615 is not among" },
	{ "checkpoint_size=1 phase=train accelerators=2 ranks=8 "
	  "checkpoint_ranks=4-7",
	  "checkpoint_ranks: none of 4-7 is among the 2 accelerators" },
	{ "checkpoint_size=1024t ranks=1000000",
	  "checkpoint_size: the state of all ranks" },
	{ "tensor_sizes=/nowhere/at/all",
	  "tensor_sizes: /nowhere/at/all: No such file" },
	{ "tensor_sizes=/",
	  "tensor_sizes: /: is a directory, and no regular file" },
};

START_TEST(what_does_not_fit_is_refused)
{
	struct job *j = make_job(bad[_i].options);
	struct mlgen_err err = { 0 };
	struct state s;

	ck_assert_int_lt(state_init(&s, j, &err), 0);
	ck_assert_msg(strncmp(err.text, bad[_i].fault, strlen(bad[_i].fault)) ==
			      0,
		      "%s", err.text);
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

		for (unsigned i = 0;
		     (option = job_check_model(j, i, &rc, &err)); i++) {
			ck_assert_ptr_nonnull(field_find(job_fields, option));
			if (rc == 0)
				continue;
			ck_assert_int_eq(
				strncmp(err.text, option, strlen(option)), 0);
			memset(&err, 0, sizeof(err));
		}
		job_free(j);
	}
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

Suite *suite_state(void)
{
	Suite *s = suite_create("state");
	TCase *t = tcase_create("state");

	tcase_add_loop_test(t, bytes_of_the_closed_runs_are_those_of_dlio, 0,
			    ROWS(models));
	tcase_add_loop_test(t, the_total_is_fourteen_bytes_a_parameter, 0,
			    ROWS(models));
	tcase_add_loop_test(t,
			    groups_and_tensors_sum_to_the_bytes_of_their_rank,
			    0, ROWS(models));
	tcase_add_test(t, the_optimizer_is_three_pairs);
	tcase_add_loop_test(t, each_rank_saves_its_share, 0, ROWS(shares));
	tcase_add_test(t, all_bytes_is_the_sum_over_ranks);
	tcase_add_loop_test(t, what_is_no_transformer_has_its_size, 0,
			    ROWS(totals));
	tcase_add_test(t, every_tensor_is_scaled);
	tcase_add_loop_test(t, a_scaled_model_keeps_its_shape, 0, ROWS(models));
	tcase_add_test(t, no_tensor_is_lost_among_many_ranks);
	tcase_add_test(t, the_largest_model_is_counted_or_refused);
	tcase_add_loop_test(t, local_ranks_are_those_of_this_host, 0,
			    ROWS(locals));
	tcase_add_loop_test(t, what_does_not_fit_is_refused, 0, ROWS(bad));
	tcase_add_test(t, each_rule_names_its_option);
	suite_add_tcase(s, t);
	return s;
}
