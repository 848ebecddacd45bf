/* SPDX-License-Identifier: Apache-2.0 */
/* strace_ref.c - what the descriptors and paths of a call are of, and its record. */
#include "import/trace/strace_inside.h"

#include <fcntl.h>

#include "base/mem.h"
#include "base/util.h"

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
		return strace_bad(e, "an argument is no number");
	*value = (uint64_t)v;
	return 0;
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

static int place_path(struct strace_event *e, const struct strace_place *place)
{
	buf_reset(&e->r->path);
	return strace_text_unescape(place->path, &e->r->path)
		       ? 0
		       : strace_bad(e, "a path with a byte of zero");
}

/* The log has not shown how it came to be open. */
static void set_seen(struct strace_event *e, struct strace_ref *ref, uint32_t file, bool is_char)
{
	uint32_t tag = is_char ? STRACE_TAG_CHAR : 0;
	bool is_told, appends;

	if (ref->open && ref->open->file == file)
		return;
	/* strace_reader_fd */
	is_told = ref->open && !ref->open->file && !ref->open->may_append;
	appends = is_told && ref->open->appends;
	if (!ref->open)
		ref->open = fdtable_open(e->r->fds, e->task->tid, ref->fd, file, false, false);
	ref->open->file = file;
	ref->open->appends = appends;
	ref->open->may_append = !is_told;
	ref->open->is_position_known = false;
	ref->open->end = TRACE_UNKNOWN;
	ref->open->tag = tag;
}

int strace_ref_text(struct strace_event *e, struct strace_text t, struct strace_ref *ref)
{
	struct strace_place place;

	if (!strace_fd(t, &ref->fd, &place))
		return strace_bad(e, "a descriptor is no number");
	ref->open = ref->fd < 0 ? NULL : fdtable_find(e->r->fds, e->task->tid, ref->fd);
	if (ref->fd < 0 || place.kind == PLACE_NONE)
		return 0;
	if (place.kind == PLACE_OTHER) {
		set_seen(e, ref, 0, false);
		return 0;
	}
	if (place_path(e, &place))
		return STRACE_BAD;
	set_seen(e, ref, strace_path_file(e),
		 place.is_char || strace_is_char(buf_str(&e->r->path)));
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
		e->r->unnamed += !strace_text_is(e->call.error, "EBADF");
		return false;
	}
	return ref->open->file && ref->open->tag != STRACE_TAG_CHAR;
}

/* ---- paths ---- */

/* What it says of where the process is holds for calls that do not say it. */
static int begin_at_place(struct strace_event *e, const struct strace_place *place, bool is_cwd)
{
	struct strace_process *p = e->task->process;
	int rc = place_path(e, place);

	if (rc == 0 && is_cwd && (!p->cwd || strcmp(p->cwd, buf_str(&e->r->path)) != 0))
		mem_replace(&p->cwd, buf_str(&e->r->path));
	return rc;
}

int strace_folder(struct strace_event *e, int at)
{
	struct strace_reader *r = e->r;
	struct strace_place place = { .kind = PLACE_NONE };
	int fd = AT_FDCWD;

	buf_reset(&r->path);
	if (at >= (int)e->call.arg_count || (at >= 0 && !strace_fd(e->call.args[at], &fd, &place)))
		return strace_bad(e, "a folder is no descriptor");
	if (place.kind == PLACE_PATH)
		return begin_at_place(e, &place, fd == AT_FDCWD);
	if (fd == AT_FDCWD) {
		buf_add(&r->path, e->task->process->cwd ? e->task->process->cwd : "");
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

/* Behind a folder: "." and blank parts go, ".." may be a link's and stays. */
static void strace_ref_join(struct buf *path, const char *s)
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
		return strace_bad(e, "a path that is cut");
	buf_reset(&r->path);
	rc = *buf_str(&r->scratch) == '/' ? 0 : strace_folder(e, at);
	if (rc)
		return rc;
	if (r->path.len)
		strace_ref_join(&r->path, buf_str(&r->scratch));
	else
		buf_addn(&r->path, buf_str(&r->scratch), r->scratch.len);
	return 0;
}

/* ---- records ---- */

int strace_put(struct strace_reader *r, const struct trace_record *record, struct mlgen_err *err)
{
	if (!r->is_holding)
		return trace_fill_add(r->m->fill, record, err);
	r->held[r->held_count++] = *record;
	return r->held_count < STRACE_HELD ? 0 : strace_learn_pid(r, NULL, 0, err);
}

int strace_emit(struct strace_event *e, const struct strace_what *what)
{
	struct import_tally *t = &e->r->m->tally;
	struct trace_record record = {
		.start_ns = e->start_ns,
		.duration_ns = e->duration_ns,
		.off = what->off,
		.len_bytes = what->bytes,
		.result = what->result,
		.cpu_ns = TRACE_UNKNOWN,
		.pid = e->task->process->pid,
		.tid = e->task->tid,
		.file = what->file,
		.op = what->op,
		.flags = what->flags,
	};

	t->inexact += (what->flags & TRACE_OFF_INEXACT) != 0;
	t->inferred +=
		(what->flags & (TRACE_OFF_INEXACT | TRACE_OFF_INFERRED)) == TRACE_OFF_INFERRED;
	e->r->timeless += e->duration_ns == TRACE_UNKNOWN;
	return strace_put(e->r, &record, e->err);
}

/* Somebody else is in a call that moves the same position. */
static bool is_contended(const struct strace_event *e, const struct fd_open *f)
{
	for (const struct strace_task *t = e->r->moving; t; t = t->behind)
		if (t != e->task && fdtable_find(e->r->fds, t->tid, t->pending.fd) == f)
			return true;
	return false;
}

uint64_t strace_move(struct strace_event *e, const struct strace_ref *ref, bool is_write,
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
