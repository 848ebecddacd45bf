/* SPDX-License-Identifier: Apache-2.0 */
/* test_shard.c - files of a checkpoint: names, pieces and bytes. */
#include "suites.h"

#include "base/dist.h"
#include "shard_rig.h"

/* ---- which files there are ---- */

#define LLAMA_8B                                                                                   \
	"model_layers=32 model_hidden=4096 model_ffn=14336 model_heads=32 "                        \
	"model_kv_heads=8 model_vocabulary=128256 "

#define LLAMA_70B                                                                                  \
	"model_layers=80 model_hidden=8192 model_ffn=28672 model_heads=128 "                       \
	"model_kv_heads=8 model_vocabulary=128256 "

#define LLAMA_405B                                                                                 \
	"model_layers=126 model_hidden=16384 model_ffn=53248 "                                     \
	"model_heads=128 model_kv_heads=8 model_vocabulary=128256 "

#define LLAMA_1T                                                                                   \
	"model_layers=128 model_hidden=25872 model_ffn=98304 "                                     \
	"model_heads=192 model_kv_heads=32 model_vocabulary=128256 "

#define PARALLEL_8B "ranks=8 zero_stage=3 "
#define PARALLEL_70B "ranks=64 tensor_parallel=8 zero_stage=3 "
#define PARALLEL_405B "ranks=512 tensor_parallel=8 pipeline_parallel=32 zero_stage=1 "

#define PARALLEL_1T "ranks=1024 tensor_parallel=8 pipeline_parallel=64 zero_stage=1 "

/* What DLIO writes of MLPerf Storage's models. */
/* clang-format off */
static const struct count_case {
	const char *options;
	uint64_t model_files, optimizer_files;
} counts[] = {
	{ LLAMA_8B PARALLEL_8B, 8, 8 },
	{ LLAMA_70B PARALLEL_70B, 64, 64 },
	{ LLAMA_405B PARALLEL_405B, 129 * 8, 512 },
	{ LLAMA_1T PARALLEL_1T, 131 * 8, 1024 },
	{ LLAMA_8B "ranks=4 tensor_parallel=2 zero_stage=1 ", 2, 4 },
	{ LLAMA_8B "ranks=4 tensor_parallel=2 zero_stage=2 ", 2, 4 },
	{ LLAMA_8B "ranks=4 tensor_parallel=2 zero_stage=0 ", 2, 2 },
	{ LLAMA_8B "ranks=4 tensor_parallel=2 optimizer_bytes=0 ", 2, 0 },
	{ LLAMA_8B "ranks=8 pipeline_parallel=4 zero_stage=0 ", 4, 4 },
	{ LLAMA_8B "ranks=8 pipeline_parallel=4 zero_stage=2 ", 35, 8 },
};
#define COUNTS ((int)(sizeof(counts) / sizeof(counts[0])))

static const struct name_case {
	const char *options;
	uint64_t rank, index;
	const char *name;
} names[] = {
	{ LLAMA_8B PARALLEL_8B "checkpoint_layout=torch ", 5, 0, "rank_5.pt" },
	{ LLAMA_8B PARALLEL_8B, 5, 0, "zero_pp_rank_5_mp_rank_0_model_states.pt" },
	{ LLAMA_8B PARALLEL_8B, 5, 1, "zero_pp_rank_5_mp_rank_0_optim_states.pt" },
	{ LLAMA_70B PARALLEL_70B, 63, 0, "zero_pp_rank_7_mp_rank_7_model_states.pt" },
	{ LLAMA_8B "ranks=4 tensor_parallel=2 ", 1, 0, "zero_pp_rank_0_mp_rank_1_model_states.pt" },
	{ LLAMA_8B "ranks=4 tensor_parallel=2 zero_stage=1 ", 1, 0, "model_1_model_states.pt" },
	{ LLAMA_8B "ranks=4 tensor_parallel=2 zero_stage=1 ", 1, 1, "zero_pp_rank_0_mp_rank_1_optim_states.pt" },
	{ LLAMA_8B "ranks=4 tensor_parallel=2 zero_stage=1 ", 3, 0, "zero_pp_rank_1_mp_rank_1_optim_states.pt" },
	{ LLAMA_405B PARALLEL_405B, 0, 0, "layer_0-model_0_model_states.pt" },
	{ LLAMA_405B PARALLEL_405B, 0, 5, "zero_pp_rank_0_mp_rank_0_optim_states.pt" },
	{ LLAMA_405B PARALLEL_405B, 9, 0, "layer_5-model_9_model_states.pt" },
	{ LLAMA_405B PARALLEL_405B, 255, 4, "layer_128-model_255_model_states.pt" },
	{ LLAMA_405B PARALLEL_405B, 511, 0, "zero_pp_rank_1_mp_rank_255_optim_states.pt" },
	{ LLAMA_405B PARALLEL_405B "checkpoint_layout=stream ", 9, 0, "layer_5-model_9_model_states.pt" },
	{ "ranks=4 checkpoint_size=1m ", 3, 0, "model_states-3.pt" },
	{ "ranks=4 checkpoint_size=1m checkpoint_layout=stream ", 3, 0, "model_states-3.pt" },
	{ "ranks=4 checkpoint_size=1m checkpoint_layout=torch ", 3, 0, "rank_3.pt" },
	{ "ranks=4 checkpoint_pattern=bert checkpoint_layout=pattern ", 3, 0, "model_states-3.pt" },
};
/* clang-format on */

