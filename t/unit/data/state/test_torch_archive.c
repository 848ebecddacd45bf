/* SPDX-License-Identifier: Apache-2.0 */
/* test_torch_archive.c - archives of torch.save: what an unzipper finds in them. */
#include "suites.h"
#include "torch_rig.h"

#include <zlib.h>

#include "data/state/state.h"
#include "shard_rig.h"

static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = bytes; i > 0; i--)
		v = v << 8 | at[i - 1];
	return v;
}

static void part_of(const struct shard *f, uint64_t off, void *to, uint64_t bytes)
{
	struct shard_piece p = { 0 };

	ck_assert_uint_le(off + bytes, f->bytes);
	shard_copy(f, &p, off, to, bytes);
}

struct entry {
	char name[64];
	uint64_t off, bytes, stored_bytes;
	uint32_t crc32;
};

/* One entry of the directory: its length. */
static size_t take_entry(const uint8_t *at, struct entry *e)
{
	uint64_t name_bytes = number(at + 28, 2), extra = number(at + 30, 2);
	const uint8_t *field = at + 46 + name_bytes + 4;

	ck_assert_mem_eq(at, "PK\1\2", 4);
	ck_assert_uint_eq(number(at + 8, 2), 0x0808);
	ck_assert_uint_eq(number(at + 10, 2), 0); /* stored */
	ck_assert_uint_eq(number(at + 12, 4), 0); /* no date */
	ck_assert_uint_lt(name_bytes, sizeof(e->name));
	*e = (struct entry){ .crc32 = (uint32_t)number(at + 16, 4),
			     .stored_bytes = number(at + 20, 4),
			     .bytes = number(at + 24, 4),
			     .off = number(at + 42, 4) };
	memcpy(e->name, at + 46, name_bytes);
	if (extra)
		ck_assert_mem_eq(field - 4, "\1\0", 2);
	if (e->bytes == UINT32_MAX) {
		e->bytes = number(field, 8);
		e->stored_bytes = number(field + 8, 8);
		field += 16;
	}
	if (e->off == UINT32_MAX) {
		e->off = number(field, 8);
		field += 8;
	}
	ck_assert_ptr_eq(extra ? field : at + 46 + name_bytes, at + 46 + name_bytes + extra);
	return 46 + name_bytes + extra;
}

static uint32_t checksum(const struct shard *f, uint64_t off, uint64_t bytes)
{
	uint8_t *data = mem_zalloc(bytes);
	uint32_t crc;

	part_of(f, off, data, bytes);
	crc = (uint32_t)crc32_z(0, data, bytes);
	mem_free(data);
	return crc;
}

/* Header, data and descriptor of a record: where it ends. */
static uint64_t check_record(const struct shard *f, const struct entry *e)
{
	bool is_long = e->off >= UINT32_MAX || e->bytes >= UINT32_MAX;
	unsigned wide = is_long ? 8 : 4;
	uint8_t head[30], after[24];
	char name[64] = "";
	uint64_t data;

	part_of(f, e->off, head, sizeof(head));
	ck_assert_mem_eq(head, "PK\3\4", 4);
	ck_assert_uint_eq(number(head + 6, 2), 0x0808);
	ck_assert_uint_eq(number(head + 14, 8) + number(head + 22, 4), 0);
	part_of(f, e->off + 30, name, number(head + 26, 2));
	ck_assert_str_eq(name, e->name);
	data = e->off + 30 + number(head + 26, 2) + number(head + 28, 2);
	ck_assert_uint_eq(data % 64, 0);
	part_of(f, data + e->bytes, after, 8 + 2 * wide);
	ck_assert_mem_eq(after, "PK\7\10", 4);
	ck_assert_uint_eq(number(after + 4, 4), e->crc32);
	ck_assert_uint_eq(number(after + 8, wide), e->bytes);
	ck_assert_uint_eq(number(after + 8 + wide, wide), e->bytes);
	if (e->bytes < 10000000)
		ck_assert_uint_eq(checksum(f, data, e->bytes), e->crc32);
	return data + e->bytes + 8 + 2 * wide;
}

struct directory {
	uint64_t off, bytes, records;
};

static struct directory find_directory(const struct shard *f)
{
	uint8_t end[98];
	struct directory d;

	part_of(f, f->bytes - sizeof(end), end, sizeof(end));
	ck_assert_mem_eq(end, "PK\6\6", 4);
	ck_assert_uint_eq(number(end + 4, 8), 44);
	ck_assert_mem_eq(end + 56, "PK\6\7", 4);
	ck_assert_uint_eq(number(end + 64, 8), f->bytes - sizeof(end));
	ck_assert_mem_eq(end + 76, "PK\5\6", 4);
	d = (struct directory){ .records = number(end + 32, 8),
				.bytes = number(end + 40, 8),
				.off = number(end + 48, 8) };
	ck_assert_uint_eq(d.off + d.bytes + sizeof(end), f->bytes);
	ck_assert_uint_eq(number(end + 76 + 10, 2), d.records);
	ck_assert_uint_eq(number(end + 76 + 12, 4), d.bytes);
	ck_assert_uint_eq(number(end + 76 + 16, 4), d.off < UINT32_MAX ? d.off : UINT32_MAX);
	return d;
}

