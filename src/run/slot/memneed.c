/* SPDX-License-Identifier: Apache-2.0 */
/* memneed.c - memory that jobs need, and the check that there is enough. */
#include "run/slot/slot.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/thread.h"
#include "base/units.h"
#include "base/util.h"
#include "job/job.h"
#include "run/make/make.h"
#include "trace/tracer.h"

/*
 * Measured in control groups with 4,000 accelerators. In addition to the buffers, an accelerator
 * needs 311 KiB with one read thread and 1,790 KiB with eight. Kernel memory is 26 KiB of these per
 * thread. Long runs use a little more of their histograms.
 */
#define THREAD_BYTES (UINT64_C(224) << 10)
#define LEFT_BYTES (UINT64_C(160) << 10) /* per thread after its end: without the stack */

/* Chunks of a trace that wait to be written, and the state of the compressor. */
#define TRACE_BYTES (UINT64_C(8) << 20)

/* Mapped per thread: a stack with its guard page, and all histograms. */
#define THREAD_ADDRESS_BYTES (THREAD_STACK_BYTES + (UINT64_C(704) << 10))

/* Part of the data in flight cannot be dropped from the page cache with buffered I/O: 8 MiB for 32
 * readers with requests of 1 MiB, and 8 MiB for 16 writers. The buffers are divided by these
 * numbers to estimate that part. */
#define READ_CACHE_PART 4
#define WRITE_CACHE_PART 2

void memneed_add(struct memneed *n, uint64_t bytes, uint64_t address_bytes)
{
	n->bytes = u64_sum(n->bytes, bytes);
	n->address_bytes = u64_sum(n->address_bytes, address_bytes);
}

void memneed_add_for(struct memneed *n, const char *option, uint64_t bytes, uint64_t address_bytes)
{
	memneed_add(n, bytes, address_bytes);
	if (bytes <= n->option_bytes)
		return;
	n->option = option;
	n->option_bytes = bytes;
}

void memneed_threads(struct memneed *n, uint64_t threads, uint64_t each)
{
	memneed_add(n, u64_product(threads, u64_sum(THREAD_BYTES, each)),
		    u64_product(threads, u64_sum(THREAD_ADDRESS_BYTES, each)));
	n->left_bytes = u64_sum(n->left_bytes, u64_product(threads, LEFT_BYTES));
	n->threads = u64_sum(n->threads, threads);
}

/* Huge pages are reserved and do not count against available memory. */
void memneed_buffers(struct memneed *n, const struct job *j, uint64_t threads, uint64_t each,
		     bool writes)
{
	unsigned cache_part = writes ? WRITE_CACHE_PART : READ_CACHE_PART;
	uint64_t all = u64_product(threads, each);
	uint64_t used = j->mem == MEM_HUGEPAGE ? 0 : all;

	if (job_touches_files(j) && !j->direct)
		used = u64_sum(used, all / cache_part);
	memneed_add(n, used, all);
}

void memneed_untouched(struct memneed *n, uint64_t threads, uint64_t each)
{
	memneed_add(n, 0, u64_product(threads, each));
}

void memneed_prepare(struct memneed *n, uint64_t files, uint64_t largest_file_bytes)
{
	uint64_t workers = pool_writers();
	uint64_t each = pool_writer_bytes(largest_file_bytes);

	if (files < workers)
		workers = files;
	n->prepare_bytes = workers * (THREAD_BYTES + each);
}

void memneed_trace(struct memneed *n)
{
	uint64_t bytes = u64_sum(tracer_ring_bytes(n->threads), TRACE_BYTES);

	memneed_add(n, bytes, bytes);
}

void memneed_append(struct buf *out, const char *option, uint64_t n)
{
	if (n > 1)
		buf_addf(out, "%s%s=%" PRIu64, out->len ? " x " : "", option, n);
}

void memneed_append_bs(struct buf *out, uint64_t bytes)
{
	char text[UNITS_TEXT_BYTES];

	buf_addf(out, " x bs=%s", units_format_size(text, bytes));
}

/* Needs of a group, and its job with the largest need. */
struct group_need {
	uint64_t bytes, address_bytes;
	size_t jobs;
	const struct job *most;
};

static void sum_group(struct group_need *s, const struct memneed_jobs *all, unsigned group)
{
	/* Half of the program's own memory is already in use. */
	uint64_t prepare = 0, left = MEMNEED_PROGRAM_BYTES / 2, most = 0;

	*s = (struct group_need){ .address_bytes = MEMNEED_PROGRAM_BYTES };
	for (size_t i = 0; i < all->count; i++) {
		const struct memneed *n = &all->needs[i];
		uint64_t one = n->bytes > n->prepare_bytes ? n->bytes : n->prepare_bytes;

		if (all->jobs[i]->group < group)
			left = u64_sum(left, n->left_bytes);
		if (all->jobs[i]->group != group)
			continue;
		s->bytes = u64_sum(s->bytes, n->bytes);
		s->address_bytes = u64_sum(s->address_bytes, n->address_bytes);
		s->jobs++;
		if (n->prepare_bytes > prepare)
			prepare = n->prepare_bytes;
		if (one >= most)
			s->most = all->jobs[i];
		most = one > most ? one : most;
	}
	/* The jobs of a group are prepared one after the other, before any of them begins. */
	s->bytes = u64_sum(left, s->bytes > prepare ? s->bytes : prepare);
}

