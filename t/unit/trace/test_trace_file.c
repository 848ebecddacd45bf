/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_file.c - what was traced is read back, as far as a file goes, and nothing else ever
 * is. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/mem.h"
#include "suites.h"
#include "temp.h"
#include "trace/trace.h"

static char path[2][TEMP_BYTES];
static struct mlgen_err err;

static void make_names(void)
{
	for (unsigned i = 0; i < 2; i++)
		close(temp_file(path[i]));
}

static void remove_names(void)
{
	unlink(path[0]);
	unlink(path[1]);
}

/* Whatever its number: no two are alike. */
static struct trace_record record_of(uint64_t i)
{
	return (struct trace_record){ .start_ns = 1000 * i,
				      .duration_ns = 10 + i % 7,
				      .off = 4096 * i,
				      .len_bytes = 4096,
				      .result = i % 3 ? 4096 : -5,
				      .cpu_ns = TRACE_UNKNOWN,
				      .pid = 7,
				      .tid = 7 + i % 4,
				      .file = 1 + (uint32_t)(i % 100),
				      .op = TRACE_READ };
}

static struct trace_writer *open_writer(unsigned which, uint32_t part, int *fd)
{
	struct trace_head head = {
		.run_id = "fifteen letters", .part = part, .wall_ns = 5, .clock_ns = 6
	};
	struct trace_writer *w;

	*fd = open(path[which], O_RDWR | O_TRUNC);
	ck_assert_int_ge(*fd, 0);
	err = (struct mlgen_err){ 0 };
	ck_assert_int_eq(trace_writer_new(&w, *fd, path[which], &head, &err), 0);
	return w;
}

static void add_files(struct trace_writer *w, unsigned first, unsigned count)
{
	char name[32];

	for (unsigned i = 0; i < count; i++) {
		int n = snprintf(name, sizeof(name), "/data/%u", first + i);

		ck_assert_uint_eq(trace_writer_name(w, name, (size_t)n), i + 1);
		ck_assert_uint_eq(trace_writer_name(w, name, (size_t)n), i + 1);
	}
}

/* So many records, a chunk each `every`. */
static void write_trace(unsigned which, uint32_t part, uint64_t count, uint64_t every)
{
	struct trace_written done;
	int fd;
	struct trace_writer *w = open_writer(which, part, &fd);

	add_files(w, 50 * part, 100);
	for (uint64_t i = 0; i < count; i++) {
		struct trace_record r = record_of(i);

		trace_writer_record(w, &r);
		if (i % every == every - 1)
			trace_writer_flush(w);
	}
	ck_assert_int_eq(trace_writer_finish(w, &done, &err), 0);
	ck_assert_uint_eq(done.records, count);
	ck_assert_uint_eq(done.lost, 0);
	ck_assert_uint_eq(done.entries, 100);
	struct stat st;
	ck_assert_int_eq(fstat(fd, &st), 0);
	ck_assert_uint_eq(done.bytes, (uint64_t)st.st_size);
	close(fd);
}

struct seen {
	uint64_t records, entries;
	struct trace_read read;
	int rc;
};

/* All that is read is what was written, in its order. */
static struct seen read_trace(const char *const *paths, size_t count)
{
	struct trace_reader *r = NULL;
	struct trace_batch b;
	struct seen s = { 0 };
	uint64_t next = 0;

	err = (struct mlgen_err){ 0 };
	s.rc = trace_reader_open(&r, paths, count, &err);
	if (s.rc < 0)
		return s;
	while ((s.rc = trace_reader_next(r, &b, &err)) > 0) {
		s.entries += b.entry_count;
		for (size_t i = 0; i < b.entry_count; i++)
			ck_assert_int_eq(strncmp(b.entries[i].text, "/data/", 6), 0);
		for (size_t i = 0; i < b.record_count; i++) {
			uint64_t n = b.records[i].off / 4096;
			struct trace_record want = record_of(n);

			if (count > 1)
				want.file = b.records[i].file;
			ck_assert_int_eq(memcmp(&want, &b.records[i], sizeof(want)), 0);
			if (count == 1) {
				ck_assert_uint_ge(n, next);
				next = n + 1;
			}
		}
		s.records += b.record_count;
	}
	s.read = *trace_reader_totals(r);
	ck_assert_uint_eq(s.read.records, s.records);
	trace_reader_close(r);
	return s;
}

static struct seen read_one(void)
{
	const char *one = path[0];

	return read_trace(&one, 1);
}

START_TEST(is_read_back)
{
	write_trace(0, 0, 100000, 1u << 30);
	struct seen s = read_one();

	ck_assert_int_eq(s.rc, 0);
	ck_assert_uint_eq(s.records, 100000);
	ck_assert_uint_eq(s.entries, 100);
	ck_assert_uint_eq(s.read.damaged_chunks, 0);
	ck_assert_uint_eq(s.read.truncated, 0);
	ck_assert_uint_eq(s.read.lost, 0);
}
END_TEST

