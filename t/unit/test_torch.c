/* SPDX-License-Identifier: Apache-2.0 */
/* test_torch.c - archives of torch.save: what an unzipper finds in them, and the calls of torch itself. */
#include "suites.h"

#include <zlib.h>

#include "data/torch_pickle.h"
#include "data/torch_zip.h"
#include "shard_rig.h"

#define PATH "checkpoint_layout=torch access=framework "
#define FILE_OBJECT "checkpoint_layout=deepspeed access=framework "

/* With calls as long as those of a writer. */
static void open_list(struct shard_rig *r, const char *options,
		      const char *text)
{
	rig_open_list(r, options, text, 2u << 20);
}

static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = bytes; i > 0; i--)
		v = v << 8 | at[i - 1];
	return v;
}

static void part_of(const struct shard *f, uint64_t off, void *to,
		    uint64_t bytes)
{
	struct shard_piece p = { 0 };

	ck_assert_uint_le(off + bytes, f->bytes);
	shard_copy(f, &p, off, to, bytes);
}

/* ---- calls: those of torch 1.13.1 and Python 3.11, by strace ---- */

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
	1152 + 5000000, 64 + 20000,    96 + 300000,   96 + 1024,
	64 + 4096,      64 + 4000000,  192 + 1000000, 64 + 123456,
	64 + 2097152,   192 + 8000000, 1011,          0,
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
		used += (size_t)snprintf(text + used, room - used,
					 "layer%d.weight%s 5000000\n", i,
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

/* ---- the archive, as an unzipper goes about it ---- */

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
	ck_assert_ptr_eq(extra ? field : at + 46 + name_bytes,
			 at + 46 + name_bytes + extra);
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
	ck_assert_uint_eq(number(end + 76 + 16, 4),
			  d.off < UINT32_MAX ? d.off : UINT32_MAX);
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

static const uint64_t tensor_counts[] = { 1,  2,  9,   10,  11,
					  12, 99, 100, 101, 1234 };
#define TENSOR_COUNTS ((int)(sizeof(tensor_counts) / sizeof(tensor_counts[0])))

static char *list_of(uint64_t n, const char *name, uint64_t (*bytes)(uint64_t))
{
	size_t room = n * 64, used = 0;
	char *text = mem_zalloc(room);

	for (uint64_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, room - used,
					 "%s%" PRIu64 ".w %" PRIu64 "\n", name,
					 i, bytes(i));
	return text;
}

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

	open_list(&r,
		  _i < TENSOR_COUNTS ? PATH : "checkpoint_layout=deepspeed ",
		  text);
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

/* ---- the pickle ---- */

static const char one_tensor[] =
	"\x80\2}q\0X\1\0\0\0aq\1ctorch._utils\n_rebuild_tensor_v2\nq\2(("
	"X\7\0\0\0"
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

#define SMALL_MODEL                                                            \
	"model_layers=60 model_hidden=8 model_ffn=16 model_heads=2 "           \
	"model_kv_heads=2 model_vocabulary=16 "

/* Lengths and checksums of what torch 1.13.1 pickled of the same names, types
 * and lengths: around a thousand items, 255 objects, and each form of a number. */
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

Suite *suite_torch(void)
{
	Suite *s = suite_create("torch");
	TCase *calls = tcase_create("calls");
	TCase *archive = tcase_create("archive");
	TCase *pickle = tcase_create("pickle");

	tcase_add_test(calls, writes_are_those_that_were_captured);
	tcase_add_test(calls, so_are_reads);
	tcase_add_test(
		calls,
		dlio_writes_one_tensor_in_three_calls_and_reads_it_in_one);
	tcase_add_test(calls,
		       what_is_too_long_for_a_buffer_is_written_by_itself);
	suite_add_tcase(s, calls);
	tcase_add_loop_test(archive,
			    an_unzipper_finds_every_record_and_its_checksum, 0,
			    2 * TENSOR_COUNTS);
	tcase_add_loop_test(archive, so_it_does_beyond_4_gib, 0, LONG_LISTS);
	tcase_add_test(archive, its_zip64_fields_are_as_miniz_has_them);
	suite_add_tcase(s, archive);
	tcase_add_test(pickle, one_tensor_is_pickled_as_python_does);
	tcase_add_loop_test(pickle, many_are_pickled_as_torch_does, 0, PICKLES);
	tcase_add_test(pickle, any_part_of_a_pickle_is_the_same);
	suite_add_tcase(s, pickle);
	return s;
}
