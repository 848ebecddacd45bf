/* SPDX-License-Identifier: Apache-2.0 */
/* test_recorded.c - templates of calls are read, written, and played call by call. */
#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "data/file/file.h"
#include "data/plans/plans.h"
#include "suites.h"
#include "textfile_rig.h"

#define COUNT(a) ((int)(sizeof(a) / sizeof((a)[0])))

static void setup(void)
{
	make_place("x.calls");
}

static struct recorded *good(const char *text)
{
	struct mlgen_err err = { 0 };
	struct recorded *r;

	put(text, strlen(text));
	ck_assert_msg(recorded_read(&r, path, 1024, &err) == 0, "%s", err.text);
	return r;
}

/* ---- text ---- */

#define ALL                                                                                        \
	"# most of them\ntemplate 93.5%\nstat\nopen\nstat\n"                                       \
	"read start 4096\nread end-65557 65557\nread here 258048,4096 *\n"                         \
	"read here+10 rest\nread any 12.5% x3\nread sample sample\n"                               \
	"read sample+7 512 *sample\nclose\n"                                                       \
	"\n# the others\ntemplate 6.5%\nopen\nread end 4096\nclose\n"

START_TEST(what_is_written_reads_back)
{
	static const char *const why[] = { "most of them", "the others" };
	struct recorded *r = good(ALL);
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);

	recorded_write(f, r, why);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_str_eq(text, ALL);
	ck_assert_uint_eq(r->count, 2);
	ck_assert_uint_eq(r->templates[0].count, 11);
	ck_assert_uint_eq(r->templates[0].calls[5].lengths, 2);
	recorded_free(r);
	free(text);
}
END_TEST

#define ONE_OF "template 100%%\nopen\n%s\nclose\n"
#define ONE(s) "template 100%\nopen\n" s "\nclose\n"
/* clang-format off */
static const struct {
	const char *text;
	size_t bytes;
	int code;
	const char *in_message;
} bad[] = {
	{ TEXT(""), -EINVAL, "contains no template" },
	{ TEXT("# only\n"), -EINVAL, "contains no template" },
	{ TEXT("open\n"), -EINVAL, "x.calls:1: open: a template must come first" },
	{ TEXT("template\nopen\n"), -EINVAL, "x.calls:1: write the share" },
	{ TEXT("template 0%\n"), -EINVAL, "above 0" },
	{ TEXT("template 101%\n"), -EINVAL, "up to 100%" },
	{ TEXT("template 90%\nopen\nread start 1\nclose\n"), -EINVAL, "its 1 template add up to 90%" },
	{ TEXT("template 100%\nopen\nclose\n"), -EINVAL, "x.calls:1: the template has no read" },
	{ TEXT("template 100%\nread start 1\n"), -EINVAL, "x.calls:2: read: the file is not open" },
	{ TEXT("template 100%\nopen\nread start 1\n"), -EINVAL, "x.calls:1: the template does not close" },
	{ TEXT("template 50%\nopen\nread start 1\ntemplate 50%\n"), -EINVAL, "x.calls:1: the template does not close" },
	{ TEXT("template 100%\nopen\nopen\n"), -EINVAL, "x.calls:3: open: the file is open already" },
	{ TEXT("template 100%\nclose\n"), -EINVAL, "x.calls:2: close: the file is not open" },
	{ TEXT("template 100%\nlseek\n"), -EINVAL, "x.calls:2: 'lseek': is not a call" },
	{ TEXT("template 100%\nopen now\n"), -EINVAL, "x.calls:2: 'now': this word is too many" },
	{ TEXT(ONE("read")), -EINVAL, "x.calls:3: a read needs a place" },
	{ TEXT(ONE("read start")), -EINVAL, "a read needs a place" },
	{ TEXT(ONE("read middle 5")), -EINVAL, "'middle': is not a place" },
	{ TEXT(ONE("read end+5 5")), -EINVAL, "write end-N" },
	{ TEXT(ONE("read here-5 5")), -EINVAL, "only end allows a -" },
	{ TEXT(ONE("read any+5 5")), -EINVAL, "any takes no distance" },
	{ TEXT(ONE("read start+x 5")), -EINVAL, "x.calls:3: 'x'" },
	{ TEXT(ONE("read start+8191p 5")), -ERANGE, "too large" },
	{ TEXT(ONE("read start 0")), -ERANGE, "a call reads 1 to" },
	{ TEXT(ONE("read start 3g")), -ERANGE, "a call reads 1 to" },
	{ TEXT(ONE("read start -1")), -EINVAL, "'-1'" },
	{ TEXT(ONE("read start 0%")), -EINVAL, "a percentage of the file" },
	{ TEXT(ONE("read start 5,,6")), -EINVAL, "x.calls:3: " },
	{ TEXT(ONE("read start 1,2,3,4,5,6,7,8,9")), -E2BIG, "more than 8 lengths" },
	{ TEXT(ONE("read start 5 12")), -EINVAL, "'12': is not a count" },
	{ TEXT(ONE("read start 5 x0")), -EINVAL, "'x0': is not a count" },
	{ TEXT(ONE("read start 5 **")), -EINVAL, "'**': is not a count" },
	{ TEXT(ONE("read any 5 *")), -EINVAL, "random places never reach the end" },
	{ TEXT(ONE("read start rest *")), -EINVAL, "reads to the end" },
	{ TEXT(ONE("read start 5 x2 6")), -EINVAL, "'6': this word is too many" },
	{ TEXT("template 100%\n\0\n"), -EINVAL, "zero bytes" },
};
/* clang-format on */