#define NAMES ((int)(sizeof(names) / sizeof(names[0])))

START_TEST(files_are_as_many_as_dlio_writes)
{
	const struct count_case *c = &counts[_i];
	struct state_bytes all;
	uint64_t model = 0, optimizer = 0, bytes = 0;
	struct shard_rig r;
	struct shard f;
	char name[SHARD_NAME_BYTES];

	rig_open(&r, c->options);
	rig_set(r.job, "checkpoint_layout", "stream");
	r.set.layout = layout_of(r.job);
	for (uint64_t rank = 0; rank < r.state.ranks; rank++)
		for (uint64_t i = 0; i < shard_files(&r.set, rank); i++) {
			shard_init(&f, &r.set, rank, i, 1);
			shard_name(&f, name, sizeof(name));
			if (strstr(name, "optim_states"))
				optimizer++;
			else if (strstr(name, "model_states"))
				model++;
			bytes += f.bytes;
		}
	state_all_bytes(&r.state, &all);
	ck_assert_uint_eq(model, c->model_files);
	ck_assert_uint_eq(optimizer, c->optimizer_files);
	ck_assert_uint_eq(bytes, all.total);
	rig_close(&r);
}
END_TEST

START_TEST(they_have_its_names)
{
	const struct name_case *c = &names[_i];
	char name[SHARD_NAME_BYTES], options[512];
	struct shard_rig r;
	struct shard f;

	snprintf(options, sizeof(options), "checkpoint_layout=deepspeed %s", c->options);
	rig_open(&r, options);
	ck_assert_uint_lt(c->index, shard_files(&r.set, c->rank));
	shard_init(&f, &r.set, c->rank, c->index, 1);
	shard_name(&f, name, sizeof(name));
	ck_assert_str_eq(name, c->name);
	ck_assert(shard_is_name(name));
	rig_close(&r);
}
END_TEST

START_TEST(no_layout_gives_other_names)
{
	static const char *const others[] = {
		"",
		"rank_.pt",
		"rank_01.pt",
		"rank_-1.pt",
		"rank_1.pt.bak",
		"xrank_1.pt",
		"rank_1",
		"rank_1/../../x.pt",
		"../rank_1.pt",
		"/rank_1.pt",
		"rank_999999999999999999999.pt",
		"layer_1-model_x_model_states.pt",
		"model_states-1.pt ",
		"notes.txt",
		"mlgen-checkpoint.json",
	};

	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		ck_assert_msg(!shard_is_name(others[i]), "%s", others[i]);
	ck_assert(shard_is_name("rank_0.pt"));
	ck_assert(shard_is_name("rank_18446744073709551615.pt"));
}
END_TEST

