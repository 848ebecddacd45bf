/* SPDX-License-Identifier: Apache-2.0 */
/* strace_process.c - processes and threads of strace: who made whom, what they run, how they
 * ended. */
#include "import/trace/strace_inside.h"

#include "base/mem.h"
#include "import/trace/strace.h"

/* ---- who they are ---- */

void strace_process_tell(struct strace_reader *r, const struct strace_process *p, uint64_t end_ns)
{
	uint64_t number[] = {
		p->pid,
		p->parent ? p->parent : TRACE_UNKNOWN,
		p->start_ns,
		end_ns,
	};

	if (p->pid)
		trace_fill_entry(r->m->fill, TRACE_PROCESS, number, 4,
				 p->command ? p->command : "");
}

/* A task that is there already keeps the call that it is in. */
static void adopt(struct strace_reader *r, struct strace_task *parent, struct strace_text flags,
		  uint32_t tid, uint64_t now_ns)
{
	uint64_t bits = strace_words_flags(&r->words, flags);
	bool is_thread = bits & STRACE_CLONE_THREAD;
	struct strace_task *task = strace_tasks_find(&r->tasks, tid);

	if (task == parent)
		return;
	if (!task)
		task = strace_tasks_add(&r->tasks, tid, is_thread ? parent->process : NULL);
	else
		strace_task_move(task, is_thread ? parent->process : NULL);
	fdtable_fork(r->fds, parent->tid, tid, bits & STRACE_CLONE_FILES);
	if (is_thread)
		return;
	strace_process_copy(task->process, parent->process);
	task->process->parent = parent->process->pid;
	task->process->start_ns = now_ns;
	strace_process_tell(r, task->process, TRACE_UNKNOWN);
}

void strace_reader_task(struct strace_reader *r, uint32_t tid, uint32_t pid, uint32_t parent,
			const char *command, const char *cwd)
{
	struct strace_task *leader = strace_tasks_find(&r->tasks, pid);
	struct strace_process *p;

	if (!leader)
		leader = strace_tasks_add(&r->tasks, pid, NULL);
	p = leader->process;
	if (tid != pid && !strace_tasks_find(&r->tasks, tid)) {
		strace_tasks_add(&r->tasks, tid, p);
		fdtable_fork(r->fds, pid, tid, true);
	}
	p->parent = parent;
	if (command)
		mem_replace(&p->command, command);
	if (cwd)
		mem_replace(&p->cwd, cwd);
	if (tid == pid)
		strace_process_tell(r, p, TRACE_UNKNOWN);
}

void strace_reader_fd(struct strace_reader *r, uint32_t pid, int fd, bool appends)
{
	/* The first call with this descriptor says which file it is. */
	fdtable_open(r->fds, pid, fd, 0, appends, false);
}

/* "flags=..." of clone, and of clone3 in {}. */
static struct strace_text flags_of(struct strace_text args)
{
	const char *at = memmem(args.s, args.n, "flags=", 6);
	size_t n = 0;

	if (!at)
		return (struct strace_text){ args.s, 0 };
	args.n -= (size_t)(at + 6 - args.s);
	args.s = at + 6;
	while (n < args.n && args.s[n] != ',' && args.s[n] != '}' && args.s[n] != ' ')
		n++;
	return (struct strace_text){ args.s, n };
}

/* One that nobody introduced may be of a fork that has not returned yet. */
struct strace_task *strace_task_of(struct strace_reader *r, uint32_t tid, uint64_t now_ns)
{
	struct strace_task *task = strace_tasks_find(&r->tasks, tid);
	struct strace_task *maker = NULL;

	if (task)
		return task;
	for (struct strace_task *t = r->forking; t; t = t->behind)
		if (!t->pending.child)
			maker = t;
	if (!maker)
		return strace_tasks_add(&r->tasks, tid, NULL);
	maker->pending.child = tid;
	adopt(r, maker,
	      flags_of((struct strace_text){ maker->pending.text.s, maker->pending.text.len }), tid,
	      now_ns);
	return strace_tasks_find(&r->tasks, tid);
}

static int flush_held(struct strace_reader *r, uint32_t pid, struct mlgen_err *err)
{
	int rc = 0;

	r->is_holding = false;
	for (size_t i = 0; i < r->held_count && rc == 0; i++) {
		struct trace_record *held = &r->held[i];

		held->pid = held->pid ? held->pid : pid;
		held->tid = held->tid ? held->tid : pid;
		rc = trace_fill_add(r->m->fill, held, err);
	}
	r->held_count = 0;
	mem_free(r->held);
	r->held = NULL;
	return rc;
}

/* NULL: nobody will say it any more. */
int strace_learn_pid(struct strace_reader *r, struct strace_task *task, uint32_t pid,
		     struct mlgen_err *err)
{
	if (task && pid && !strace_tasks_find(&r->tasks, pid)) {
		strace_tasks_rename(&r->tasks, task, pid);
		fdtable_fork(r->fds, 0, pid, true);
		fdtable_exit(r->fds, 0);
		strace_process_tell(r, task->process, TRACE_UNKNOWN);
		if (!r->source->tid)
			r->source->tid = pid;
	}
	return flush_held(r, task ? pid : 0, err);
}

int strace_take_own_pid(struct strace_event *e)
{
	int64_t pid = e->call.result;

	if (e->task->tid || !e->call.has_result || pid <= 0 || pid > INT32_MAX)
		return 0;
	return strace_learn_pid(e->r, e->task, (uint32_t)pid, e->err);
}