START_TEST(bad_lines_are_refused_with_their_number)
{
	struct mlgen_err err = { 0 };
	struct recorded *r;

	put(bad[_i].text, bad[_i].bytes);
	ck_assert_int_eq(recorded_read(&r, path, 1024, &err), bad[_i].code);
	ck_assert_ptr_null(r);
	ck_assert_msg(strstr(err.text, bad[_i].in_message), "'%s' is not in: %s",
		      bad[_i].in_message, err.text);
}
END_TEST

START_TEST(what_is_no_file_is_refused)
{
	struct mlgen_err none = { 0 }, folder = { 0 }, fifo = { 0 };
	struct recorded *r;

	ck_assert_int_eq(recorded_read(&r, path, 1024, &none), -ENOENT);
	ck_assert_ptr_nonnull(strstr(none.text, "recorded_calls: "));
	ck_assert_int_eq(mkdir(path, 0700), 0);
	ck_assert_int_eq(recorded_read(&r, path, 1024, &folder), -EISDIR);
	ck_assert_int_eq(rmdir(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(recorded_read(&r, path, 1024, &fifo), -EINVAL);
}
END_TEST

/* ---- playing ---- */

struct rig {
	struct dataset ds;
	struct plan_config config;
};

static void begin(struct rig *g, int format, uint64_t per_file, double bytes, uint64_t align,
		  const char *text)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = format,
				 .num_files = 10,
				 .samples_per_file = per_file,
				 .sample_size = { .a = bytes },
				 .access = ACCESS_RECORDED,
				 .recorded_calls = path,
				 .kb_base = 1024,
				 .randseed = 5,
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };
	struct mlgen_err err = { 0 };

	put(text, strlen(text));
	ck_assert_msg(dataset_init(&g->ds, &job, 0, &err) == 0, "%s", err.text);
	g->config = (struct plan_config){ .dataset = &g->ds,
					  .access = ACCESS_RECORDED,
					  .bs_bytes = 1 << 20,
					  .direct = align > 0,
					  .align_bytes = align };
}

