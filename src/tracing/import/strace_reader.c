/* SPDX-License-Identifier: Apache-2.0 */
/* strace_reader.c - read lines of strace: task, time and call; and --format=strace. */

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/util.h"
#include "tracing/import/import_internal.h"

#define DAY_NS (UINT64_C(86400) * NS_PER_S)

struct strace_reader *strace_reader_new(struct importing *m)
{
	struct strace_reader *r = mem_zalloc(sizeof(*r));

	r->m = m;
	r->fds = fdtable_new();
	r->folders = trace_names_new();
	r->source = &r->own;
	strace_tables_fill(&r->rows, &r->words);
	return r;
}

void strace_reader_free(struct strace_reader *r)
{
	if (!r)
		return;
	strace_tasks_fini(&r->tasks);
	fdtable_free(r->fds);
	trace_names_free(r->folders);
	strace_words_fini(&r->rows);
	strace_words_fini(&r->words);
	buf_fini(&r->own.partial);
	buf_fini(&r->line);
	buf_fini(&r->scratch);
	buf_fini(&r->path);
	mem_free(r->held);
	mem_free(r->aio);
	mem_free(r);
}

/* ---- the time and the task of a line ---- */

/* The time of a line, since 1970 or midnight of the first day. */
static uint64_t strace_source_time(struct strace_source *s, const struct strace_line *l)
{
	if (l->clock == STRACE_TIMELESS || l->clock == STRACE_RELATIVE)
		return s->last_ns + s->days_ns;
	if (l->clock == STRACE_DAY && s->has_time && l->ns + DAY_NS / 2 < s->last_ns)
		s->days_ns += DAY_NS;
	s->has_time = true;
	s->last_ns = l->ns;
	return s->last_ns + s->days_ns;
}

/* The task of a line without a thread id. A new task has the id 0 until a call or another line
 * tells its pid. */
static struct strace_task *task_without_id(struct strace_reader *r)
{
	struct strace_task *task = id_map_find(&r->tasks, 0);

	if (!task)
		task = strace_tasks_only(&r->tasks);
	if (!task && r->source->tid)
		task = id_map_find(&r->tasks, r->source->tid);
	if (task)
		return task;
	if (!r->held_count && !r->is_holding) {
		r->held = mem_array(STRACE_HELD_MAX, sizeof(*r->held));
		r->is_holding = true;
	}
	return strace_tasks_add(&r->tasks, 0, NULL);
}

static int find_task(struct strace_event *e, const struct strace_line *l)
{
	struct strace_reader *r = e->r;
	struct strace_task *first = id_map_find(&r->tasks, 0);
	int rc = 0;

	if (l->has_tid) {
		r->is_followed = true;
		/* The first "[pid N]" of strace -f names the task that had no id, unless that task
		 * is in a fork whose child may be N. */
		if (first && !id_map_find(&r->tasks, l->tid) &&
		    (!first->pending.is_open || strace_text_begins(l->body, "<... ")))
			rc = strace_learn_pid(r, first, l->tid, e->err);
		e->task = strace_task_of(r, l->tid, e->start_ns);
	} else if (r->source->tid && !r->is_holding && r->is_followed && r->source != &r->own) {
		e->task = strace_task_of(r, r->source->tid, e->start_ns);
	} else {
		e->task = task_without_id(r);
	}
	return rc;
}

/* ---- a call ---- */

/* `now_ns`: when the call ended, if its start is on an earlier line; otherwise 0. */
static int apply_call(struct strace_event *e, struct strace_text body, uint64_t now_ns)
{
	struct strace_call *c = &e->call;
	char name[32];
	const char *why = strace_call_split(c, body);
	const struct strace_word *error;

	if (why)
		return strace_bad(e, why);
	if (c->error.n) {
		error = strace_words_find(&e->r->words, c->error);
		if (!error)
			return strace_bad(e, "an unknown error");
		c->result = -error->value;
	}
	e->row = strace_row_of(e->r, c->name);
	if (!e->row) {
		snprintf(name, sizeof(name), "%.*s", (int)u64_min(c->name.n, sizeof(name) - 1),
			 c->name.s);
		import_count_unknown(e->r->m, name);
		return 0;
	}
	if (!e->row->apply)
		return 0;
	e->duration_ns = c->duration_ns;
	if (e->duration_ns == TRACE_UNKNOWN && now_ns >= e->start_ns && now_ns)
		e->duration_ns = now_ns - e->start_ns;
	e->end_ns = e->start_ns;
	if (e->duration_ns != TRACE_UNKNOWN)
		e->end_ns += e->duration_ns;
	return e->row->apply(e);
}

