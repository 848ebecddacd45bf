/* SPDX-License-Identifier: Apache-2.0 */
/* test_torch_pickle.c - archives of torch.save: their pickle. */
#include "suites.h"
#include "torch_rig.h"

#include <zlib.h>

#include "data/state/state.h"
#include "data/state/state_internal.h"
#include "shard_rig.h"

static const char one_tensor[] =
	"\x80\2}q\0X\1\0\0\0aq\1ctorch._utils\n_rebuild_tensor_v2\nq\2((X\7\0\0\0"
	"storageq\3ctorch\nCharStorage\nq\4X\1\0\0\0"
	"0q\5X\3\0\0\0cpuq\6"
	"J\x27\x79\xc0\x1dtq\7QK\0J\x27\x79\xc0\x1d\x85q\10K\1\x85q\11\x89"
	"ccollections\nOrderedDict\nq\12)Rq\13tq\14Rq\15s.";

START_TEST(one_tensor_is_pickled_as_python_does)
{
	struct shard_rig r;
	struct shard f;
	struct window w;
	uint8_t text[sizeof(one_tensor)];

	open_list(&r, FILE_OBJECT, "a 499153191\n");
	shard_init(&f, &r.set, 0, 0, 1);
	ck_assert_uint_eq(f.zip.pickle_bytes, sizeof(one_tensor) - 1);
	w = (struct window){ .end = sizeof(text), .to = text };
	torch_pickle(&f, &w);
	ck_assert_mem_eq(text, one_tensor, sizeof(one_tensor) - 1);
	rig_close(&r);
}
END_TEST

static uint64_t bytes_300(uint64_t i)
{
	(void)i;
	return 300;
}

#define SMALL_MODEL                                                                                \
	"model_layers=60 model_hidden=8 model_ffn=16 model_heads=2 "                               \
	"model_kv_heads=2 model_vocabulary=16 "

/* Lengths and checksums of what torch 1.13.1 pickled of the same names, types and lengths: around a
 * thousand items, 255 objects, and each form of a number. */
/* clang-format off */
static const struct pickle_case {
	uint64_t tensors; /* of a list of 300 bytes each; 0 = options or a list */
	const char *options, *list;
	uint64_t bytes;
	uint32_t crc32;
} pickles[] = {
	{ 1, "", NULL, 166, 0x3263986e },
	{ 2, "", NULL, 229, 0xca974f1d },
	{ 255, "", NULL, 22085, 0x6a02782d },
	{ 999, "", NULL, 89045, 0x98a8a0f0 },
	{ 1000, "", NULL, 89137, 0xba5f9925 },
	{ 1001, "", NULL, 89229, 0x9bdbd56f },
	{ 2000, "", NULL, 181139, 0x797717a3 },
	{ 2001, "", NULL, 181231, 0x7ca01c49 },
	{ 0, SMALL_MODEL "model_bytes=2 optimizer_bytes=4 ", NULL, 41692, 0x1aadc767 },
	{ 0, SMALL_MODEL "model_bytes=2 optimizer_bytes=8 ", NULL, 41693, 0x4e559d32 },
	{ 0, SMALL_MODEL "model_bytes=1 optimizer_bytes=4 ", NULL, 41692, 0xe0be958a },
	{ 0, "", "big.w 2147483648\nless.w 2147483647\n", 244, 0x0a991d8d },
};
/* clang-format on */

#define PICKLES ((int)(sizeof(pickles) / sizeof(pickles[0])))

START_TEST(many_are_pickled_as_torch_does)
{
	const struct pickle_case *c = &pickles[_i];
	char *text = c->tensors ? list_of(c->tensors, "t", bytes_300) : NULL;
	char options[400];
	struct shard_rig r;
	struct shard f;

	snprintf(options, sizeof(options), PATH "%s", c->options);
	if (c->list || text)
		open_list(&r, options, c->list ? c->list : text);
	else
		rig_open(&r, options);
	shard_init(&f, &r.set, 0, 0, 1);
	ck_assert_uint_eq(f.zip.pickle_bytes, c->bytes);
	ck_assert_uint_eq(f.zip.pickle_crc32, c->crc32);
	rig_close(&r);
	mem_free(text);
}
END_TEST

START_TEST(any_part_of_a_pickle_is_the_same)
{
	char *text = list_of(30, "t", bytes_300);
	struct shard_piece p = { 0 };
	uint8_t whole[4096], part[4096];
	struct shard_rig r;
	struct shard f;

	open_list(&r, PATH, text);
	shard_init(&f, &r.set, 0, 0, 1);
	while (p.part != TORCH_DATA)
		ck_assert(shard_next(&f, &p));
	ck_assert_uint_le(p.bytes, sizeof(whole));
	shard_meta(&f, &p, 0, whole, p.bytes);
	for (uint64_t from = 0; from < p.bytes; from += 7)
		for (uint64_t n = 1; n < 20 && from + n <= p.bytes; n += 3) {
			shard_meta(&f, &p, from, part, n);
			ck_assert_mem_eq(part, whole + from, n);
		}
	rig_close(&r);
	mem_free(text);
}
END_TEST

Suite *suite_torch_pickle(void)
{
	Suite *s = suite_create("torch_pickle");
	TCase *pickle = tcase_create("pickle");

	tcase_add_test(pickle, one_tensor_is_pickled_as_python_does);
	tcase_add_loop_test(pickle, many_are_pickled_as_torch_does, 0, PICKLES);
	tcase_add_test(pickle, any_part_of_a_pickle_is_the_same);
	suite_add_tcase(s, pickle);
	return s;
}