/* "O S 0+4096 C" of an extent; a short read has what it gets: "0+9=5". */
static char *played(const struct rig *g, uint64_t id)
{
	static const char letters[MLGEN_OPS] = {
		[MLGEN_OPEN] = 'O', [MLGEN_STAT] = 'S', [MLGEN_CLOSE] = 'C'
	};
	struct buf text = { 0 };
	struct plan_op op;
	struct extent x;
	struct plan p;

	dataset_extent(&g->ds, id, &x);
	plan_init(&p, &g->config, &x);
	while (plan_next(&p, &op)) {
		ck_assert(op.after);
		ck_assert_uint_lt(text.len, 1 << 20);
		buf_add(&text, text.len ? " " : "");
		if (op.op != MLGEN_READ)
			buf_addf(&text, "%c%.0u", letters[op.op], op.part);
		else
			buf_addf(&text, "%llu+%llu", (unsigned long long)op.off,
				 (unsigned long long)op.len_bytes);
		if (op.op == MLGEN_READ && op.got_bytes < op.len_bytes)
			buf_addf(&text, "=%llu", (unsigned long long)op.got_bytes);
	}
	return buf_detach(&text);
}

/* clang-format off */
static const struct {
	const char *what;
	int format;
	uint64_t per_file;
	double bytes;
	uint64_t align, id;
	const char *calls, *want;
} plays[] = {
	{ "one read", FORMAT_RAW, 1, 10000, 0, 0, "read start 4096", "O 0+4096 C" },
	{ "places", FORMAT_RAW, 1, 10000, 0, 0, "read end-22 22\nread start+5 7\nread here 3\nread here+4 1\nstat",
	  "O 9978+22 5+7 12+3 19+1 S C" },
	{ "what is left", FORMAT_RAW, 1, 10000, 0, 0, "read start 4096\nread here rest\nread here rest", "O 0+4096 4096+5904 C" },
	{ "a part", FORMAT_RAW, 1, 10000, 0, 0, "read start 25%\nread here 0.001%", "O 0+2500 2500+1 C" },
	{ "past the end", FORMAT_RAW, 1, 10000, 0, 0, "read start 16k\nread here 4k\nread start+1m 8", "O 0+16384=10000 10000+4096=0 1048576+8=0 C" },
	{ "a file that is shorter", FORMAT_RAW, 1, 100, 0, 0, "read end-65557 65557", "O 0+65557=100 C" },
	{ "so many", FORMAT_RAW, 1, 10000, 0, 0, "read start 10 x3", "O 0+10 10+10 20+10 C" },
	{ "until the end", FORMAT_RAW, 1, 10000, 0, 0, "read here 4k *", "O 0+4096 4096+4096 8192+4096=1808 C" },
	{ "until an even end", FORMAT_RAW, 1, 8192, 0, 0, "read here 4k *\nread here 4k", "O 0+4096 4096+4096 8192+4096=0 C" },
	{ "lengths in turn", FORMAT_RAW, 1, 10000, 0, 0, "read here 3000,1000 *", "O 0+3000 3000+1000 4000+3000 7000+1000 8000+3000=2000 C" },
	{ "lengths once each", FORMAT_RAW, 1, 10000, 0, 0, "read here 30,10", "O 0+30 30+10 C" },
	{ "lengths so many", FORMAT_RAW, 1, 10000, 0, 0, "read here 30,10 x3", "O 0+30 30+10 40+30 C" },
	{ "a sample among others", FORMAT_RAW, 4, 1000, 0, 6, "read start 8\nread sample sample", "O 0+8 2000+1000 C" },
	{ "until the end of the sample", FORMAT_RAW, 4, 1000, 0, 6, "read sample+100 400 *sample\nread here 1", "O 2100+400 2500+400 2900+100 3000+1 C" },
	{ "a file that is a sample", FORMAT_NPZ, 1, 1000, 0, 0, "read sample sample", "O 0+1498 C" },
	{ "opened twice", FORMAT_RAW, 1, 1000, 0, 0, "read start 8\nclose\nstat\nopen\nread here 8", "O 0+8 C S O 0+8 C" },
	{ "direct: whole blocks", FORMAT_RAW, 1, 10000, 512, 0, "read start+600 100\nread here 1000", "O 512+512 1024+1024 C" },
	{ "direct: until the end", FORMAT_RAW, 1, 10000, 4096, 0, "read here 4000 *\nread here 10", "O 0+4096 4096+4096 8192+4096=1808 12288+4096=0 C" },
	{ "direct: a sample", FORMAT_RAW, 4, 1000, 512, 6, "read sample sample", "O 1536+1536 C" },
};
/* clang-format on */

