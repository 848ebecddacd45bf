/* SPDX-License-Identifier: Apache-2.0 */
/* trace_text.c - prints a trace as lines of words, for scripts that compare it with something
 * else. */

/*
 *	trace_text FILE...
 *
 *	entry KIND NUMBER... TEXT	as they come; - = not known
 *	OP FILE OFF LEN RESULT FLAGS TID START DURATION [FILE2]
 *	end RECORDS LOST DAMAGED TRUNCATED
 *
 * FILE is a name without blanks, or -; FILE2 what a rename makes of it. Exits
 * with 1 where it is no trace.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "trace/trace.h"

struct names {
	char **list; /* by id */
	size_t room;
};

static void put_number(uint64_t n)
{
	if (n == TRACE_UNKNOWN)
		printf(" -");
	else
		printf(" %" PRIu64, n);
}

static void keep_name(struct names *n, const struct trace_entry *e)
{
	uint64_t id = e->number[0];

	while (id >= n->room) {
		size_t more = n->room ? n->room : 64;

		n->list = mem_realloc(n->list, (n->room + more) * sizeof(*n->list));
		memset(n->list + n->room, 0, more * sizeof(*n->list));
		n->room += more;
	}
	mem_replace(&n->list[id], e->text);
}

static const char *name_of(const struct names *n, uint64_t id)
{
	return id && id < n->room && n->list[id] && *n->list[id] ? n->list[id] : "-";
}

static void print_entry(struct names *n, const struct trace_entry *e)
{
	static const char *const kinds[] = {
		[TRACE_FILE] = "file",   [TRACE_PROCESS] = "process", [TRACE_THREAD] = "thread",
		[TRACE_MOUNT] = "mount", [TRACE_FACT] = "fact",       [TRACE_LOST] = "lost",
	};
	bool is_known = e->kind && e->kind <= TRACE_LOST;

	if (e->kind == TRACE_FILE)
		keep_name(n, e);
	printf("entry %s", is_known ? kinds[e->kind] : "unknown");
	for (unsigned i = 0; i < TRACE_NUMBERS; i++)
		put_number(e->number[i]);
	printf(" %s\n", e->text);
}

static void print_record(const struct names *n, const struct trace_record *r)
{
	const char *op = trace_op_name(r->op);

	printf("%s %s", op ? op : "unknown", name_of(n, r->file));
	put_number(r->op == TRACE_RENAME ? TRACE_UNKNOWN : r->off);
	put_number(r->len_bytes);
	printf(" %" PRId64 " %u %" PRIu32 " %" PRIu64 " %" PRIu64, r->result, r->flags, r->tid,
	       r->start_ns, r->duration_ns);
	printf(r->op == TRACE_RENAME ? " %s\n" : "\n", name_of(n, r->off));
}

static int print_all(struct trace_reader *r, struct mlgen_err *err)
{
	struct names names = { 0 };
	struct trace_batch batch;
	int rc;

	while ((rc = trace_reader_next(r, &batch, err)) > 0) {
		for (size_t i = 0; i < batch.entry_count; i++)
			print_entry(&names, &batch.entries[i]);
		for (size_t i = 0; i < batch.record_count; i++)
			print_record(&names, &batch.records[i]);
	}
	for (size_t i = 0; i < names.room; i++)
		mem_free(names.list[i]);
	mem_free(names.list);
	return rc;
}

int main(int argc, char **argv)
{
	const char *const *paths = (const char *const *)(argv + 1);
	struct mlgen_err err = { 0 };
	struct trace_reader *r;

	int rc = trace_reader_open(&r, paths, (size_t)argc - 1, &err);
	if (rc == 0) {
		rc = print_all(r, &err);
		const struct trace_read *read = trace_reader_totals(r);

		printf("end %" PRIu64 " %" PRIu64 " %" PRIu64 " %u\n", read->records, read->lost,
		       read->damaged_chunks, read->truncated);
		trace_reader_close(r);
	}
	if (rc < 0)
		fprintf(stderr, "trace_text: %s\n", err.text);
	return rc < 0 || fflush(stdout) != 0;
}
