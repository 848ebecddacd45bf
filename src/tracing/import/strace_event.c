/* SPDX-License-Identifier: Apache-2.0 */
/* strace_event.c - descriptors, paths, records, libaio requests and tasks of strace's calls. */
#include "tracing/import/import_internal.h"

#include <fcntl.h>

#include "base/mem.h"
#include "base/util.h"

/* ---- arguments ---- */

int strace_bad(struct strace_event *e, const char *why)
{
	e->why = why;
	return STRACE_BAD;
}

int strace_arg(struct strace_event *e, size_t arg, uint64_t *value)
{
	int64_t v;

	if (arg >= e->call.arg_count)
		return strace_bad(e, "a call with too few arguments");
	if (!strace_text_number(e->call.args[arg], &v))
		return strace_bad(e, "an argument is not a number");
	*value = (uint64_t)v;
	return 0;
}

uint64_t strace_iovec_bytes(struct strace_text list)
{
	struct strace_text item;
	uint64_t sum = 0;
	int64_t bytes;

	if (!list.n || *list.s != '[')
		return TRACE_UNKNOWN;
	while (strace_text_item(&list, &item)) {
		if (!strace_text_member_number(item, "iov_len", &bytes))
			return TRACE_UNKNOWN;
		sum += (uint64_t)bytes;
	}
	return sum;
}

/* ---- descriptors ---- */

