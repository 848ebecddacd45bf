/* SPDX-License-Identifier: Apache-2.0 */
/* test_crcjoin.c - checksums joined are those of what was joined. */
#include <check.h>
#include <string.h>

#include <zlib.h>

#include "base/dist.h"
#include "data/state/state_internal.h"
#include "suites.h"

#define BYTES 5000u

static void fill(unsigned char *data)
{
	rng_fill(data, BYTES, 7, RNG_TEST, 0);
}

static uint32_t zlib_sum(const void *data, size_t bytes)
{
	return (uint32_t)crc32(0, data, (uInt)bytes);
}

static const uint64_t lengths[] = { 0, 1, 2, 3, 4, 31, 32, 1000, 4064, 4096 };

#define LENGTHS (sizeof(lengths) / sizeof(lengths[0]))

START_TEST(two_parts_have_the_checksum_of_both)
{
	unsigned char data[BYTES];
	struct crcjoin j;

	fill(data);
	for (size_t i = 0; i < LENGTHS; i++) {
		uint64_t n = lengths[i];

		crcjoin_init(&j, CRCJOIN_CRC32, n);
		for (size_t a = 0; a + n <= BYTES; a += 97)
			ck_assert_uint_eq(crcjoin_past(&j, zlib_sum(data, a)) ^
						  zlib_sum(data + a, n),
					  zlib_sum(data, a + n));
	}
}
END_TEST

START_TEST(a_part_can_be_of_any_length)
{
	static const uint64_t longer[] = { 1ull << 20, (1ull << 31) - 4097, (1ull << 40) + 5 };
	struct crcjoin j;

	for (size_t i = 0; i < sizeof(longer) / sizeof(longer[0]); i++) {
		crcjoin_init(&j, CRCJOIN_CRC32, longer[i]);
		for (uint32_t bit = 1; bit; bit <<= 1)
			ck_assert_uint_eq(crcjoin_past(&j, bit),
					  crc32_combine(bit, 0, (z_off_t)longer[i]));
	}
}
END_TEST

START_TEST(a_word_that_is_set_changes_the_checksum_by_arithmetic)
{
	static const unsigned char word[] = { 0x12, 0xf4, 0x56, 0x9a };
	unsigned char data[BYTES];
	struct crcjoin j;
	uint32_t before;

	fill(data);
	for (size_t at = 0; at + 4 <= BYTES; at += 333) {
		crcjoin_init(&j, CRCJOIN_CRC32, BYTES - at);
		memset(data + at, 0, 4);
		before = zlib_sum(data, BYTES);
		memcpy(data + at, word, 4);
		ck_assert_uint_eq(before ^ crcjoin_past(&j, 0x9a56f412), zlib_sum(data, BYTES));
	}
}
END_TEST

START_TEST(a_sum_goes_word_by_word)
{
	unsigned char data[BYTES];
	struct crcjoin word;

	fill(data);
	crcjoin_init(&word, CRCJOIN_CRC32, 4);
	for (size_t n = 0; n <= BYTES; n += 500)
		ck_assert_uint_eq(crcjoin_sum(&word, 0, data, n), zlib_sum(data, n));
	ck_assert_uint_eq(crcjoin_sum(&word, zlib_sum(data, 1001), data + 1001, 3000),
			  zlib_sum(data, 4001));
}
END_TEST

/* The examples of RFC 3720, B.4. */
START_TEST(the_crc32c_is_the_one_of_iscsi)
{
	unsigned char data[4][32];
	struct crcjoin word;

	memset(data[0], 0, 32);
	memset(data[1], 0xff, 32);
	for (unsigned i = 0; i < 32; i++) {
		data[2][i] = (unsigned char)i;
		data[3][i] = (unsigned char)(31 - i);
	}
	crcjoin_init(&word, CRCJOIN_CRC32C, 4);
	ck_assert_uint_eq(crcjoin_sum(&word, 0, data[0], 32), 0x8a9136aa);
	ck_assert_uint_eq(crcjoin_sum(&word, 0, data[1], 32), 0x62a8ab43);
	ck_assert_uint_eq(crcjoin_sum(&word, 0, data[2], 32), 0x46dd794e);
	ck_assert_uint_eq(crcjoin_sum(&word, 0, data[3], 32), 0x113fdb5c);
}
END_TEST

Suite *suite_crcjoin(void)
{
	Suite *s = suite_create("crcjoin");
	TCase *t = tcase_create("crcjoin");

	tcase_add_test(t, two_parts_have_the_checksum_of_both);
	tcase_add_test(t, a_part_can_be_of_any_length);
	tcase_add_test(t, a_word_that_is_set_changes_the_checksum_by_arithmetic);
	tcase_add_test(t, a_sum_goes_word_by_word);
	tcase_add_test(t, the_crc32c_is_the_one_of_iscsi);
	suite_add_tcase(s, t);
	return s;
}