static void reset_pending(struct strace_task *task)
{
	strace_task_unlink(task);
	task->pending.is_open = task->pending.has_closed = false;
	task->pending.child = task->pending.closed = 0;
	task->pending.fd = -1;
	task->pending.row = NULL;
}

/* Store the start of an unfinished call. */
static int begin_call(struct strace_event *e, struct strace_text body)
{
	struct strace_task *task = e->task;
	struct strace_pending *p = &task->pending;
	struct strace_fd_info info;
	struct strace_ref ref;
	unsigned traits;

	reset_pending(task);
	buf_reset(&p->text);
	buf_addn(&p->text, body.s, body.n);
	p->is_open = true;
	p->start_ns = e->start_ns;
	strace_call_split(&e->call, body);
	p->row = e->row = strace_row_of(e->r, e->call.name);
	traits = p->row ? p->row->traits : 0;
	if (traits & STRACE_FORKS)
		strace_task_link(task, &e->r->forking);
	if (traits & STRACE_CLOSES) {
		/* The kernel may hand out the descriptor again before its close returns. */
		if (strace_ref(e, 0, &ref))
			return STRACE_BAD;
		p->has_closed = true;
		p->closed = ref.open ? ref.open->file : 0;
		if (ref.fd >= 0)
			fdtable_close(e->r->fds, task->tid, ref.fd);
	} else if (traits & STRACE_MOVES_POSITION && (size_t)p->row->arg < e->call.arg_count &&
		   strace_fd(e->call.args[p->row->arg], &p->fd, &info)) {
		strace_task_link(task, &e->r->moving);
	}
	return 0;
}

/* Finish a call by a line such as "<... read resumed>". */
static int resume_call(struct strace_event *e, struct strace_text body)
{
	static const char resumed[] = " resumed>";
	struct strace_pending *p = &e->task->pending;
	const char *end = memmem(body.s, body.n, resumed, sizeof(resumed) - 1);
	uint64_t now_ns = e->start_ns;
	size_t name, from;
	int rc;

	if (!end)
		return strace_bad(e, "neither a call, a signal nor an exit");
	name = (size_t)(end - body.s) - 5;
	from = (size_t)(end - body.s) + sizeof(resumed) - 1;
	if (!p->is_open || p->text.len <= name || memcmp(p->text.s, body.s + 5, name) != 0 ||
	    p->text.s[name] != '(')
		return strace_bad(e, "the end of a call without its beginning");
	if (p->text.len + body.n > TRACE_INPUT_LINE_MAX)
		return strace_bad(e, "a call of more than 1 MiB");
	buf_addn(&p->text, body.s + from, body.n - from);
	e->start_ns = p->start_ns;
	strace_task_unlink(e->task);
	rc = apply_call(e, (struct strace_text){ p->text.s, p->text.len }, now_ns);
	reset_pending(e->task);
	return rc;
}

static bool strip_suffix(struct strace_text *t, const char *suffix)
{
	size_t n = strlen(suffix);

	if (t->n < n || memcmp(t->s + t->n - n, suffix, n) != 0)
		return false;
	t->n -= n;
	return true;
}

/* ---- a line ---- */

/* Is the line a message of strace itself? A message may interrupt another line, whose parts are
 * joined in *t. */
static bool is_message(struct strace_reader *r, struct strace_text *t)
{
	static const char process[] = "strace: Process ";
	struct strace_source *s = r->source;
	struct strace_text whole = *t;
	const char *at;
	bool attaches = strip_suffix(&whole, " attached");

	if ((attaches || strip_suffix(&whole, " detached")) &&
	    (at = memmem(t->s, t->n, process, sizeof(process) - 1)) != NULL) {
		r->is_followed |= attaches;
		if (s->partial.len + t->n <= TRACE_INPUT_LINE_MAX)
			buf_addn(&s->partial, t->s, (size_t)(at - t->s));
		return true;
	}
	if (s->partial.len) {
		buf_reset(&r->line);
		buf_addn(&r->line, s->partial.s, s->partial.len);
		buf_addn(&r->line, t->s, t->n);
		buf_reset(&s->partial);
		*t = (struct strace_text){ r->line.s, r->line.len };
	}
	s->is_over |= strace_text_begins(*t, "% time ");
	return s->is_over || strace_text_begins(*t, "strace: ") || strace_text_begins(*t, " > ");
}