/* Of several parts of an index, each says where the one before it is. */
START_TEST(has_an_index)
{
	struct trace_end end;
	struct trace_chunk_head h;
	static struct trace_record r;
	uint64_t chunks = 0;
	int fd;
	struct trace_writer *w = open_writer(0, 0, &fd);

	for (unsigned i = 0; i < 3 * TRACE_INDEX_ENTRIES / 2; i++) {
		trace_writer_record(w, &r);
		trace_writer_flush(w);
	}
	ck_assert_int_eq(trace_writer_finish(w, NULL, &err), 0);
	ck_assert_int_eq(pread(fd, &end, sizeof(end), lseek(fd, 0, SEEK_END) - (off_t)sizeof(end)),
			 sizeof(end));
	trace_swap_end(&end);
	ck_assert_uint_eq(end.records, 3 * TRACE_INDEX_ENTRIES / 2);
	for (uint64_t at = end.index_off; at;) {
		struct trace_index_entry *in = mem_zalloc(TRACE_CHUNK_RAW_MAX);

		ck_assert_int_eq(pread(fd, &h, sizeof(h), (off_t)at), sizeof(h));
		ck_assert(trace_decode_chunk_head(&h));
		ck_assert_uint_eq(h.kind, TRACE_CHUNK_INDEX);
		chunks += h.count - 1;
		if (h.flags & TRACE_CHUNK_IS_ZSTD) {
			static unsigned char packed[1 << 20];

			ck_assert_int_eq(pread(fd, packed, h.packed_bytes, (off_t)(at + sizeof(h))),
					 h.packed_bytes);
			ck_assert_uint_eq(
				ZSTD_decompress(in, TRACE_CHUNK_RAW_MAX, packed, h.packed_bytes),
				h.raw_bytes);
		}
		at = in[0].off;
		mem_free(in);
	}
	ck_assert_uint_eq(chunks, end.records);
	close(fd);
}
END_TEST

/* The last chunks at every byte: what is whole is read, and it is said that the end is missing. */
START_TEST(may_be_cut_anywhere)
{
	struct stat st;
	uint64_t last = 400;

	write_trace(0, 0, 400, 200);
	ck_assert_int_eq(stat(path[0], &st), 0);
	for (off_t at = st.st_size - 1; at >= 0; at--) {
		ck_assert_int_eq(truncate(path[0], at), 0);
		struct seen s = read_one();

		if (at < (off_t)sizeof(struct trace_file_head)) {
			ck_assert_int_lt(s.rc, 0);
			continue;
		}
		ck_assert_int_eq(s.rc, 0);
		ck_assert_uint_eq(s.read.truncated, 1);
		if (at == st.st_size - 1)
			ck_assert_uint_eq(s.records, 400);
		ck_assert_uint_le(s.records, last);
		last = s.records;
	}
	ck_assert_uint_eq(last, 0);
}
END_TEST

static void flip(off_t at, unsigned bit)
{
	int fd = open(path[0], O_RDWR);
	unsigned char c;

	ck_assert_int_eq(pread(fd, &c, 1, at), 1);
	c ^= (unsigned char)(1u << bit);
	ck_assert_int_eq(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

/* Any bit: what is behind a damaged chunk is read all the same. */
START_TEST(may_have_a_bit_flipped)
{
	struct stat st;
	bool was_damaged = false;

	write_trace(0, 0, 300, 100);
	ck_assert_int_eq(stat(path[0], &st), 0);
	for (off_t at = 0; at < st.st_size; at++) {
		flip(at, (unsigned)at % 8);
		struct seen s = read_one();

		if (s.rc == 0 && s.records < 300) {
			ck_assert_uint_ge(s.read.damaged_chunks, 1);
			ck_assert_uint_ge(s.records, 200);
			was_damaged = true;
		}
		if (s.rc == 0 && s.records < 300 && !s.read.truncated)
			ck_assert_uint_eq(s.records + s.read.damaged_records, 300);
		flip(at, (unsigned)at % 8);
	}
	ck_assert(was_damaged);
}
END_TEST

START_TEST(of_several_files_is_one)
{
	const char *both[] = { path[1], path[0] };

	write_trace(0, 0, 1000, 1u << 30);
	write_trace(1, 1, 500, 1u << 30);
	struct seen s = read_trace(both, 2);

	ck_assert_int_eq(s.rc, 0);
	ck_assert_uint_eq(s.records, 1500);
	ck_assert_uint_eq(s.read.files, 2);
	both[1] = path[1];
	ck_assert_int_eq(read_trace(both, 2).rc, -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "is part 1 of its trace"));
}
END_TEST

/* The ids of the second are those that its names have in the first. */
START_TEST(names_files_of_all_alike)
{
	const char *both[] = { path[0], path[1] };
	char name[2][200][32];
	struct trace_reader *r;
	struct trace_batch b;
	unsigned known = 0;

	memset(name, 0, sizeof(name));
	write_trace(0, 0, 100, 1u << 30);
	write_trace(1, 1, 100, 1u << 30);
	ck_assert_int_eq(trace_reader_open(&r, both, 2, &err), 0);
	while (trace_reader_next(r, &b, &err) > 0)
		for (size_t i = 0; i < b.entry_count; i++) {
			const struct trace_entry *e = &b.entries[i];
			char *to = name[0][e->number[0]];

			ck_assert_uint_lt(e->number[0], 200);
			known += *to != '\0';
			if (*to)
				ck_assert_str_eq(to, e->text);
			snprintf(to, sizeof(name[0][0]), "%s", e->text);
		}
	ck_assert_uint_eq(known, 50); /* 50 to 99 are in both */
	trace_reader_close(r);
}
END_TEST

START_TEST(refuses_what_is_no_trace)
{
	int fd = open(path[0], O_RDWR | O_TRUNC);
	static const struct trace_head head = { .part = 3 };
	struct trace_file_head h;

	ck_assert_int_eq(read_one().rc, -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "is empty"));
	ck_assert_int_eq(write(fd, "[job]\nrw=read\n", 14), 14);
	ck_assert_int_eq(read_one().rc, -EINVAL);
	ck_assert_ptr_nonnull(strstr(err.text, "is not a trace"));
	trace_encode_file_head(&h, &head);
	h.version = 9;
	ck_assert_int_eq(pwrite(fd, &h, sizeof(h), 0), sizeof(h));
	ck_assert_int_eq(read_one().rc, -EPROTONOSUPPORT);
	ck_assert_ptr_nonnull(strstr(err.text, "version 9"));
	close(fd);
	const char *folder = ".";
	ck_assert_int_lt(read_trace(&folder, 1).rc, 0);
}
END_TEST

