/* SPDX-License-Identifier: Apache-2.0 */
/* test_torch.c - archives of torch.save: the calls of torch itself. */
#include "suites.h"
#include "torch_rig.h"

#include "shard_rig.h"

/* float32 there, bytes here: the names make up for the pickle's length. */
static const char captured[] = "layer0.weight 5000000\n"
			       "layer1.weight 20000\n"
			       "layer2.weight 4096\n"
			       "layer3.weight 4000000\n"
			       "layer4.weight 64\n"
			       "layer5.weight 1000000\n"
			       "layer6.weight 123456\n"
			       "layer7.weight 2097152\n"
			       "layer8.weight 40\n"
			       "layer9.weight 8000000\n"
			       "layer10.weight 300000\n"
			       "layer11.weight 1024\n";

static const uint64_t path_writes[] = {
	1152 + 5000000, 64 + 20000,  96 + 300000,  96 + 1024,     64 + 4096, 64 + 4000000,
	192 + 1000000,  64 + 123456, 64 + 2097152, 192 + 8000000, 1011,      0,
};

static const uint64_t file_writes[] = {
	1152, 5000000, 64, 20000,  96, 300000,  1184, 4096,    64,   4000000,
	192,  1000000, 64, 123456, 64, 2097152, 192,  8000000, 1089, 0,
};

/* clang-format off */
static const struct {
	uint64_t bytes, off, got;
} captured_reads[] = {
	{ 4096, 0, 4096 },
	{ 4096, 0, 4096 },
	{ 4096, 20544691, 4096 },
	{ 4096, 20548765, 22 },
	{ 4096, 20548745, 42 },
	{ 4096, 20548689, 98 },
	{ 4096, 20547858, 929 },
	{ 4096, 20547792, 995 },
	{ 4096, 0, 4096 },
	{ 4997056, 4096, 4997056 },
	{ 4096, 5001168, 4096 },
	{ 15952, 5005264, 15952 },
	{ 4096, 5322448, 4096 },
	{ 4096, 5326544, 4096 },
	{ 3996016, 5330640, 3996016 },
	{ 4096, 9326672, 4096 },
	{ 996080, 9330768, 996080 },
	{ 4096, 10326864, 4096 },
	{ 119408, 10330960, 119408 },
	{ 4096, 10450384, 4096 },
	{ 2093104, 10454480, 2093104 },
	{ 4096, 12547600, 4096 },
	{ 7996080, 12551696, 7996080 },
	{ 4096, 5021232, 4096 },
	{ 295984, 5025328, 295984 },
	{ 4096, 5321328, 4096 },
};
/* clang-format on */

#define CAPTURED_READS (sizeof(captured_reads) / sizeof(captured_reads[0]))

static void expect_writes(const struct shard *f, const uint64_t *calls)
{
	struct shard_write w = { 0 };

	for (; *calls; calls++) {
		ck_assert(shard_write_next(f, &w));
		ck_assert_uint_eq(w.bytes, *calls);
	}
	ck_assert(!shard_write_next(f, &w));
}

START_TEST(writes_are_those_that_were_captured)
{
	struct shard_rig r;
	struct shard f;

	open_list(&r, PATH, captured);
	shard_init(&f, &r.set, 0, 0, 1);
	ck_assert_uint_eq(f.bytes, 20548787);
	expect_writes(&f, path_writes);
	rig_close(&r);

	open_list(&r, FILE_OBJECT, captured);
	shard_init(&f, &r.set, 0, 0, 1);
	expect_writes(&f, file_writes);
	rig_close(&r);
}
END_TEST