/* Count a line without a time as unread; but refuse a log in which no line had a time so far. */
static int refuse_timeless(struct strace_event *e, const struct strace_line *l, const char *file,
			   uint64_t lineno)
{
	struct strace_text body = l->body;

	if (e->r->source->has_time || e->r->m->is_lenient ||
	    (strace_call_split(&e->call, body) && !strip_suffix(&body, "<unfinished ...>")))
		return strace_bad(e, l->clock == STRACE_RELATIVE
					     ? "a time relative to the previous line"
					     : "no time, or no call");
	return mlgen_fail(
		e->err, -EINVAL,
		"%s:%" PRIu64
		": %s; let strace write the time of each call, best with strace -f -ttt -T -yy",
		strcmp(file, "-") == 0 ? "standard input" : file, lineno,
		l->clock == STRACE_RELATIVE ? "has only the time since the previous line (-r)"
					    : "has no time");
}

static int apply_line(struct strace_event *e, const struct strace_line *l, const char *file,
		      uint64_t lineno)
{
	struct strace_source *s = e->r->source;
	uint64_t off = e->r->m->clock_offset_ns, ns;
	struct strace_text body = l->body, name;
	int rc;

	if (l->clock == STRACE_TIMELESS || l->clock == STRACE_RELATIVE)
		return refuse_timeless(e, l, file, lineno);
	e->r->is_of_day |= l->clock == STRACE_DAY;
	s->is_first = !s->has_time;
	/* Convert to the trace's clock now: the offset may differ at the next line, and a call may
	 * span two lines. */
	ns = strace_source_time(s, l);
	e->start_ns = ns > off ? ns - off : 0;
	rc = find_task(e, l);
	if (rc)
		return rc;

	if (strace_text_begins(body, "+++ ") && strip_suffix(&body, " +++")) {
		body.s += 4;
		body.n -= u64_min(4, body.n);
		return strace_exited(e, body);
	}
	if (strace_text_begins(body, "<... "))
		return resume_call(e, body);
	if (!strace_call_name(body, &name))
		return strace_bad(e, "neither a call, a signal nor an exit");
	if (strip_suffix(&body, "<detached ...>"))
		return 0;
	if (strip_suffix(&body, "<unfinished ...>"))
		return begin_call(e, body);
	return apply_call(e, body, 0);
}

int strace_reader_line(struct strace_reader *r, char *line, size_t bytes, const char *file,
		       uint64_t lineno, struct mlgen_err *err)
{
	struct strace_text text = { line, bytes };
	struct strace_event e;
	struct strace_line l;
	int rc;

	r->m->tally.lines++;
	line[bytes] = '\0';
	if (is_message(r, &text))
		return 0;
	strace_line_split(&l, text);
	/* A signal, or another line without a call. */
	if (!l.body.n || strace_text_begins(l.body, "--- ") ||
	    strace_text_begins(l.body, "[ Process PID=") ||
	    strace_text_begins(l.body, "<detached") || strace_text_is(l.body, "<unfinished ...>"))
		return 0;
	e.r = r;
	e.err = err;
	e.why = NULL;
	e.task = NULL;
	rc = apply_line(&e, &l, file, lineno);
	if (rc != STRACE_BAD)
		return rc;
	return import_count_unread(r->m, file, lineno, err, "%s", e.why);
}

/* ---- the end ---- */