START_TEST(who_saves_nothing_has_no_file)
{
	struct shard_rig r;

	rig_open(&r, LLAMA_8B "ranks=4 checkpoint_layout=torch zero_stage=0 ");
	ck_assert_uint_eq(shard_files(&r.set, 0), 1);
	ck_assert_uint_eq(shard_files(&r.set, 1), 0);
	rig_close(&r);
	rig_open(&r, "ranks=4 checkpoint_layout=pattern ");
	ck_assert_uint_eq(shard_files(&r.set, 0), 1);
	ck_assert_uint_eq(shard_files(&r.set, 3), 0);
	rig_close(&r);
}
END_TEST

/* ---- of any file: pieces, bytes, calls ---- */

/* Sizes near what buffers hold, and any other. */
static uint64_t some_bytes(uint64_t seed, uint64_t i)
{
	static const uint64_t edges[] = { 1,    1023, 1024, 1025, 4032, 4095,
					  4096, 4097, 7000, 8190, 8191, 8192 };
	uint64_t draw = rng_u64(seed, RNG_TEST, i);

	switch (draw % 4) {
	case 0:
		return edges[draw / 4 % (sizeof(edges) / sizeof(edges[0]))];
	case 1:
		return draw / 4 % 90000 + 1;
	default:
		return draw / 4 % 1500 + 1;
	}
}

/* Of the rig, with as many tensors as the seed says. */
static void open_some(struct shard_rig *r, const char *options, uint64_t seed)
{
	static const uint64_t lengths[] = { 1, 2, 3, 9, 10, 11, 12, 30, 101 };
	uint64_t n = lengths[seed % (sizeof(lengths) / sizeof(lengths[0]))];
	size_t room = n * 64, used = 0;
	char *text = mem_zalloc(room);

	if (strstr(options, "=pattern")) {
		rig_open(r, options);
		r->job->randseed += seed;
	} else {
		for (uint64_t i = 0; i < n; i++)
			used += (size_t)snprintf(text + used, room - used,
						 "t.%" PRIu64 " %" PRIu64 "\n", i,
						 some_bytes(seed, i));
		rig_open_list(r, options, text, RIG_SPAN);
	}
	mem_free(text);
}

static const char *const kinds[] = {
	"checkpoint_layout=torch access=framework ",
	"checkpoint_layout=deepspeed access=framework ",
	"checkpoint_layout=stream access=framework ",
	"checkpoint_layout=pattern access=framework checkpoint_size=300k ",
	"checkpoint_layout=torch access=plain ",
	"checkpoint_layout=deepspeed access=plain ",
	"checkpoint_layout=stream access=plain ",
	"checkpoint_layout=pattern access=plain checkpoint_size=300k ",
};

#define SEEDS 9
#define FRAMEWORK (4 * SEEDS) /* the first of them */
#define SOME ((int)(sizeof(kinds) / sizeof(kinds[0])) * SEEDS)

/* A file of one of the kinds. */
static void open_file(struct shard_rig *r, struct shard *f, int i)
{
	open_some(r, kinds[i / SEEDS], (uint64_t)(i % SEEDS));
	shard_init(f, &r->set, 0, 0, 4);
}

static void expect_bytes(const struct shard *f, uint64_t tensor, uint64_t bytes)
{
	struct state_tensor t;

	shard_tensor(f, tensor, &t);
	ck_assert_uint_eq(bytes, t.bytes);
}

START_TEST(pieces_follow_one_another_to_the_end)
{
	struct shard_piece p = { 0 };
	struct shard_rig r;
	struct shard f;
	uint64_t off = 0, tensor_bytes = 0, meta_most = 0;

	open_file(&r, &f, _i);
	for (; shard_next(&f, &p); off += p.bytes) {
		ck_assert_uint_eq(p.off, off);
		ck_assert_uint_gt(p.bytes, 0);
		if (p.is_tensor) {
			tensor_bytes += p.bytes;
			if (f.tensors > 1)
				expect_bytes(&f, p.tensor, p.bytes);
		} else if (p.bytes > meta_most) {
			meta_most = p.bytes;
		}
	}
	ck_assert_uint_eq(off, f.bytes);
	ck_assert_uint_eq(tensor_bytes, f.tensor_bytes);
	ck_assert_uint_eq(meta_most, f.meta_bytes);
	ck_assert(!shard_next(&f, &p));
	rig_close(&r);
}
END_TEST

