/* SPDX-License-Identifier: Apache-2.0 */
/* strace_files.c - calls of strace that open and close, and those on paths. */
#include "import/trace/strace_inside.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/mem.h"

/* ---- open and close ---- */

static int open_flags(struct strace_event *e, uint64_t *flags)
{
	const struct strace_call *c = &e->call;
	size_t arg = (size_t)e->row->arg + 1;
	struct strace_text text;

	*flags = O_CREAT | O_WRONLY | O_TRUNC;
	if (strace_text_is(c->name, "creat"))
		return 0;
	if (arg >= c->arg_count)
		return strace_bad(e, "an open without flags");
	text = c->args[arg];
	if (text.n && *text.s == '{' && !strace_text_member(text, "flags", &text))
		return strace_bad(e, "an open without flags");
	*flags = strace_words_flags(&e->r->words, text);
	return 0;
}

static uint32_t folder_of(struct strace_event *e, uint64_t flags)
{
	if (!(flags & (O_DIRECTORY | O_PATH)) || !e->r->path.len)
		return 0;
	return trace_names_id(e->r->folders, e->r->path.s, e->r->path.len, NULL);
}

/* What the result says is it, links followed. */
static int open_result(struct strace_event *e, uint64_t flags, uint32_t *file)
{
	struct strace_reader *r = e->r;
	struct strace_place *place = &e->call.place;
	struct fd_open *f;

	if (place->kind == PLACE_PATH) {
		buf_reset(&r->path);
		if (!strace_text_unescape(place->path, &r->path))
			return strace_bad(e, "a path with a byte of zero");
	}
	*file = strace_path_file(e);
	f = fdtable_open(r->fds, e->task->tid, (int)e->call.result, *file, flags & O_APPEND,
			 flags & O_CLOEXEC);
	f->tag = place->is_char || strace_is_char(buf_str(&r->path)) ? STRACE_TAG_CHAR
								     : folder_of(e, flags);
	if (flags & O_TRUNC || (flags & O_CREAT && flags & O_EXCL))
		f->end = 0;
	return 0;
}

int strace_take_open(struct strace_event *e)
{
	struct strace_what what = { .op = TRACE_OPEN, .off = TRACE_UNKNOWN };
	uint64_t flags;
	int rc = strace_path(e, e->row->at, e->row->arg);

	if (rc || !e->call.has_result)
		return rc == STRACE_BAD ? rc : 0;
	rc = open_flags(e, &flags);
	if (rc)
		return rc;
	if (e->call.result >= 0 && e->call.result <= INT32_MAX)
		rc = open_result(e, flags, &what.file);
	else
		what.file = strace_path_file(e);
	if (rc)
		return rc;
	what.bytes = flags;
	what.result = e->call.result;
	return strace_emit(e, &what);
}

int strace_take_close(struct strace_event *e)
{
	const struct strace_pending *p = &e->task->pending;
	struct strace_what what = {
		.op = TRACE_CLOSE, .off = TRACE_UNKNOWN, .result = e->call.result, .file = p->closed
	};
	struct strace_ref ref;

	if (!p->has_closed) {
		if (strace_ref(e, 0, &ref))
			return STRACE_BAD;
		what.file = ref.open ? ref.open->file : 0;
		if (ref.fd >= 0)
			fdtable_close(e->r->fds, e->task->tid, ref.fd);
	}
	return what.file && e->call.has_result ? strace_emit(e, &what) : 0;
}

int strace_take_close_range(struct strace_event *e)
{
	uint64_t first, last;

	if (e->call.result != 0)
		return 0;
	if (strace_arg(e, 0, &first) || strace_arg(e, 1, &last))
		return STRACE_BAD;
	if (strace_text_has(e->call.all, "CLOSE_RANGE_UNSHARE"))
		fdtable_unshare(e->r->fds, e->task->tid);
	fdtable_close_range(e->r->fds, e->task->tid, (unsigned)first, (unsigned)last,
			    strace_text_has(e->call.all, "CLOSE_RANGE_CLOEXEC"));
	return 0;
}

static bool gave_fd(const struct strace_event *e)
{
	return e->call.has_result && e->call.result >= 0 && e->call.result <= INT32_MAX;
}

int strace_take_dup(struct strace_event *e)
{
	struct strace_ref ref;

	if (strace_ref(e, 0, &ref))
		return STRACE_BAD;
	if (gave_fd(e) && ref.fd >= 0)
		fdtable_dup(e->r->fds, e->task->tid, ref.fd, (int)e->call.result,
			    strace_text_has(e->call.all, "O_CLOEXEC"));
	return 0;
}

static void set_appends(struct fd_open *f, bool appends)
{
	f->appends = appends;
	f->may_append = false;
}

int strace_take_fcntl(struct strace_event *e)
{
	struct strace_text what;
	struct strace_ref ref;

	if (e->call.arg_count < 2)
		return strace_bad(e, "a call with too few arguments");
	what = e->call.args[1];
	if (strace_ref(e, 0, &ref))
		return STRACE_BAD;
	if (!gave_fd(e) || ref.fd < 0)
		return 0;
	if (strace_text_begins(what, "F_DUPFD"))
		fdtable_dup(e->r->fds, e->task->tid, ref.fd, (int)e->call.result,
			    strace_text_is(what, "F_DUPFD_CLOEXEC"));
	else if (strace_text_is(what, "F_SETFD"))
		fdtable_close_on_exec(e->r->fds, e->task->tid, ref.fd,
				      strace_text_has(e->call.all, "FD_CLOEXEC"));
	else if (strace_text_is(what, "F_SETFL") && ref.open)
		set_appends(ref.open, strace_text_has(e->call.all, "O_APPEND"));
	else if (strace_text_is(what, "F_GETFL") && ref.open)
		set_appends(ref.open, e->call.result & O_APPEND);
	return 0;
}