START_TEST(calls_are_those_of_the_template)
{
	char text[512], *got;
	struct rig g;

	snprintf(text, sizeof(text), ONE_OF, plays[_i].calls);
	begin(&g, plays[_i].format, plays[_i].per_file, plays[_i].bytes, plays[_i].align, text);
	got = played(&g, plays[_i].id);
	ck_assert_msg(strcmp(got, plays[_i].want) == 0, "%s: %s", plays[_i].what, got);
	mem_free(got);
	dataset_fini(&g.ds);
}
END_TEST

/* What plan_count skips is what plan_next would have given. */
static void check_counts(const struct rig *g, uint64_t id)
{
	struct plan_counts skipped, all = { 0 };
	struct plan_op op;
	struct extent x;
	struct plan p;

	dataset_extent(&g->ds, id, &x);
	plan_count(&g->config, &x, &skipped);
	plan_init(&p, &g->config, &x);
	while (plan_next(&p, &op)) {
		all.ops[op.op]++;
		if (op.op == MLGEN_READ)
			sizes_add(&all.reads, op.len_bytes, 1);
		all.io_bytes += op.got_bytes;
		ck_assert_uint_le(op.len_bytes, plan_largest_read(&g->config));
	}
	ck_assert_mem_eq(&skipped, &all, sizeof(all));
}

START_TEST(counts_are_those_of_the_operations)
{
	static const char *const more[] = {
		"read here 100 *\nread here 5",
		"read here 64,7 *\nread start+1 512 x40",
		"read any 100 x1000\nread here 8",
		"read start 512 x100\nread end-5000 100 *",
		"read sample 100,28 *sample\nread here 1",
		"read here 20% *",
	};
	static const uint64_t aligns[] = { 0, 512, 4096 };
	char text[512];
	struct rig g;

	for (int a = 0; a < COUNT(aligns); a++) {
		snprintf(text, sizeof(text), ONE_OF,
			 _i < COUNT(more) ? more[_i] : plays[_i - COUNT(more)].calls);
		begin(&g, FORMAT_RAW, 3, 10001, aligns[a], text);
		for (uint64_t id = 0; id < 6; id++)
			check_counts(&g, id);
		dataset_fini(&g.ds);
	}
}
END_TEST

START_TEST(a_large_file_is_counted_without_its_calls)
{
	struct plan_counts c;
	struct extent x;
	struct rig g;

	begin(&g, FORMAT_RAW, 1, 1e15, 0, ONE("read here 4k *\nread end 1"));
	dataset_extent(&g.ds, 0, &x);
	plan_count(&g.config, &x, &c);
	ck_assert_uint_eq(c.ops[MLGEN_READ], 244140625000 + 1);
	ck_assert_uint_eq(c.io_bytes, 1000000000000000);
	ck_assert_uint_eq(plan_buffer_bytes(&g.config, 1), 4096);
	dataset_fini(&g.ds);
}
END_TEST

START_TEST(a_rest_takes_as_many_calls_as_it_needs)
{
	struct rig g;
	char *got;

	begin(&g, FORMAT_RAW, 1, 5e9, 0, ONE("read start+1 rest"));
	got = played(&g, 0);
	ck_assert_str_eq(got, "O 1+2147479552 2147479553+2147479552 4294959105+705040895 C");
	mem_free(got);
	dataset_fini(&g.ds);
}
END_TEST