START_TEST(so_are_reads)
{
	struct shard_read rd = { 0 };
	struct shard_rig r;
	struct shard f;

	open_list(&r, PATH, captured);
	shard_init(&f, &r.set, 0, 0, 1);
	for (size_t i = 0; i < CAPTURED_READS; i++) {
		ck_assert(shard_read_next(&f, &rd));
		ck_assert_uint_eq(rd.bytes, captured_reads[i].bytes);
		ck_assert_uint_eq(rd.off, captured_reads[i].off);
		ck_assert_uint_eq(rd.got_bytes, captured_reads[i].got);
	}
	ck_assert(!shard_read_next(&f, &rd));
	rig_close(&r);
}
END_TEST

/* DLIO's checkpoint of a model that is no transformer. */
START_TEST(dlio_writes_one_tensor_in_three_calls_and_reads_it_in_one)
{
	static const uint64_t calls[] = { 320, 499153191, 388, 0 };
	struct shard_read rd = { 0 };
	struct shard_rig r;
	struct shard f;

	open_list(&r, FILE_OBJECT, "a 499153191\n");
	shard_init(&f, &r.set, 0, 0, 1);
	ck_assert_uint_eq(f.bytes, 499153899);
	expect_writes(&f, calls);
	for (int i = 0; i < 7; i++) {
		ck_assert(shard_read_next(&f, &rd));
		ck_assert_uint_eq(rd.bytes, 4096);
	}
	while (rd.off != 4096)
		ck_assert(shard_read_next(&f, &rd));
	ck_assert_uint_eq(rd.bytes, 499149415);
	ck_assert(!shard_read_next(&f, &rd));
	rig_close(&r);
}
END_TEST

/* A hundred tensors of 5 MB: their pickle and directory do not fit a buffer. */
static char *hundred(void)
{
	size_t room = 100 * 40, used = 0;
	char *text = mem_zalloc(room);

	for (int i = 0; i < 100; i++)
		used += (size_t)snprintf(text + used, room - used, "layer%d.weight%s 5000000\n", i,
					 i ? "" : "_");
	return text;
}

START_TEST(what_is_too_long_for_a_buffer_is_written_by_itself)
{
	char *text = hundred();
	struct shard_write w = { 0 };
	struct shard_rig r;
	struct shard f;
	uint64_t n;

	open_list(&r, FILE_OBJECT, text);
	shard_init(&f, &r.set, 0, 0, 1);
	for (uint64_t i = 0; shard_write_next(&f, &w); i++) {
		static const uint64_t begin[] = { 64, 9436, 100, 5000000 };
		static const uint64_t end[] = { 146, 6213, 98 };

		if (i < 4)
			ck_assert_uint_eq(w.bytes, begin[i]);
		else if (i >= 2 + 200)
			ck_assert_uint_eq(w.bytes, end[i - 2 - 200]);
		else if (i % 2)
			ck_assert_uint_eq(w.bytes, 5000000);
		else
			ck_assert(w.bytes == 64 || w.bytes == 128);
	}
	ck_assert_uint_eq(w.off, f.bytes);
	rig_close(&r);

	/* There the stem had four letters, here six: 5907 + 2 * 102. */
	memset(&w, 0, sizeof(w));
	open_list(&r, PATH, text);
	shard_init(&f, &r.set, 0, 0, 1);
	for (n = 0; shard_write_next(&f, &w); n++)
		ck_assert_uint_eq(w.bytes, n == 0     ? 64 + 9436
					   : n == 1   ? 100 + 5000000
					   : n <= 100 ? 64 + 5000000
					   : n == 101 ? 82 + 5907 + 204
						      : 98);
	ck_assert_uint_eq(n, 103);
	rig_close(&r);
	mem_free(text);
}
END_TEST

Suite *suite_torch(void)
{
	Suite *s = suite_create("torch");
	TCase *calls = tcase_create("calls");

	tcase_add_test(calls, writes_are_those_that_were_captured);
	tcase_add_test(calls, so_are_reads);
	tcase_add_test(calls, dlio_writes_one_tensor_in_three_calls_and_reads_it_in_one);
	tcase_add_test(calls, what_is_too_long_for_a_buffer_is_written_by_itself);
	suite_add_tcase(s, calls);
	return s;
}
