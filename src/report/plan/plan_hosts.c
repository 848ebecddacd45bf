/* SPDX-License-Identifier: Apache-2.0 */
/* plan_hosts.c - merges the plans of all processes of a job. */
#include "report/plan/plan.h"
#include "base/mem.h"
#include "base/util.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* The message of a process about a job. After it come `refusals` pairs of strings, each with its
 * NUL: the name of a failed check and its text. */
struct plan_summary {
	uint64_t program_bytes, reads_in_flight;
	uint64_t io_move_bytes, io_buffer_bytes;
	uint64_t checkpoint_bytes; /* part of program_bytes */
	uint64_t local_ranks, local_bytes, local_files, move_bytes, in_flight;
	uint64_t refusals;
};

static void append_summary(struct buf *to, const struct plan_report *p)
{
	const struct plan_check *checks = p->checks.items;
	struct plan_summary sum = { .program_bytes = p->program_bytes,
				    .reads_in_flight = p->reads_in_flight,
				    .io_move_bytes = p->io.move_bytes,
				    .io_buffer_bytes = p->io.buffer_bytes,
				    .checkpoint_bytes = p->checkpoint.program_bytes,
				    .local_ranks = p->checkpoint.local_ranks,
				    .local_bytes = p->checkpoint.local_bytes,
				    .local_files = p->checkpoint.local_files,
				    .move_bytes = p->checkpoint.move_bytes,
				    .in_flight = p->checkpoint.in_flight };

	for (size_t i = 0; i < p->checks.count; i++)
		sum.refusals += checks[i].state == PLAN_FAIL;
	buf_addn(to, (const char *)&sum, sizeof(sum));
	for (size_t i = 0; i < p->checks.count; i++) {
		const char *text = checks[i].text ? checks[i].text : "";

		if (checks[i].state != PLAN_FAIL)
			continue;
		buf_addn(to, checks[i].name, strlen(checks[i].name) + 1);
		buf_addn(to, text, strlen(text) + 1);
	}
}

/* Memory that the processes of a host need for a job. */
struct host_memory {
	uint64_t program_bytes, checkpoint_bytes;
};

/* Merge the message of a rank. `sums` is the memory per host, then per job. */
static void merge_rank(struct plan_report *plans, size_t count, const struct hosts *h,
		       unsigned rank, const char *at, struct host_memory *sums)
{
	for (size_t i = 0; i < count; i++) {
		struct host_memory *sum = &sums[hosts_host_of(h, rank) * count + i];
		struct plan_report *p = &plans[i];
		struct plan_summary s;

		memcpy(&s, at, sizeof(s));
		at += sizeof(s);
		sum->program_bytes = u64_sum(sum->program_bytes, s.program_bytes);
		sum->checkpoint_bytes = u64_sum(sum->checkpoint_bytes, s.checkpoint_bytes);
		if (rank) {
			struct plan_checkpoint *c = &p->checkpoint;

			p->reads_in_flight = u64_sum(p->reads_in_flight, s.reads_in_flight);
			p->io.move_bytes = u64_sum(p->io.move_bytes, s.io_move_bytes);
			p->io.buffer_bytes = u64_sum(p->io.buffer_bytes, s.io_buffer_bytes);
			c->local_ranks = u64_sum(c->local_ranks, s.local_ranks);
			c->local_bytes = u64_sum(c->local_bytes, s.local_bytes);
			c->local_files = u64_sum(c->local_files, s.local_files);
			c->move_bytes = u64_sum(c->move_bytes, s.move_bytes);
			c->in_flight = u64_sum(c->in_flight, s.in_flight);
		}
		for (uint64_t k = 0; k < s.refusals; k++) {
			const char *name = at, *text = at + strlen(at) + 1;

			/* Add a FAIL of another rank, unless rank 0 has the same failure. */
			const struct plan_check *own = plan_find_check(p, name);
			bool is_same = own && own->state == PLAN_FAIL && own->text &&
				       strcmp(own->text, text) == 0;

			if (rank && !is_same)
				plan_add_check(p, name, PLAN_FAIL, "host %s (rank %u): %s",
					       hosts_name(h, rank), rank, text);
			at = text + strlen(text) + 1;
		}
	}
}

static void merge_all(struct plan_report *plans, size_t count, const struct hosts *h,
		      const struct buf *all)
{
	size_t hosts = hosts_count(h);
	struct host_memory *sums = mem_array(hosts * count, sizeof(*sums));

	for (unsigned rank = 0; rank < hosts_total(h); rank++) {
		size_t n = 0;
		const char *part = hosts_part(all, rank, &n);

		if (part)
			merge_rank(plans, count, h, rank, part, sums);
	}
	for (size_t i = 0; i < count; i++) {
		struct host_memory most = { 0 };

		for (size_t k = 0; k < hosts; k++)
			if (sums[k * count + i].program_bytes >= most.program_bytes)
				most = sums[k * count + i];
		plans[i].program_bytes = most.program_bytes;
		plans[i].checkpoint.program_bytes = most.checkpoint_bytes;
		plans[i].hosts = hosts;
		plans[i].processes = hosts_total(h);
	}
	mem_free(sums);
}

int plan_join(struct plan_report *plans, size_t count, struct hosts *h, struct mlgen_err *err)
{
	struct buf mine = { 0 }, all = { 0 };

	if (hosts_total(h) == 1)
		return 0;
	for (size_t i = 0; i < count; i++)
		append_summary(&mine, &plans[i]);
	int rc = hosts_gather(h, buf_str(&mine), mine.len, &all, err);
	if (rc == 0 && hosts_rank(h) == 0)
		merge_all(plans, count, h, &all);
	buf_fini(&mine);
	buf_fini(&all);
	return rc;
}