/* A disk that is full: what is there is whole, and the rest is counted. */
START_TEST(ends_where_the_disk_does)
{
	struct rlimit old, low = { 1 << 20, 1 << 20 };
	struct trace_written done;
	int fd;
	struct trace_writer *w = open_writer(0, 0, &fd);

	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &old);
	low.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &low);
	for (uint64_t i = 0; i < 400000; i++) {
		struct trace_record r = record_of(i);

		r.start_ns = i * i * 7919; /* compresses badly */
		r.duration_ns = r.start_ns * 31;
		r.off = r.start_ns * 17;
		trace_writer_record(w, &r);
	}
	ck_assert_int_eq(trace_writer_finish(w, &done, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	ck_assert_ptr_nonnull(strstr(err.text, "were lost"));
	ck_assert_uint_gt(done.records, 0);
	ck_assert_uint_eq(done.records + done.lost, 400000);
	close(fd);
	const char *one = path[0];
	struct trace_reader *r;
	struct trace_batch b;
	uint64_t records = 0;
	ck_assert_int_eq(trace_reader_open(&r, &one, 1, &err), 0);
	while (trace_reader_next(r, &b, &err) > 0)
		records += b.record_count;
	ck_assert_uint_eq(records, done.records);
	ck_assert_uint_eq(trace_reader_totals(r)->truncated, 1);
	ck_assert_uint_eq(trace_reader_totals(r)->damaged_chunks, 0);
	trace_reader_close(r);
}
END_TEST

START_TEST(counts_what_was_lost)
{
	struct trace_entry lost = { .kind = TRACE_LOST, .number = { TRACE_READ, 17, 1, 2 } };
	int fd;
	struct trace_writer *w = open_writer(0, 0, &fd);

	trace_writer_entry(w, &lost);
	ck_assert_int_eq(trace_writer_finish(w, NULL, &err), 0);
	close(fd);
	const char *one = path[0];
	struct trace_reader *r;
	struct trace_batch b;
	ck_assert_int_eq(trace_reader_open(&r, &one, 1, &err), 0);
	ck_assert_int_eq(trace_reader_next(r, &b, &err), 1);
	ck_assert_uint_eq(b.entry_count, 1);
	ck_assert_uint_eq(b.entries[0].number[1], 17);
	ck_assert_str_eq(b.entries[0].text, "");
	ck_assert_int_eq(trace_reader_next(r, &b, &err), 0);
	ck_assert_uint_eq(trace_reader_totals(r)->lost, 17);
	ck_assert_int_eq(trace_reader_rewind(r, &err), 0);
	ck_assert_uint_eq(trace_reader_totals(r)->lost, 0);
	trace_reader_close(r);
}
END_TEST

Suite *suite_trace_file(void)
{
	Suite *s = suite_create("trace_file");
	TCase *c = tcase_create("a trace");

	tcase_add_checked_fixture(c, make_names, remove_names);
	tcase_set_timeout(c, 60);
	tcase_add_test(c, is_read_back);
	tcase_add_test(c, has_an_index);
	tcase_add_test(c, may_be_cut_anywhere);
	tcase_add_test(c, may_have_a_bit_flipped);
	tcase_add_test(c, of_several_files_is_one);
	tcase_add_test(c, names_files_of_all_alike);
	tcase_add_test(c, refuses_what_is_no_trace);
	tcase_add_test(c, ends_where_the_disk_does);
	tcase_add_test(c, counts_what_was_lost);
	suite_add_tcase(s, c);
	return s;
}