bool strace_is_char(const char *path)
{
	static const char *const begins[] = {
		"/dev/null", "/dev/zero", "/dev/full",        "/dev/random",  "/dev/urandom",
		"/dev/tty",  "/dev/pts/", "/dev/ptmx",        "/dev/console", "/dev/nvidia",
		"/dev/dri/", "/dev/kfd",  "/dev/infiniband/",
	};

	if (strncmp(path, "/dev/", 5) != 0)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(begins); i++)
		if (strncmp(path, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

uint32_t strace_path_file(struct strace_event *e)
{
	struct strace_reader *r = e->r;

	return r->path.len ? trace_fill_name(r->m->fill, r->path.s, r->path.len) : 0;
}

static int set_path_from_info(struct strace_event *e, const struct strace_fd_info *info)
{
	buf_reset(&e->r->path);
	return strace_text_unescape(info->path, &e->r->path)
		       ? 0
		       : strace_bad(e, "a path with a NUL byte");
}

/* Set the file of a descriptor from an annotation, unless the model agrees: the open is not in the
 * log. */
static void set_unseen_open(struct strace_event *e, struct strace_ref *ref, uint32_t file,
			    bool is_char)
{
	uint32_t tag = is_char ? STRACE_TAG_CHAR : 0;
	bool is_declared, appends;

	if (ref->open && ref->open->file == file)
		return;
	/* strace_reader_fd declared it */
	is_declared = ref->open && !ref->open->file && !ref->open->may_append;
	appends = is_declared && ref->open->appends;
	if (!ref->open)
		ref->open = fdtable_open(e->r->fds, e->task->tid, ref->fd, file, false, false);
	ref->open->file = file;
	ref->open->appends = appends;
	ref->open->may_append = !is_declared;
	ref->open->is_position_known = false;
	ref->open->end = TRACE_UNKNOWN;
	ref->open->tag = tag;
}

static int strace_ref_text(struct strace_event *e, struct strace_text t, struct strace_ref *ref)
{
	struct strace_fd_info info;

	if (!strace_fd(t, &ref->fd, &info))
		return strace_bad(e, "a descriptor is not a number");
	ref->open = ref->fd < 0 ? NULL : fdtable_find(e->r->fds, e->task->tid, ref->fd);
	if (ref->fd < 0 || info.kind == STRACE_FD_NONE)
		return 0;
	if (info.kind == STRACE_FD_OTHER) {
		set_unseen_open(e, ref, 0, false);
		return 0;
	}
	if (set_path_from_info(e, &info))
		return STRACE_BAD;
	set_unseen_open(e, ref, strace_path_file(e),
			info.is_char || strace_is_char(buf_str(&e->r->path)));
	return 0;
}

int strace_ref(struct strace_event *e, int arg, struct strace_ref *ref)
{
	if ((size_t)arg >= e->call.arg_count)
		return strace_bad(e, "a call with too few arguments");
	return strace_ref_text(e, e->call.args[arg], ref);
}

bool strace_ref_is_file(struct strace_event *e, const struct strace_ref *ref)
{
	if (ref->fd < 0)
		return false;
	if (!ref->open) {
		e->r->unknown_fds += !strace_text_is(e->call.error, "EBADF");
		return false;
	}
	return ref->open->file && ref->open->tag != STRACE_TAG_CHAR;
}

/* ---- paths ---- */

int strace_folder(struct strace_event *e, int at)
{
	struct strace_reader *r = e->r;
	struct strace_process *p = e->task->process;
	struct strace_fd_info info = { .kind = STRACE_FD_NONE };
	int fd = AT_FDCWD, rc;

	buf_reset(&r->path);
	if (at >= (int)e->call.arg_count || (at >= 0 && !strace_fd(e->call.args[at], &fd, &info)))
		return strace_bad(e, "a directory that is not a descriptor");
	if (info.kind == STRACE_FD_PATH) {
		rc = set_path_from_info(e, &info);
		/* Later calls may lack the annotation. */
		if (rc == 0 && fd == AT_FDCWD &&
		    (!p->cwd || strcmp(p->cwd, buf_str(&r->path)) != 0))
			mem_replace(&p->cwd, buf_str(&r->path));
		return rc;
	}
	if (fd == AT_FDCWD) {
		buf_add(&r->path, p->cwd ? p->cwd : "");
	} else if (fd >= 0) {
		struct fd_open *f = fdtable_find(r->fds, e->task->tid, fd);
		const char *folder = NULL;
		size_t bytes;

		if (f && f->tag && f->tag != STRACE_TAG_CHAR)
			folder = trace_names_text(r->folders, f->tag, &bytes);
		buf_add(&r->path, folder ? folder : "");
	}
	return 0;
}

/* Append `s` to a directory without "." and empty components. ".." stays, since it may follow a
 * symbolic link. */
static void path_join(struct buf *path, const char *s)
{
	size_t n;

	for (; *s; s += n) {
		s += strspn(s, "/");
		n = strcspn(s, "/");
		if (!n || (n == 1 && *s == '.'))
			continue;
		if (!path->len || path->s[path->len - 1] != '/')
			buf_addc(path, '/');
		buf_addn(path, s, n);
	}
}

int strace_path(struct strace_event *e, int at, int arg)
{
	struct strace_reader *r = e->r;
	int rc;

	if ((size_t)arg >= e->call.arg_count)
		return strace_bad(e, "a call with too few arguments");
	if (*e->call.args[arg].s != '"')
		return STRACE_NO_PATH;
	buf_reset(&r->scratch);
	if (!strace_text_unquote(e->call.args[arg], &r->scratch))
		return strace_bad(e, "a path that is cut off");
	buf_reset(&r->path);
	rc = *buf_str(&r->scratch) == '/' ? 0 : strace_folder(e, at);
	if (rc)
		return rc;
	if (r->path.len)
		path_join(&r->path, buf_str(&r->scratch));
	else
		buf_addn(&r->path, buf_str(&r->scratch), r->scratch.len);
	return 0;
}

/* ---- records ---- */

static int strace_add_record(struct strace_reader *r, const struct trace_record *record,
			     struct mlgen_err *err)
{
	if (!r->is_holding)
		return trace_fill_add(r->m->fill, record, err);
	r->held[r->held_count++] = *record;
	return r->held_count < STRACE_HELD_MAX ? 0 : strace_learn_pid(r, NULL, 0, err);
}

int strace_emit(struct strace_event *e, const struct strace_record *rec)
{
	struct import_tally *t = &e->r->m->tally;
	struct trace_record record = {
		.start_ns = e->start_ns,
		.duration_ns = e->duration_ns,
		.off = rec->off,
		.len_bytes = rec->bytes,
		.result = rec->result,
		.cpu_ns = TRACE_UNKNOWN,
		.pid = e->task->process->pid,
		.tid = e->task->tid,
		.file = rec->file,
		.op = rec->op,
		.flags = rec->flags,
	};

	t->inexact += (rec->flags & TRACE_OFF_INEXACT) != 0;
	t->inferred +=
		(rec->flags & (TRACE_OFF_INEXACT | TRACE_OFF_INFERRED)) == TRACE_OFF_INFERRED;
	e->r->without_duration += e->duration_ns == TRACE_UNKNOWN;
	return strace_add_record(e->r, &record, e->err);
}

/* Is another task in a call that moves the same position? */
static bool is_contended(const struct strace_event *e, const struct fd_open *f)
{
	for (const struct strace_task *t = e->r->moving; t; t = t->next)
		if (t != e->task && fdtable_find(e->r->fds, t->tid, t->pending.fd) == f)
			return true;
	return false;
}

uint64_t strace_transfer_offset(struct strace_event *e, const struct strace_ref *ref, bool is_write,
				const uint64_t *off, int64_t done, uint16_t *flags)
{
	struct fd_open *f = ref->open;
	uint64_t at;

	if (off && !(is_write && f->appends)) {
		at = *off;
		if (is_write && done > 0 && f->end != TRACE_UNKNOWN)
			f->end = u64_max(f->end, at + (uint64_t)done);
		return at;
	}
	if (off || done < 0) {
		at = off ? f->end : f->is_position_known ? f->position : TRACE_UNKNOWN;
		if (at == TRACE_UNKNOWN)
			return at;
		*flags |= TRACE_OFF_INFERRED;
		f->end += off && done > 0 ? (uint64_t)done : 0;
		return at;
	}
	at = fd_open_advance(f, e->task->tid, e->start_ns, e->end_ns, (uint64_t)done, is_write,
			     flags);
	if (*flags & TRACE_OFF_INFERRED && e->r->moving && is_contended(e, f))
		*flags |= TRACE_OFF_INEXACT;
	return at;
}

/* ---- libaio: requests in flight ---- */

static int aio_add_record(struct strace_reader *r, struct strace_aio *a, uint64_t duration_ns,
			  int64_t result, struct mlgen_err *err)
{
	struct trace_record record = {
		.start_ns = a->start_ns,
		.duration_ns = duration_ns,
		.off = a->off,
		.len_bytes = a->bytes,
		.result = result,
		.cpu_ns = TRACE_UNKNOWN,
		.pid = a->pid,
		.tid = a->tid,
		.file = a->file,
		.op = a->op,
		.flags = a->flags,
	};

	a->op = TRACE_NONE;
	return strace_add_record(r, &record, err);
}

/* Add a request without a completion, assuming that it succeeded in full. */
static int aio_add_lost(struct strace_reader *r, struct strace_aio *a, struct mlgen_err *err)
{
	bool moves = a->op == TRACE_READ || a->op == TRACE_WRITE;

	if (a->op == TRACE_NONE)
		return 0;
	r->aio_lost++;
	return aio_add_record(r, a, TRACE_UNKNOWN,
			      moves && a->bytes != TRACE_UNKNOWN ? (int64_t)a->bytes : 0, err);
}

int strace_aio_flush(struct strace_reader *r, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; r->aio && i < STRACE_AIO_MAX && rc == 0; i++)
		rc = aio_add_lost(r, &r->aio[(r->aio_at + i) % STRACE_AIO_MAX], err);
	return rc;
}

/* ---- libaio: submission ---- */

static uint16_t aio_op(struct strace_text code)
{
	if (strace_text_begins(code, "IOCB_CMD_PREAD"))
		return TRACE_READ;
	if (strace_text_begins(code, "IOCB_CMD_PWRITE"))
		return TRACE_WRITE;
	if (strace_text_begins(code, "IOCB_CMD_FSYNC"))
		return TRACE_FSYNC;
	return strace_text_begins(code, "IOCB_CMD_FDSYNC") ? TRACE_FDATASYNC : TRACE_NONE;
}

/* The bytes of a request. For PREADV and PWRITEV, aio_nbytes is the number of iovecs. */
static uint64_t aio_bytes(struct strace_text request, struct strace_text code)
{
	struct strace_text list;
	int64_t bytes = -1;

	if (code.s[code.n - 1] == 'V')
		return strace_text_member(request, "aio_buf", &list) ? strace_iovec_bytes(list)
								     : TRACE_UNKNOWN;
	strace_text_member_number(request, "aio_nbytes", &bytes);
	return (uint64_t)bytes;
}

/* 0, even if the request is left out; STRACE_BAD, or -errno. */
static int aio_submit(struct strace_event *e, struct strace_text request, uint64_t context)
{
	struct strace_aio *a = &e->r->aio[e->r->aio_at];
	struct strace_text code, fd;
	struct strace_ref ref;
	int64_t data = 0, off = -1;
	int rc;

	if (!strace_text_member(request, "aio_lio_opcode", &code) || !code.n ||
	    !strace_text_member(request, "aio_fildes", &fd))
		return strace_bad(e, "a request without file or kind");
	rc = strace_ref_text(e, fd, &ref);
	if (rc || aio_op(code) == TRACE_NONE || !strace_ref_is_file(e, &ref))
		return rc;
	rc = aio_add_lost(e->r, a, e->err);
	strace_text_member_number(request, "aio_data", &data);
	strace_text_member_number(request, "aio_offset", &off);
	*a = (struct strace_aio){ .pid = e->task->process->pid,
				  .tid = e->task->tid,
				  .file = ref.open->file,
				  .context = context,
				  .data = (uint64_t)data,
				  .start_ns = e->start_ns,
				  .off = (uint64_t)off,
				  .bytes = aio_bytes(request, code),
				  .op = aio_op(code),
				  .flags = TRACE_ASYNC };
	e->r->aio_at = (e->r->aio_at + 1) % STRACE_AIO_MAX;
	return rc;
}

int strace_apply_submit(struct strace_event *e)
{
	struct strace_text list, request;
	uint64_t context;
	int64_t left = e->call.result;
	int rc = 0;

	if (!e->call.has_result || left <= 0)
		return 0;
	if (e->call.arg_count < 3 || strace_arg(e, 0, &context))
		return strace_bad(e, "a call with too few arguments");
	if (!e->r->aio)
		e->r->aio = mem_array(STRACE_AIO_MAX, sizeof(*e->r->aio));
	list = e->call.args[2];
	while (rc == 0 && left-- > 0 && strace_text_item(&list, &request) && *request.s == '{')
		rc = aio_submit(e, request, context);
	return rc;
}

/* ---- libaio: completion ---- */

/* The oldest matching request; NULL = none. */
static struct strace_aio *aio_find(struct strace_event *e, uint64_t context, uint64_t data)
{
	struct strace_reader *r = e->r;

	for (size_t i = 0; r->aio && i < STRACE_AIO_MAX; i++) {
		struct strace_aio *a = &r->aio[(r->aio_at + i) % STRACE_AIO_MAX];

		if (a->op && a->data == data && a->context == context &&
		    a->pid == e->task->process->pid)
			return a;
	}
	return NULL;
}

int strace_apply_events(struct strace_event *e)
{
	struct strace_text list, event;
	uint64_t context;
	int64_t left = e->call.result, data, result;
	int rc = 0;

	if (!e->call.has_result || left <= 0)
		return 0;
	if (e->call.arg_count < 4 || strace_arg(e, 0, &context))
		return strace_bad(e, "a call with too few arguments");
	list = e->call.args[3];
	while (rc == 0 && left-- > 0 && strace_text_item(&list, &event)) {
		struct strace_aio *a;

		if (!strace_text_member_number(event, "data", &data) ||
		    !strace_text_member_number(event, "res", &result))
			break;
		a = aio_find(e, context, (uint64_t)data);
		if (a)
			rc = aio_add_record(e->r, a,
					    e->end_ns > a->start_ns ? e->end_ns - a->start_ns : 0,
					    result, e->err);
	}
	return rc;
}

int strace_apply_ring(struct strace_event *e)
{
	e->r->uring_calls++;
	return 0;
}

/* ---- tasks and their processes ---- */

/* Add what is known of a process to the trace. */
static void add_process(struct strace_reader *r, const struct strace_process *p, uint64_t end_ns)
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

/* Add the child of a fork or clone. A task that exists already keeps its pending call. */
static void add_child(struct strace_reader *r, struct strace_task *parent, struct strace_text flags,
		      uint32_t tid, uint64_t now_ns)
{
	uint64_t bits = strace_words_flags(&r->words, flags);
	bool is_thread = bits & STRACE_CLONE_THREAD;
	struct strace_task *task = id_map_find(&r->tasks, tid);

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
	add_process(r, task->process, TRACE_UNKNOWN);
}

void strace_reader_task(struct strace_reader *r, uint32_t tid, uint32_t pid, uint32_t parent,
			const char *command, const char *cwd)
{
	struct strace_task *leader = id_map_find(&r->tasks, pid);
	struct strace_process *p;

	if (!leader)
		leader = strace_tasks_add(&r->tasks, pid, NULL);
	p = leader->process;
	if (tid != pid && !id_map_find(&r->tasks, tid)) {
		strace_tasks_add(&r->tasks, tid, p);
		fdtable_fork(r->fds, pid, tid, true);
	}
	p->parent = parent;
	if (command)
		mem_replace(&p->command, command);
	if (cwd)
		mem_replace(&p->cwd, cwd);
	if (tid == pid)
		add_process(r, p, TRACE_UNKNOWN);
}

void strace_reader_fd(struct strace_reader *r, uint32_t pid, int fd, bool appends)
{
	/* The annotation in the first call on this descriptor will name the file. */
	fdtable_open(r->fds, pid, fd, 0, appends, false);
}

/* The value of "flags=..." in the arguments of clone and clone3. */
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

/* A task that is new may be the child of a fork that has not returned yet. */
struct strace_task *strace_task_of(struct strace_reader *r, uint32_t tid, uint64_t now_ns)
{
	struct strace_task *task = id_map_find(&r->tasks, tid);
	struct strace_task *parent = NULL;

	if (task)
		return task;
	for (struct strace_task *t = r->forking; t; t = t->next)
		if (!t->pending.child)
			parent = t;
	if (!parent)
		return strace_tasks_add(&r->tasks, tid, NULL);
	parent->pending.child = tid;
	add_child(
		r, parent,
		flags_of((struct strace_text){ parent->pending.text.s, parent->pending.text.len }),
		tid, now_ns);
	return id_map_find(&r->tasks, tid);
}

int strace_learn_pid(struct strace_reader *r, struct strace_task *task, uint32_t pid,
		     struct mlgen_err *err)
{
	int rc = 0;

	if (task && pid && !id_map_find(&r->tasks, pid)) {
		strace_tasks_rename(&r->tasks, task, pid);
		fdtable_fork(r->fds, 0, pid, true);
		fdtable_exit(r->fds, 0);
		add_process(r, task->process, TRACE_UNKNOWN);
		if (!r->source->tid)
			r->source->tid = pid;
	}
	if (!task)
		pid = 0;
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

int strace_apply_own_pid(struct strace_event *e)
{
	int64_t pid = e->call.result;

	if (e->task->tid || !e->call.has_result || pid <= 0 || pid > INT32_MAX)
		return 0;
	return strace_learn_pid(e->r, e->task, (uint32_t)pid, e->err);
}

/* ---- fork and exec ---- */

int strace_apply_fork(struct strace_event *e)
{
	struct strace_text flags = flags_of(e->call.all);
	bool is_thread = strace_words_flags(&e->r->words, flags) & STRACE_CLONE_THREAD;
	int64_t child = e->call.result;
	struct strace_record rec = { .op = TRACE_FORK, .off = TRACE_UNKNOWN, .result = child };

	if (!e->call.has_result || child <= 0 || child > INT32_MAX)
		return 0;
	if (!e->r->is_followed)
		fdtable_mark_shared(e->r->fds, e->task->tid);
	else if (e->task->pending.child != (uint32_t)child)
		add_child(e->r, e->task, flags, (uint32_t)child, e->start_ns);
	return is_thread ? 0 : strace_emit(e, &rec);
}

/* Set the command line from the arguments of execve, or from its path if there are none. */
static void set_command(struct strace_event *e)
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

/* A failed execve is left out: a shell or execvp searches PATH that way. */
int strace_apply_exec(struct strace_event *e)
{
	struct strace_record rec = { .op = TRACE_EXEC, .off = TRACE_UNKNOWN };
	struct strace_process *p = e->task->process;
	int rc = strace_path(e, e->row->at, e->row->arg);

	if (rc || !e->call.has_result || e->call.result != 0)
		return rc == STRACE_BAD ? rc : 0;
	set_command(e);
	/* An execve in the first line of a log is the start of the process. */
	if (p->start_ns == TRACE_UNKNOWN && e->r->source->is_first)
		p->start_ns = e->start_ns;
	fdtable_exec(e->r->fds, e->task->tid);
	p->map_count = 0;
	add_process(e->r, p, TRACE_UNKNOWN);
	rec.file = strace_path_file(e);
	return strace_emit(e, &rec);
}

int strace_apply_unshare(struct strace_event *e)
{
	if (e->call.has_result && e->call.result == 0 &&
	    strace_text_has(e->call.all, "CLONE_FILES"))
		fdtable_unshare(e->r->fds, e->task->tid);
	return 0;
}

/* ---- exit ---- */

static void remove_task(struct strace_reader *r, struct strace_task *task)
{
	fdtable_exit(r->fds, task->tid);
	strace_tasks_remove(&r->tasks, task);
}

/* The execve of thread `tid` ends as a call of the leader: move the pending call there. */
static void supersede(struct strace_reader *r, struct strace_task *leader, uint32_t tid)
{
	struct strace_task *task = id_map_find(&r->tasks, tid);
	struct strace_pending *p = &leader->pending;

	if (!task || task == leader)
		return;
	strace_task_unlink(leader);
	buf_reset(&p->text);
	buf_addn(&p->text, buf_str(&task->pending.text), task->pending.text.len);
	p->is_open = task->pending.is_open;
	p->start_ns = task->pending.start_ns;
	p->row = task->pending.row;
	fdtable_fork(r->fds, tid, leader->tid, true);
	remove_task(r, task);
}

/* The status of "exited with 3" or "killed by SIGKILL (core dumped)", as in a shell. */
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
	struct strace_record rec = { .op = TRACE_EXIT, .off = TRACE_UNKNOWN };
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
		rec.result = status_of(e, status);
		e->duration_ns = 0;
		add_process(e->r, e->task->process, e->start_ns);
		rc = strace_emit(e, &rec);
	}
	remove_task(e->r, e->task);
	return rc;
}