/* ---- calls ---- */

static int tell_fork(struct strace_event *e)
{
	struct strace_what what = { .op = TRACE_FORK,
				    .off = TRACE_UNKNOWN,
				    .result = e->call.result };

	return strace_emit(e, &what);
}

int strace_take_fork(struct strace_event *e)
{
	struct strace_text flags = flags_of(e->call.all);
	bool is_thread = strace_words_flags(&e->r->words, flags) & STRACE_CLONE_THREAD;
	int64_t child = e->call.result;

	if (!e->call.has_result || child <= 0 || child > INT32_MAX)
		return 0;
	if (!e->r->is_followed)
		fdtable_share(e->r->fds, e->task->tid);
	else if (e->task->pending.child != (uint32_t)child)
		adopt(e->r, e->task, flags, (uint32_t)child, e->start_ns);
	return is_thread ? 0 : tell_fork(e);
}

static void keep_command(struct strace_event *e)
{
	struct strace_process *p = e->task->process;
	struct buf *command = &e->r->scratch;
	size_t arg = (size_t)e->row->arg + 1;
	struct strace_text list = { NULL, 0 }, item;

	buf_reset(command);
	if (arg < e->call.arg_count)
		list = e->call.args[arg];
	while (list.n && (*list.s == '[' || *list.s == ',') && strace_text_item(&list, &item)) {
		const char *last = memrchr(item.s, '"', item.n);

		if (!last || *item.s != '"')
			break;
		bool is_cut = last + 1 < item.s + item.n;

		item.n = (size_t)(last - item.s) + 1;
		if (command->len)
			buf_addc(command, ' ');
		if (!strace_text_unquote(item, command))
			break;
		if (is_cut)
			buf_add(command, "...");
	}
	mem_replace(&p->command, command->len ? buf_str(command) : buf_str(&e->r->path));
}

/* Those that failed are a shell that looks for a program. */
int strace_take_exec(struct strace_event *e)
{
	struct strace_what what = { .op = TRACE_EXEC, .off = TRACE_UNKNOWN };
	struct strace_process *p = e->task->process;
	int rc = strace_path(e, e->row->at, e->row->arg);

	if (rc || !e->call.has_result || e->call.result != 0)
		return rc == STRACE_BAD ? rc : 0;
	keep_command(e);
	/* What a log begins with is the first that it does. */
	if (p->start_ns == TRACE_UNKNOWN && e->r->source->is_first)
		p->start_ns = e->start_ns;
	fdtable_exec(e->r->fds, e->task->tid);
	strace_process_exec(p);
	strace_process_tell(e->r, p, TRACE_UNKNOWN);
	what.file = strace_path_file(e);
	return strace_emit(e, &what);
}

int strace_take_unshare(struct strace_event *e)
{
	if (e->call.has_result && e->call.result == 0 &&
	    strace_text_has(e->call.all, "CLONE_FILES"))
		fdtable_unshare(e->r->fds, e->task->tid);
	return 0;
}

/* ---- ends ---- */

static void gone(struct strace_reader *r, struct strace_task *task)
{
	fdtable_exit(r->fds, task->tid);
	strace_tasks_remove(&r->tasks, task);
}

/* A thread's call of execve ends as its process's. */
static void supersede(struct strace_reader *r, struct strace_task *leader, uint32_t tid)
{
	struct strace_task *task = strace_tasks_find(&r->tasks, tid);
	struct strace_pending *p = &leader->pending;

	if (!task || task == leader)
		return;
	strace_task_unlist(leader);
	buf_reset(&p->text);
	buf_addn(&p->text, buf_str(&task->pending.text), task->pending.text.len);
	p->is_open = task->pending.is_open;
	p->start_ns = task->pending.start_ns;
	p->row = task->pending.row;
	fdtable_fork(r->fds, tid, leader->tid, true);
	gone(r, task);
}

/* "exited with 3", "killed by SIGKILL (core dumped)", "superseded by execve in pid 12". */
static int64_t status_of(struct strace_event *e, struct strace_text status)
{
	const struct strace_word *word;
	int64_t number = 0;

	if (strace_text_begins(status, "exited with ")) {
		status.s += 12;
		status.n -= 12;
		return strace_text_number(status, &number) ? number : 0;
	}
	if (!strace_text_begins(status, "killed by "))
		return 0;
	status.s += 10;
	for (status.n = 0; status.s[status.n] > ' ';)
		status.n++;
	word = strace_words_find(&e->r->words, status);
	return 128 + (word ? word->value : 0);
}

int strace_exited(struct strace_event *e, struct strace_text status)
{
	static const char superseded[] = "superseded by execve in pid ";
	struct strace_what what = { .op = TRACE_EXIT, .off = TRACE_UNKNOWN };
	int64_t tid;
	int rc = 0;

	if (strace_text_begins(status, superseded)) {
		status.s += sizeof(superseded) - 1;
		status.n -= sizeof(superseded) - 1;
		if (strace_text_number(status, &tid))
			supersede(e->r, e->task, (uint32_t)tid);
		return 0;
	}
	if (e->task->tid == e->task->process->pid) {
		what.result = status_of(e, status);
		e->duration_ns = 0;
		strace_process_tell(e->r, e->task->process, e->start_ns);
		rc = strace_emit(e, &what);
	}
	gone(e->r, e->task);
	return rc;
}