int strace_take_no_file(struct strace_event *e)
{
	if (gave_fd(e))
		fdtable_open(e->r->fds, e->task->tid, (int)e->call.result, 0, false,
			     strace_text_has(e->call.all, "CLOEXEC"));
	return 0;
}

/* "[3, 4]" */
int strace_take_pair(struct strace_event *e)
{
	bool closes = strace_text_has(e->call.all, "CLOEXEC");
	struct strace_text list, item;
	struct strace_place place;
	int fd;

	if (e->call.result != 0 || !e->call.has_result || (size_t)e->row->arg >= e->call.arg_count)
		return 0;
	list = e->call.args[e->row->arg];
	while (strace_text_item(&list, &item))
		if (strace_fd(item, &fd, &place) && fd >= 0)
			fdtable_open(e->r->fds, e->task->tid, fd, 0, false, closes);
	return 0;
}

/* ---- stat ---- */

static uint64_t size_found(const struct strace_event *e)
{
	const struct strace_call *c = &e->call;
	int64_t size;

	for (size_t i = 0; i < c->arg_count; i++)
		if (*c->args[i].s == '{' &&
		    (strace_text_member_number(c->args[i], "st_size", &size) ||
		     strace_text_member_number(c->args[i], "stx_size", &size)))
			return (uint64_t)size;
	return TRACE_UNKNOWN;
}

/* Of a descriptor: fstat, and what has a path of no bytes. */
static bool is_of_fd(const struct strace_event *e)
{
	return e->row->arg < 0 || (e->row->at >= 0 && (size_t)e->row->arg < e->call.arg_count &&
				   (strace_text_is(e->call.args[e->row->arg], "\"\"") ||
				    strace_text_is(e->call.args[e->row->arg], "NULL")));
}

int strace_take_stat(struct strace_event *e)
{
	struct strace_what what = { .op = TRACE_STAT,
				    .off = TRACE_UNKNOWN,
				    .bytes = TRACE_UNKNOWN,
				    .result = e->call.result };
	struct strace_ref ref;
	int rc;

	if (!e->call.has_result)
		return 0;
	if (what.result == 0)
		what.bytes = size_found(e);
	if (is_of_fd(e)) {
		if (strace_ref(e, e->row->at, &ref))
			return STRACE_BAD;
		if (!strace_ref_is_file(e, &ref))
			return 0;
		what.file = ref.open->file;
		ref.open->end = what.bytes;
		return strace_emit(e, &what);
	}
	rc = strace_path(e, e->row->at, e->row->arg);
	if (rc)
		return rc == STRACE_BAD ? rc : 0;
	what.file = strace_path_file(e);
	return strace_emit(e, &what);
}

/* ---- other calls on paths ---- */

int strace_take_path(struct strace_event *e)
{
	struct strace_what what = { .op = e->row->op,
				    .off = TRACE_UNKNOWN,
				    .result = e->call.result };
	int rc = strace_path(e, e->row->at, e->row->arg);

	if (rc || !e->call.has_result)
		return rc == STRACE_BAD ? rc : 0;
	what.file = strace_path_file(e);
	return strace_emit(e, &what);
}

int strace_take_unlink(struct strace_event *e)
{
	static const struct strace_row rmdir_at = { "unlinkat", NULL, 0, 1, 0, TRACE_RMDIR };

	if (strace_text_has(e->call.all, "AT_REMOVEDIR"))
		e->row = &rmdir_at;
	return strace_take_path(e);
}

/* rename(a, b), or renameat(folder, a, folder, b). */
int strace_take_rename(struct strace_event *e)
{
	struct strace_what what = { .op = TRACE_RENAME, .result = e->call.result };
	bool has_folders = e->row->at >= 0;
	int rc = strace_path(e, e->row->at, e->row->arg);

	if (rc || !e->call.has_result)
		return rc == STRACE_BAD ? rc : 0;
	what.file = strace_path_file(e);
	rc = strace_path(e, has_folders ? 2 : -1, has_folders ? 3 : 1);
	if (rc)
		return rc == STRACE_BAD ? rc : 0;
	what.off = strace_path_file(e);
	if (what.result == 0)
		fdtable_rename(e->r->fds, what.file, (uint32_t)what.off);
	return strace_emit(e, &what);
}

/* ---- where a process is ---- */

static void now_in(struct strace_event *e, const char *path)
{
	mem_replace(&e->task->process->cwd, *path == '/' ? path : NULL);
}

int strace_take_chdir(struct strace_event *e)
{
	int rc = strace_path(e, -1, 0);

	if (rc == 0 && e->call.has_result && e->call.result == 0)
		now_in(e, buf_str(&e->r->path));
	return rc == STRACE_BAD ? rc : 0;
}

int strace_take_fchdir(struct strace_event *e)
{
	int rc;

	if (!e->call.has_result || e->call.result != 0)
		return 0;
	rc = strace_folder(e, 0);
	if (rc == 0)
		now_in(e, buf_str(&e->r->path));
	return rc;
}

int strace_take_getcwd(struct strace_event *e)
{
	if (e->call.has_result && e->call.result > 0 && strace_path(e, -1, 0) == 0)
		now_in(e, buf_str(&e->r->path));
	return 0;
}