START_TEST(random_places_are_within_the_file_and_differ)
{
	struct plan_op op;
	struct extent x;
	struct plan p, again;
	unsigned places = 0, n = 0;
	struct rig g;

	begin(&g, FORMAT_RAW, 1, 100000, 0, ONE("read any 1000 x200"));
	dataset_extent(&g.ds, 3, &x);
	plan_init(&p, &g.config, &x);
	plan_init(&again, &g.config, &x);
	uint64_t before = 0;
	while (plan_next(&p, &op)) {
		struct plan_op same;

		ck_assert(plan_next(&again, &same));
		ck_assert_uint_eq(op.off, same.off);
		if (op.op != MLGEN_READ)
			continue;
		ck_assert_uint_eq(op.off % 1000, 0);
		ck_assert_uint_eq(op.got_bytes, 1000);
		places += op.off != before;
		before = op.off;
		n++;
	}
	ck_assert_uint_eq(n, 200);
	ck_assert_uint_gt(places, 180);
	dataset_fini(&g.ds);
}
END_TEST

START_TEST(each_template_has_its_share_of_the_samples)
{
	struct recorded *r = good("template 70%\nopen\nread start 1\nclose\n"
				  "template 30%\nopen\nread start 2\nclose\n");
	unsigned first = 0;

	for (uint64_t id = 0; id < 10000; id++) {
		const struct recorded_template *t = recorded_of(r, id);

		ck_assert_ptr_eq(t, recorded_of(r, id));
		first += t == &r->templates[0];
	}
	ck_assert_uint_ge(first, 6800);
	ck_assert_uint_le(first, 7200);
	ck_assert_uint_eq(recorded_largest_read(r), 2);
	recorded_free(r);
}
END_TEST

START_TEST(of_a_pair_of_files_both_are_read)
{
	static char directory[] = "d";
	const struct job job = { .directory = directory,
				 .format = FORMAT_NPY,
				 .num_files = 10,
				 .samples_per_file = 1,
				 .sample_size = { .a = 1000 },
				 .label_size_bytes = 8,
				 .access = ACCESS_RECORDED,
				 .recorded_calls = path,
				 .kb_base = 1024,
				 .scale = 100,
				 .accelerators = 1,
				 .batch_size = 1 };
	struct rig g = { .config = {
				 .dataset = &g.ds, .access = ACCESS_RECORDED, .bs_bytes = 4096 } };
	char *got;

	put(TEXT(ONE("read end-4 8")));
	ck_assert_int_eq(dataset_init(&g.ds, &job, 0, NULL), 0);
	/* Labels that mlgen makes are no samples; twins of a scan are. */
	got = played(&g, 0);
	ck_assert_str_eq(got, "O 1124+8=4 C");
	mem_free(got);
	g.ds.options.scan_pair = mem_strdup("x:y");
	got = played(&g, 0);
	ck_assert_str_eq(got, "O 1124+8=4 C O1 132+8=4 C1");
	mem_free(got);
	dataset_fini(&g.ds);
}
END_TEST

Suite *suite_recorded(void)
{
	Suite *s = suite_create("recorded");
	TCase *tc = tcase_create("calls");

	tcase_add_checked_fixture(tc, setup, remove_place);
	tcase_add_test(tc, what_is_written_reads_back);
	tcase_add_loop_test(tc, bad_lines_are_refused_with_their_number, 0, COUNT(bad));
	tcase_add_test(tc, what_is_no_file_is_refused);
	tcase_add_loop_test(tc, calls_are_those_of_the_template, 0, COUNT(plays));
	tcase_add_loop_test(tc, counts_are_those_of_the_operations, 0, COUNT(plays) + 6);
	tcase_add_test(tc, a_large_file_is_counted_without_its_calls);
	tcase_add_test(tc, a_rest_takes_as_many_calls_as_it_needs);
	tcase_add_test(tc, random_places_are_within_the_file_and_differ);
	tcase_add_test(tc, each_template_has_its_share_of_the_samples);
	tcase_add_test(tc, of_a_pair_of_files_both_are_read);
	suite_add_tcase(s, tc);
	return s;
}
