/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_libaio.c - a context that is full, partial batches, and the sysctl. */
#include <inttypes.h>

#include "engine_rig.h"
#include "suites.h"

#define DEPTH 4u

/* clang-format off */
static const struct reap_case {
	const char *option, *in_use;
} reap_cases[] = {
	{ "userspace_reap=0", "" },
	{ "userspace_reap=1", "userspace reap" },
};
/* clang-format on */

struct aio_rig {
	const struct mlgen_engine *engine;
	struct mlgen_engine_job job;
	struct mlgen_ctx ctx;
	struct mlgen_err err;
};

static void prepare(struct aio_rig *r, unsigned depth)
{
	memset(r, 0, sizeof(*r));
	r->engine = engines_find("libaio");
	ck_assert_ptr_nonnull(r->engine);
	r->job = (struct mlgen_engine_job){ .engine = r->engine, .workers = 3 };
	r->ctx = (struct mlgen_ctx){ .job = &r->job, .iodepth = depth };
}

/* With the options of a file's rig; NULL = none. */
static void begin(struct aio_rig *r, unsigned depth, const struct rig *with)
{
	prepare(r, depth);
	r->ctx.opts = with ? with->opts : NULL;
	ck_assert_msg(r->engine->init(&r->ctx, &r->err) == 0, "%s", r->err.text);
}

static uint64_t aio_max(void)
{
	FILE *f = fopen("/proc/sys/fs/aio-max-nr", "re");
	uint64_t max = 0;

	ck_assert_ptr_nonnull(f);
	ck_assert_int_eq(fscanf(f, "%" SCNu64, &max), 1);
	fclose(f);
	return max;
}

START_TEST(too_few_requests_for_the_host_names_sysctl_and_need)
{
	uint64_t max = aio_max();
	char says[96];
	struct aio_rig r;

	if (max >= 1u << 22) {
		fprintf(stderr, "skipped: fs.aio-max-nr is %" PRIu64 "\n", max);
		return;
	}
	prepare(&r, (unsigned)max + 1);
	ck_assert_int_eq(r.engine->init(&r.ctx, &r.err), -EAGAIN);
	snprintf(says, sizeof(says), "fs.aio-max-nr is %" PRIu64 ", ", max);
	ck_assert_msg(strstr(r.err.text, says) != NULL, "%s", r.err.text);
	snprintf(says, sizeof(says), "3 workers of iodepth=%" PRIu64 " need %" PRIu64 ": raise it",
		 max + 1, 3 * (max + 1));
	ck_assert_msg(strstr(r.err.text, says) != NULL, "%s", r.err.text);
	r.engine->fini(&r.ctx);
	ck_assert_ptr_null(r.ctx.priv);
}
END_TEST

struct batch {
	struct mlgen_io ios[16], *io[16], *done[16];
	struct mlgen_file files[16];
	struct iovec iovs[16];
	char bytes[16];
};

/* Reads of one byte; those in `bad` of a descriptor that is none. */
static void make_batch(struct batch *b, int fd, unsigned bad)
{
	memset(b, 0, sizeof(*b));
	for (unsigned i = 0; i < 16; i++) {
		b->files[i].fd = bad & 1u << i ? -1 : fd;
		b->iovs[i] = (struct iovec){ &b->bytes[i], 1 };
		b->ios[i] = (struct mlgen_io){ .op = MLGEN_READ,
					       .file = &b->files[i],
					       .iov = &b->iovs[i],
					       .iovcnt = 1,
					       .len_bytes = 1 };
		b->io[i] = &b->ios[i];
	}
}

START_TEST(no_more_than_iodepth_are_taken_until_some_are_reaped)
{
	const char *const options[] = { reap_cases[_i].option, NULL };
	struct aio_rig r;
	struct batch b;
	struct rig file;

	rig_job(&file, "libaio", options);
	rig_file(&file, 4096, O_RDONLY);
	make_batch(&b, file.file.fd, 0);
	begin(&r, DEPTH, &file);
	ck_assert_str_eq(r.ctx.in_use, reap_cases[_i].in_use);
	ck_assert_str_eq(r.ctx.note, "");
	ck_assert_int_eq(r.engine->submit(&r.ctx, b.io, 16), DEPTH);
	ck_assert_int_eq(r.engine->submit(&r.ctx, b.io + DEPTH, 12), 0);
	ck_assert_int_eq(r.engine->reap(&r.ctx, b.done, 1, 1, UINT64_MAX), 1);
	ck_assert_int_eq(r.engine->submit(&r.ctx, b.io + DEPTH, 12), 1);
	ck_assert_int_eq(r.engine->reap(&r.ctx, b.done, DEPTH, 16, UINT64_MAX), DEPTH);
	ck_assert_int_eq(r.engine->reap(&r.ctx, b.done, 0, 16, 0), 0);
	ck_assert_int_eq(r.engine->reap(&r.ctx, b.done, 1, 16, 200000), 0);
	for (unsigned i = 0; i <= DEPTH; i++) {
		ck_assert_int_eq(b.ios[i].result, 1);
		ck_assert_uint_eq((unsigned char)b.bytes[i], rig_byte(0));
	}
	r.engine->fini(&r.ctx);
	rig_end(&file);
}
END_TEST