START_TEST(any_part_of_it_is_the_same_bytes)
{
	struct shard_piece p = { 0 };
	struct shard_rig r;
	struct shard f;
	uint8_t *whole, *part;

	open_file(&r, &f, _i);
	whole = rig_whole(&f);
	part = mem_zalloc(f.bytes);
	for (uint64_t i = 0; i < 60; i++) {
		uint64_t off = rng_u64(1, RNG_TEST, i) % f.bytes;
		uint64_t n = rng_u64(2, RNG_TEST, i) % (f.bytes - off) + 1;

		if (i % 2)
			n = n % 100 + 1 < f.bytes - off ? n % 100 + 1 : n;
		shard_copy(&f, &p, off, part, n);
		ck_assert_mem_eq(part, whole + off, n);
	}
	mem_free(part);
	mem_free(whole);
	rig_close(&r);
}
END_TEST

/* What its writer does of a call. */
static void write_call(const struct shard *f, struct shard_piece *at, const struct shard_write *w,
		       unsigned char *slice, uint8_t *to)
{
	static struct iovec parts[CONTENT_PARTS];
	const struct content *c = f->set->content;
	uint64_t run = w->bytes - w->head_bytes;
	struct content_of of;
	unsigned n;

	shard_copy(f, at, w->off, to, w->head_bytes);
	to += w->head_bytes;
	if (run == 0)
		return;
	shard_content_of(f, w->off + w->head_bytes, &of);
	n = content_stamp_run(c, &of, slice, run, parts);
	for (unsigned i = 0; i < n; to += parts[i++].iov_len)
		memcpy(to, parts[i].iov_base, parts[i].iov_len);
}

START_TEST(calls_write_the_whole_file)
{
	unsigned char *slice = mem_zalloc(RIG_SPAN + CONTENT_SLACK);
	struct shard_piece at = { 0 };
	struct shard_write w = { 0 };
	struct shard_rig r;
	struct shard f;
	uint8_t *whole, *written;
	uint64_t off = 0;

	open_file(&r, &f, _i);
	content_fill(r.content, slice);
	whole = rig_whole(&f);
	written = mem_zalloc(f.bytes);
	for (; shard_write_next(&f, &w); off += w.bytes) {
		ck_assert_uint_eq(w.off, off);
		ck_assert_uint_gt(w.bytes, 0);
		ck_assert_uint_le(w.head_bytes, w.bytes);
		ck_assert_uint_le(w.bytes, f.bytes - off);
		ck_assert_uint_le(w.head_bytes, shard_max_head_bytes(&r.set));
		ck_assert_uint_le(w.bytes, shard_max_write_bytes(&r.set));
		ck_assert_uint_le(w.bytes - w.head_bytes, shard_max_run_bytes(&r.set));
		write_call(&f, &at, &w, slice, written + off);
	}
	ck_assert_uint_eq(off, f.bytes);
	ck_assert_mem_eq(written, whole, f.bytes);
	ck_assert(!shard_write_next(&f, &w));
	mem_free(written);
	mem_free(whole);
	mem_free(slice);
	rig_close(&r);
}
END_TEST

/* Not all that stands around the tensors is of use to a reader. */
START_TEST(calls_read_all_tensors_and_nothing_beyond_the_file)
{
	struct shard_read rd = { 0 };
	struct shard_piece p = { 0 };
	struct shard_rig r;
	struct shard f;
	uint8_t *seen;

	open_file(&r, &f, _i);
	seen = mem_zalloc(f.bytes);
	while (shard_read_next(&f, &rd)) {
		uint64_t has = f.bytes - rd.off;

		ck_assert_uint_lt(rd.off, f.bytes);
		ck_assert_uint_eq(rd.got_bytes, rd.bytes < has ? rd.bytes : has);
		memset(seen + rd.off, 1, rd.got_bytes);
	}
	while (shard_next(&f, &p))
		ck_assert(!p.is_tensor || memchr(seen + p.off, 0, p.bytes) == NULL);
	mem_free(seen);
	rig_close(&r);
}
END_TEST