int strace_reader_end(struct strace_reader *r, struct mlgen_err *err)
{
	int rc = strace_aio_flush(r, err);

	if (rc == 0 && r->is_holding)
		rc = strace_learn_pid(r, NULL, 0, err);
	if (r->is_of_day)
		import_note(r->m, "times have no date, and day 0 is assumed for the first line; "
				  "strace -ttt adds the date");
	if (r->without_duration)
		import_note(r->m, "%" PRIu64 " call%s no duration; strace -T writes it",
			    r->without_duration, r->without_duration == 1 ? " has" : "s have");
	if (r->unknown_fds)
		import_note(
			r->m,
			"%" PRIu64 " call%s on descriptors that were opened before the log begins, "
			"of unknown files, %s left out; strace -yy names the files",
			r->unknown_fds, plural(r->unknown_fds), r->unknown_fds == 1 ? "is" : "are");
	if (r->uring_calls)
		import_note(r->m,
			    "%" PRIu64 " call%s of io_uring_enter: strace does not see reads and "
			    "writes of io_uring; mltrace record does",
			    r->uring_calls, plural(r->uring_calls));
	if (r->aio_lost)
		import_note(
			r->m,
			"the end of %" PRIu64
			" request%s of libaio is not in the log (a program can take completions "
			"without a call): they have no duration, and success is assumed",
			r->aio_lost, plural(r->aio_lost));
	return rc;
}

/* ---- --format=strace ---- */

/* Limit of files, because each open file has a buffer of 256 KiB. */
enum { FILES_MAX = 256 };

/* A log and its next line. */
struct strace_log {
	struct trace_input in;
	struct strace_source source;
	struct strace_source ahead; /* clock of the line read ahead */
	struct buf line;
	uint64_t lineno, ns;
	bool has_line;
};

struct strace_logs {
	struct importing *m;
	struct strace_reader *r;
	struct strace_log *logs;
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
	return *end || tid > STRACE_TID_MAX ? 0 : (uint32_t)tid;
}

/* Read the next line of a log. A last line without a newline is dropped: it may be truncated, such
 * as "= 1" instead of "= 128". */
static int next_line(struct strace_logs *set, struct strace_log *log, struct mlgen_err *err)
{
	struct strace_line l;
	bool is_cut = false;
	int rc;

	log->lineno = log->in.line;
	rc = trace_input_line(&log->in, &log->line, &is_cut, err);
	if (rc < 0)
		return rc;
	log->has_line = rc > 0 && !is_cut;
	set->m->tally.is_cut |= is_cut;
	if (log->has_line && set->count > 1) {
		strace_line_split(&l, (struct strace_text){ buf_str(&log->line), log->line.len });
		log->ns = strace_source_time(&log->ahead, &l);
	}
	return 0;
}

static int open_logs(struct strace_logs *set, struct mlgen_err *err)
{
	struct importing *m = set->m;
	int rc = 0;

	if (m->file_count > FILES_MAX)
		return mlgen_fail(err, -EINVAL,
				  "format=strace: %zu files are too many; up to %d can be read at "
				  "a time; combine them with strace-log-merge",
				  m->file_count, FILES_MAX);
	set->logs = mem_array(m->file_count, sizeof(*set->logs));
	for (; rc == 0 && set->count < m->file_count; set->count++) {
		struct strace_log *log = &set->logs[set->count];

		log->source.name = m->files[set->count];
		if (m->file_count > 1)
			log->source.tid = tid_of(log->source.name);
		rc = trace_input_open(&log->in, log->source.name, err);
	}
	for (size_t i = 0; rc == 0 && i < set->count; i++)
		rc = next_line(set, &set->logs[i], err);
	return rc;
}

int import_strace(struct importing *m, struct mlgen_err *err)
{
	struct strace_logs set = { .m = m, .r = strace_reader_new(m) };
	int rc = open_logs(&set, err);

	while (rc == 0) {
		struct strace_log *log = NULL; /* the log with the earliest line */

		for (size_t i = 0; i < set.count; i++)
			if (set.logs[i].has_line && (!log || set.logs[i].ns < log->ns))
				log = &set.logs[i];
		if (!log)
			break;
		set.r->source = &log->source;
		set.r->is_followed |= log->source.tid != 0;
		/* An empty buffer has no memory for the final 0. */
		if (!log->line.s)
			buf_addc(&log->line, ' ');
		rc = strace_reader_line(set.r, log->line.s, log->line.len, log->source.name,
					log->lineno, err);
		if (rc == 0)
			rc = next_line(&set, log, err);
	}
	if (rc == 0)
		rc = strace_reader_end(set.r, err);
	if (rc == 0)
		rc = import_check_unread(m, "strace", err);
	strace_reader_free(set.r);
	for (size_t i = 0; i < set.count; i++) {
		trace_input_close(&set.logs[i].in);
		buf_fini(&set.logs[i].line);
		buf_fini(&set.logs[i].source.partial);
	}
	mem_free(set.logs);
	return rc;
}
