/* SPDX-License-Identifier: Apache-2.0 */
/* strace_import.c - --import=strace: one log of strace, or those of strace -ff, which have one a
 * task. */
#include "import/trace/strace.h"

#include <errno.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "import/trace/strace_inside.h"

/* Each of them has a block of 256 KiB. */
enum { FILES_MOST = 256 };

/* One log, and its next line. */
struct log {
	struct trace_input in;
	struct strace_source source;
	struct strace_source ahead; /* the same, one line ahead */
	struct buf line;
	uint64_t lineno, ns;
	bool has_line;
};

struct logs {
	struct importing *m;
	struct strace_reader *r;
	struct log *logs;
	size_t count;
};

/* strace -ff -o NAME writes NAME.PID. */
static uint32_t tid_of(const char *file)
{
	const char *dot = strrchr(file, '.');
	char *end;
	unsigned long tid;

	if (!dot || dot[1] < '1' || dot[1] > '9')
		return 0;
	tid = strtoul(dot + 1, &end, 10);
	return *end || tid > STRACE_TID_MOST ? 0 : (uint32_t)tid;
}

/* A last line without an end may be a part of it, such as "= 1" of "= 128". */
static int next_line(struct logs *all, struct log *log, struct mlgen_err *err)
{
	struct strace_line l;
	bool is_cut = false;
	int rc;

	log->lineno = log->in.line;
	rc = trace_input_line(&log->in, &log->line, &is_cut, err);
	if (rc < 0)
		return rc;
	log->has_line = rc > 0 && !is_cut;
	all->m->tally.is_cut |= is_cut;
	if (log->has_line && all->count > 1) {
		strace_line_split(&l, (struct strace_text){ buf_str(&log->line), log->line.len });
		log->ns = strace_source_time(&log->ahead, &l);
	}
	return 0;
}

static int open_logs(struct logs *all, struct mlgen_err *err)
{
	struct importing *m = all->m;
	int rc = 0;

	if (m->file_count > FILES_MOST)
		return mlgen_fail(err, -EINVAL,
				  "import=strace: %zu files are too many, %d can be read at a "
				  "time; make one of them by strace-log-merge",
				  m->file_count, FILES_MOST);
	all->logs = mem_array(m->file_count, sizeof(*all->logs));
	for (; rc == 0 && all->count < m->file_count; all->count++) {
		struct log *log = &all->logs[all->count];

		log->source.name = m->files[all->count];
		if (m->file_count > 1)
			log->source.tid = tid_of(log->source.name);
		rc = trace_input_open(&log->in, log->source.name, err);
	}
	for (size_t i = 0; rc == 0 && i < all->count; i++)
		rc = next_line(all, &all->logs[i], err);
	return rc;
}

static struct log *earliest(const struct logs *all)
{
	struct log *first = NULL;

	for (size_t i = 0; i < all->count; i++)
		if (all->logs[i].has_line && (!first || all->logs[i].ns < first->ns))
			first = &all->logs[i];
	return first;
}

static int read_logs(struct logs *all, struct mlgen_err *err)
{
	struct log *log;
	int rc = 0;

	while (rc == 0 && (log = earliest(all)) != NULL) {
		all->r->source = &log->source;
		all->r->is_followed |= log->source.tid != 0;
		/* A line of no bytes has no memory to end it in. */
		if (!log->line.s)
			buf_addc(&log->line, ' ');
		rc = strace_reader_line(all->r, log->line.s, log->line.len, log->source.name,
					log->lineno, err);
		if (rc == 0)
			rc = next_line(all, log, err);
	}
	return rc;
}

static void close_logs(struct logs *all)
{
	for (size_t i = 0; i < all->count; i++) {
		trace_input_close(&all->logs[i].in);
		buf_fini(&all->logs[i].line);
		buf_fini(&all->logs[i].source.begun);
	}
	mem_free(all->logs);
}

int import_strace(struct importing *m, struct mlgen_err *err)
{
	struct logs all = { .m = m, .r = strace_reader_new(m) };
	int rc = open_logs(&all, err);

	if (rc == 0)
		rc = read_logs(&all, err);
	if (rc == 0)
		rc = strace_reader_end(all.r, err);
	if (rc == 0)
		rc = import_judge(m, "strace", err);
	strace_reader_free(all.r);
	close_logs(&all);
	return rc;
}