/* As its reader does, in parts of any length. */
static bool check_all(const struct shard *f, const uint8_t *bytes, uint64_t *wrong, char *where,
		      size_t room)
{
	struct shard_piece p = { 0 };
	uint64_t off = 0, n;

	for (uint64_t i = 0; off < f->bytes; off += n, i++) {
		n = rng_u64(5, RNG_TEST, i) % 20000 + 1;
		n = n < f->bytes - off ? n : f->bytes - off;
		if (!shard_check(f, &p, off, bytes + off, n, wrong, where, room))
			return false;
	}
	return true;
}

START_TEST(a_wrong_byte_is_found_and_named)
{
	struct shard_piece p = { 0 };
	struct state_tensor t;
	struct shard_rig r;
	struct shard f;
	uint64_t wrong = 0, bad;
	char where[200] = "", want[200];
	uint8_t *whole;

	open_file(&r, &f, _i);
	whole = rig_whole(&f);
	ck_assert(check_all(&f, whole, &wrong, where, sizeof(where)));
	for (uint64_t i = 0; i < 5; i++) {
		bad = rng_u64(9, RNG_TEST, i) % f.bytes;
		whole[bad] ^= 0x20;
		ck_assert(!check_all(&f, whole, &wrong, where, sizeof(where)));
		ck_assert_uint_eq(wrong, bad);
		for (memset(&p, 0, sizeof(p)); p.off + p.bytes <= bad;)
			ck_assert(shard_next(&f, &p));
		if (p.is_tensor) {
			shard_tensor(&f, p.tensor, &t);
			snprintf(want, sizeof(want), "tensor %s", t.name);
			ck_assert_str_eq(where, want);
		} else {
			ck_assert(strstr(where, " of the archive") || strstr(where, " of record "));
		}
		whole[bad] ^= 0x20;
	}
	mem_free(whole);
	rig_close(&r);
}
END_TEST

START_TEST(other_checkpoints_ranks_and_files_have_other_bytes)
{
	static const struct {
		uint64_t rank, index, checkpoint;
	} others[] = { { 0, 0, 5 }, { 1, 0, 4 }, { 0, 1, 4 } };
	struct shard_rig r;
	struct shard f;
	uint8_t *bytes[4];

	rig_open(&r, "checkpoint_layout=stream model_layers=2 model_hidden=64 model_heads=4 "
		     "model_kv_heads=4 model_ffn=64 model_vocabulary=64 ranks=2 zero_stage=3 ");
	shard_init(&f, &r.set, 0, 0, 4);
	bytes[3] = rig_whole(&f);
	for (int i = 0; i < 3; i++) {
		shard_init(&f, &r.set, others[i].rank, others[i].index, others[i].checkpoint);
		bytes[i] = rig_whole(&f);
		ck_assert_mem_ne(bytes[i], bytes[3], 4096);
		for (int k = 0; k < i; k++)
			ck_assert_mem_ne(bytes[i], bytes[k], 4096);
	}
	for (int i = 0; i < 4; i++)
		mem_free(bytes[i]);
	rig_close(&r);
}
END_TEST

Suite *suite_shard(void)
{
	Suite *s = suite_create("shard");
	TCase *which = tcase_create("which");
	TCase *any = tcase_create("any");

	tcase_add_loop_test(which, files_are_as_many_as_dlio_writes, 0, COUNTS);
	tcase_add_loop_test(which, they_have_its_names, 0, NAMES);
	tcase_add_test(which, no_layout_gives_other_names);
	tcase_add_test(which, who_saves_nothing_has_no_file);
	suite_add_tcase(s, which);
	tcase_add_loop_test(any, pieces_follow_one_another_to_the_end, 0, SOME);
	tcase_add_loop_test(any, any_part_of_it_is_the_same_bytes, 0, SOME);
	tcase_add_loop_test(any, calls_write_the_whole_file, 0, FRAMEWORK);
	tcase_add_loop_test(any, calls_read_all_tensors_and_nothing_beyond_the_file, 0, FRAMEWORK);
	tcase_add_loop_test(any, a_wrong_byte_is_found_and_named, 0, SOME);
	tcase_add_test(any, other_checkpoints_ranks_and_files_have_other_bytes);
	suite_add_tcase(s, any);
	return s;
}