static void check_archive(const struct shard *f)
{
	const struct directory d = find_directory(f);
	uint8_t *directory = mem_zalloc(d.bytes), *at = directory;
	struct entry e;
	char before[sizeof(e.name)] = "", stem[80];
	uint64_t end = 0;

	ck_assert_uint_eq(d.records, f->tensors + 2);
	part_of(f, d.off, directory, d.bytes);
	for (uint64_t i = 0; i < d.records; i++) {
		at += take_entry(at, &e);
		ck_assert_uint_eq(e.off, end);
		ck_assert_uint_eq(e.bytes, e.stored_bytes);
		end = check_record(f, &e);
		snprintf(stem, sizeof(stem), "%s/%s", f->zip.stem,
			 i == 0               ? "data.pkl"
			 : i == d.records - 1 ? "version"
					      : "data/");
		ck_assert(strncmp(e.name, stem, strlen(stem)) == 0);
		/* by their names, data.pkl before data/ */
		ck_assert_int_gt(strcmp(e.name, before), i > 1 ? 0 : -2000);
		memcpy(before, e.name, sizeof(before));
	}
	ck_assert_ptr_eq(at, directory + d.bytes);
	ck_assert_uint_eq(end, d.off);
	mem_free(directory);
}

static const uint64_t tensor_counts[] = { 1, 2, 9, 10, 11, 12, 99, 100, 101, 1002 };

#define TENSOR_COUNTS ((int)(sizeof(tensor_counts) / sizeof(tensor_counts[0])))

static uint64_t any_bytes(uint64_t i)
{
	return i * i * 977 % 30011 + 1;
}

START_TEST(an_unzipper_finds_every_record_and_its_checksum)
{
	uint64_t n = tensor_counts[_i % TENSOR_COUNTS];
	char *text = list_of(n, "t", any_bytes);
	struct shard_rig r;
	struct shard f;

	open_list(&r, _i < TENSOR_COUNTS ? PATH : "checkpoint_layout=deepspeed ", text);
	shard_init(&f, &r.set, 0, 0, 1);
	ck_assert_str_eq(f.zip.stem, _i < TENSOR_COUNTS ? "rank_0" : "archive");
	check_archive(&f);
	rig_close(&r);
	mem_free(text);
}
END_TEST

/* Of 4 GiB and more by size or by place; 0xffffffff is such a size, too. */
static const char *const long_lists[] = {
	"a 4294967304\nb 100\n",
	"a 4294967295\nb 100\n",
	"a 4294967294\nb 100\n",
	"a 4294965296\nb 2000\nc 100\n",
	"a 3000000000\nb 3000000000\nc 5000000000\n",
};

#define LONG_LISTS ((int)(sizeof(long_lists) / sizeof(long_lists[0])))

START_TEST(so_it_does_beyond_4_gib)
{
	struct shard_rig r;
	struct shard f;

	open_list(&r, FILE_OBJECT, long_lists[_i]);
	shard_init(&f, &r.set, 0, 0, 1);
	check_archive(&f);
	rig_close(&r);
}
END_TEST

/* What torch 1.13.1 hands to its file of {'a': 4294967304 bytes, 'b': 100}. */
START_TEST(its_zip64_fields_are_as_miniz_has_them)
{
	static const uint8_t of_size[] = { 1, 0, 16, 0, 8, 0, 0, 0, 1, 0,
					   0, 0, 0,  0, 0, 0, 0, 0, 0, 0 };
	uint8_t field[24];
	struct shard_piece p = { 0 };
	struct shard_rig r;
	struct shard f;

	open_list(&r, FILE_OBJECT, long_lists[0]);
	shard_init(&f, &r.set, 0, 0, 1);
	while (p.part != TORCH_ZIP64)
		ck_assert(shard_next(&f, &p));
	ck_assert_uint_eq(p.tensor, 0);
	ck_assert_uint_eq(p.bytes, sizeof(of_size));
	part_of(&f, p.off, field, p.bytes);
	ck_assert_mem_eq(field, of_size, sizeof(of_size));
	ck_assert(shard_next(&f, &p));
	while (p.part != TORCH_ZIP64)
		ck_assert(shard_next(&f, &p));
	ck_assert_uint_eq(p.tensor, 1);
	ck_assert_uint_eq(p.bytes, 12);
	part_of(&f, p.off, field, p.bytes);
	ck_assert_mem_eq(field, "\1\0\10\0", 4);
	ck_assert_uint_eq(number(field + 4, 8), p.record_off);
	ck_assert_uint_gt(p.record_off, UINT32_MAX);
	rig_close(&r);
}
END_TEST

Suite *suite_torch_archive(void)
{
	Suite *s = suite_create("torch_archive");
	TCase *archive = tcase_create("archive");

	tcase_add_loop_test(archive, an_unzipper_finds_every_record_and_its_checksum, 0,
			    2 * TENSOR_COUNTS);
	tcase_add_loop_test(archive, so_it_does_beyond_4_gib, 0, LONG_LISTS);
	tcase_add_test(archive, its_zip64_fields_are_as_miniz_has_them);
	suite_add_tcase(s, archive);
	return s;
}