START_TEST(a_refused_request_does_not_hold_up_those_behind_it)
{
	static const unsigned patterns[] = { 0x1, 0x8, 0x6, 0xf, 0xa };
	unsigned bad = patterns[_i];
	struct aio_rig r;
	struct batch b;
	struct rig file;

	rig_job(&file, "libaio", NULL);
	rig_file(&file, 4096, O_RDONLY);
	make_batch(&b, file.file.fd, bad);
	begin(&r, DEPTH, NULL);
	for (unsigned round = 0; round < 3; round++) {
		ck_assert_int_eq(r.engine->submit(&r.ctx, b.io, DEPTH), DEPTH);
		unsigned got = 0;
		while (got < DEPTH) {
			int n = r.engine->reap(&r.ctx, b.done, 1, 1, UINT64_MAX);

			ck_assert_int_eq(n, 1);
			got++;
		}
		for (unsigned i = 0; i < DEPTH; i++)
			ck_assert_int_eq(b.ios[i].result, bad & 1u << i ? -EBADF : 1);
	}
	r.engine->fini(&r.ctx);
	rig_end(&file);
}
END_TEST

START_TEST(the_ring_is_gone_round_many_times)
{
	const char *const options[] = { "userspace_reap=1", NULL };
	struct aio_rig r;
	struct batch b;
	struct rig file;

	rig_job(&file, "libaio", options);
	rig_file(&file, 4096, O_RDONLY);
	make_batch(&b, file.file.fd, 0);
	begin(&r, DEPTH, &file);
	for (unsigned i = 0; i < 2000; i++) {
		unsigned n = 1 + i % DEPTH, got = 0;

		for (unsigned k = 0; k < n; k++)
			b.ios[k].result = -1;
		ck_assert_int_eq(r.engine->submit(&r.ctx, b.io, n), (int)n);
		while (got < n) {
			int more = r.engine->reap(&r.ctx, b.done, 1, 1 + i % 3, UINT64_MAX);

			ck_assert_int_gt(more, 0);
			got += (unsigned)more;
		}
		ck_assert_uint_eq(got, n);
		for (unsigned k = 0; k < n; k++)
			ck_assert_int_eq(b.ios[k].result, 1);
	}
	r.engine->fini(&r.ctx);
	rig_end(&file);
}
END_TEST

START_TEST(nowait_reads_at_once_or_says_eagain)
{
	const char *const options[] = { "nowait=1", NULL };
	struct aio_rig r;
	struct batch b;
	struct rig file;

	rig_job(&file, "libaio", options);
	rig_file(&file, 4096, O_RDONLY);
	make_batch(&b, file.file.fd, 0);
	begin(&r, DEPTH, &file);
	ck_assert_int_eq(r.engine->submit(&r.ctx, b.io, 1), 1);
	ck_assert_int_eq(r.engine->reap(&r.ctx, b.done, 1, 1, UINT64_MAX), 1);
	/* tmpfs and others have no reads that do not wait */
	ck_assert(b.ios[0].result == 1 || b.ios[0].result == -EAGAIN ||
		  b.ios[0].result == -EOPNOTSUPP);
	r.engine->fini(&r.ctx);
	rig_end(&file);
}
END_TEST

START_TEST(an_unaligned_direct_read_is_its_own_fault)
{
	struct io_op op;
	struct rig r;

	ck_assert(rig_start(&r, "libaio", NULL, 2, 8192));
	rig_file(&r, 8192, O_RDONLY | O_DIRECT);
	if (r.file.fd >= 0) {
		op = rig_op(&r, MLGEN_READ, 1, 4096);
		int64_t rc = io_do(r.io, &op);
		/* tmpfs and others take it */
		ck_assert(rc == -EINVAL || rc == 4096);
		op = rig_op(&r, MLGEN_READ, 0, 4096);
		ck_assert_int_eq(io_do(r.io, &op), 4096);
	}
	rig_end(&r);
}
END_TEST

Suite *suite_engine_libaio(void)
{
	Suite *s = suite_create("engine_libaio");
	TCase *t = tcase_create("context");

	tcase_add_test(t, too_few_requests_for_the_host_names_sysctl_and_need);
	tcase_add_loop_test(t, no_more_than_iodepth_are_taken_until_some_are_reaped, 0,
			    sizeof(reap_cases) / sizeof(reap_cases[0]));
	tcase_add_test(t, the_ring_is_gone_round_many_times);
	tcase_add_test(t, nowait_reads_at_once_or_says_eagain);
	tcase_add_loop_test(t, a_refused_request_does_not_hold_up_those_behind_it, 0, 5);
	tcase_add_test(t, an_unaligned_direct_read_is_its_own_fault);
	suite_add_tcase(s, t);
	return s;
}
