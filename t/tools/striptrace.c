/* SPDX-License-Identifier: Apache-2.0 */
/* striptrace.c - a copy of a trace without markers, as if a program had been recorded that says
 * nothing of itself. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/util.h"
#include "trace/trace.h"

/*
 *	striptrace [--threads] FROM... TO
 *
 * Markers go, and with them ids of samples, numbers of steps, epochs and
 * checkpoints, and names that only markers have. With --threads what threads say
 * of themselves goes, too ("loader 1 of rank 0"), as a log of strace has it. All
 * else stays as it is. The files of one run become one. Exits with 1 where it is
 * no trace.
 */

/* Ids of files that operations have. */
struct used {
	bool *is;
	size_t room;
};

static void use(struct used *u, uint64_t id)
{
	size_t room = u->room;

	if (id >= UINT32_MAX)
		return;
	u->is = mem_grow(u->is, &u->room, (size_t)id + 1, sizeof(*u->is));
	if (u->room > room)
		memset(u->is + room, 0, (u->room - room) * sizeof(*u->is));
	u->is[id] = true;
}

static void use_names(struct used *u, const struct trace_batch *b)
{
	for (size_t i = 0; i < b->record_count; i++) {
		const struct trace_record *r = &b->records[i];

		if (trace_is_marker(r->op))
			continue;
		use(u, r->file);
		if (r->op == TRACE_RENAME)
			use(u, r->off);
	}
}

static bool stays(const struct trace_entry *e, const struct used *u, bool has_threads)
{
	if (e->kind == TRACE_THREAD)
		return has_threads;
	if (e->kind == TRACE_FILE)
		return e->number[0] < u->room && u->is[e->number[0]];
	return true;
}

static void copy(struct trace_writer *w, const struct trace_batch *b, const struct used *u,
		 bool has_threads)
{
	for (size_t i = 0; i < b->entry_count; i++)
		if (stays(&b->entries[i], u, has_threads))
			trace_writer_entry(w, &b->entries[i]);
	for (size_t i = 0; i < b->record_count; i++)
		if (!trace_is_marker(b->records[i].op))
			trace_writer_record(w, &b->records[i]);
}

static int copy_all(struct trace_reader *r, struct trace_writer *w, bool has_threads,
		    struct mlgen_err *err)
{
	struct used used = { 0 };
	struct trace_batch batch;
	int rc;

	while ((rc = trace_reader_next(r, &batch, err)) > 0)
		use_names(&used, &batch);
	if (rc == 0)
		rc = trace_reader_rewind(r, err);
	while (rc >= 0 && (rc = trace_reader_next(r, &batch, err)) > 0)
		copy(w, &batch, &used, has_threads);
	mem_free(used.is);
	return rc;
}

static int strip(struct trace_reader *r, const char *to, bool has_threads, struct mlgen_err *err)
{
	struct trace_writer *w;
	int fd = open(to, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0)
		return mlgen_fail(err, -errno, "%s: %s", to, strerror(errno));
	int rc = trace_writer_new(&w, fd, to, trace_reader_head(r), err);
	if (rc == 0) {
		rc = copy_all(r, w, has_threads, err);
		int finished = trace_writer_finish(w, NULL, err);

		rc = rc < 0 ? rc : finished;
	}
	close(fd);
	return rc;
}

int main(int argc, char **argv)
{
	bool has_threads = argc < 2 || strcmp(argv[1], "--threads") != 0;
	const char *const *paths = (const char *const *)(argv + (has_threads ? 1 : 2));
	int count = argc - (has_threads ? 2 : 3);
	struct mlgen_err err = { 0 };
	struct trace_reader *r;

	if (count < 1) {
		fprintf(stderr, "striptrace: [--threads] FROM... TO\n");
		return 2;
	}
	int rc = trace_reader_open(&r, paths, (size_t)count, &err);
	if (rc == 0) {
		rc = strip(r, paths[count], has_threads, &err);
		trace_reader_close(r);
	}
	if (rc < 0)
		fprintf(stderr, "striptrace: %s\n", err.text);
	return rc < 0;
}