/* Append "x (accelerators=8 x read_threads=4), with the other jobs of its group," */
static void append_consumer(struct buf *out, const struct group_need *s)
{
	const struct activity *does = job_work(s->most)->run;
	struct buf what = { 0 };

	if (does->append_costs)
		does->append_costs(&what, s->most);
	buf_addf(out, "%s%s%s%s%s", s->most->name, what.len ? " (" : "", buf_str(&what),
		 what.len ? ")" : "", s->jobs > 1 ? ", with the other jobs of its group," : "");
	buf_fini(&what);
}

static void append_advice(struct buf *out, const struct group_need *s)
{
	buf_addf(out, "lower %s%s", job_work(s->most)->run->lower,
		 s->most->hold_samples ? ", or prefetch" : "");
}

static int fail_too_much(const struct group_need *s, uint64_t need, const char *verb,
			 const char *of, struct mlgen_err *err)
{
	char text[UNITS_TEXT_BYTES];
	struct buf whose = { 0 }, lower = { 0 };
	int rc;

	append_consumer(&whose, s);
	append_advice(&lower, s);
	rc = mlgen_fail(err, -ENOMEM, "memory: %s %s about %s, but %s; %s, or allow more memory",
			buf_str(&whose), verb, units_human_bytes(text, (double)need), of,
			buf_str(&lower));
	buf_fini(&whose);
	buf_fini(&lower);
	return rc;
}

int memneed_check(const struct memneed_jobs *all, unsigned group, const struct memroom *room,
		  struct mlgen_err *err)
{
	struct group_need s;

	sum_group(&s, all, group);
	if (s.most && s.bytes > room->bytes)
		return fail_too_much(&s, s.bytes, "needs", room->of, err);
	if (s.most && s.address_bytes > room->address_bytes)
		return fail_too_much(&s, s.address_bytes, "maps", room->address_of, err);
	return 0;
}

int memneed_check_limit(const struct memneed_jobs *all, unsigned group, uint64_t limit_bytes,
			uint64_t processes, struct mlgen_err *err)
{
	char have[UNITS_TEXT_BYTES], need[UNITS_TEXT_BYTES];
	uint64_t part = limit_bytes / processes, least_bytes = MEMNEED_LIMITED_BYTES;
	struct buf takes = { 0 }, lower = { 0 };
	struct group_need s;
	int rc;

	sum_group(&s, all, group);
	if (!s.most || (s.bytes <= part && part >= MEMNEED_LIMITED_BYTES))
		return 0;
	if (s.bytes > part) {
		append_consumer(&takes, &s);
		buf_addf(&takes, " needs about %s", units_human_bytes(need, (double)s.bytes));
		buf_add(&lower, ", or ");
		append_advice(&lower, &s);
	} else {
		buf_addf(&takes,
			 "mlgen itself needs about %s, and the kernel kills a process that needs "
			 "more",
			 units_human_bytes(need, MEMNEED_LIMITED_BYTES));
	}
	if (processes > 1)
		buf_addf(&takes, ", in each of %" PRIu64 " processes on this host", processes);
	/* Smallest limit that suffices for each group. */
	for (size_t i = 0; i < all->count; i++) {
		struct group_need other;

		sum_group(&other, all, all->jobs[i]->group);
		least_bytes = u64_max(least_bytes, other.bytes);
	}
	least_bytes = u64_product(least_bytes, processes);
	rc = mlgen_fail(err, -ENOMEM,
			"memory_limit: %s is too little: %s; memory_limit=%" PRIu64
			"MiB is the least that works%s",
			units_human_bytes(have, (double)limit_bytes), buf_str(&takes),
			u64_sum(least_bytes, (1u << 20) - 1) >> 20, buf_str(&lower));
	buf_fini(&takes);
	buf_fini(&lower);
	return rc;
}

uint64_t memneed_bytes(const struct memneed_jobs *all, unsigned group)
{
	struct group_need s;

	sum_group(&s, all, group);
	return s.most ? s.bytes : 0;
}

int memneed_fail_host(const struct memneed_jobs *all, unsigned group,
		      const struct memneed_host *host, struct mlgen_err *err)
{
	struct buf whose = { 0 }, lower = { 0 };
	char text[UNITS_TEXT_BYTES];
	struct group_need s;

	sum_group(&s, all, group);
	assert(s.most); /* the group has a job */
	append_consumer(&whose, &s);
	append_advice(&lower, &s);
	int rc = mlgen_fail(err, -ENOMEM,
			    "memory: host %s: %s needs about %s in %u processes together, but %s; "
			    "%s, start fewer processes on it, or allow more memory",
			    host->name, buf_str(&whose),
			    units_human_bytes(text, (double)host->bytes), host->processes, host->of,
			    buf_str(&lower));
	buf_fini(&whose);
	buf_fini(&lower);
	return rc;
}
