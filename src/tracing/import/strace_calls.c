/* SPDX-License-Identifier: Apache-2.0 */
/* strace_calls.c - the table of system calls, how each is applied, and symbolic constants. */
#include "tracing/import/import_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/util.h"

/* ---- open and close ---- */

/* Add the open file. Prefer the path in the result's annotation, which has no symbolic links. */
static int open_result(struct strace_event *e, uint64_t flags, uint32_t *file)
{
	struct strace_reader *r = e->r;
	struct strace_fd_info *info = &e->call.info;
	struct fd_open *f;

	if (info->kind == STRACE_FD_PATH) {
		buf_reset(&r->path);
		if (!strace_text_unescape(info->path, &r->path))
			return strace_bad(e, "a path with a NUL byte");
	}
	*file = strace_path_file(e);
	f = fdtable_open(r->fds, e->task->tid, (int)e->call.result, *file, flags & O_APPEND,
			 flags & O_CLOEXEC);
	if (info->is_char || strace_is_char(buf_str(&r->path)))
		f->tag = STRACE_TAG_CHAR;
	else if (flags & (O_DIRECTORY | O_PATH) && r->path.len)
		f->tag = trace_names_id(r->folders, r->path.s, r->path.len, NULL);
	if (flags & O_TRUNC || (flags & O_CREAT && flags & O_EXCL))
		f->end = 0;
	return 0;
}

static int strace_apply_open(struct strace_event *e)
{
	const struct strace_call *c = &e->call;
	struct strace_record rec = { .op = TRACE_OPEN, .off = TRACE_UNKNOWN };
	size_t arg = (size_t)e->row->arg + 1;
	struct strace_text text;
	int rc = strace_path(e, e->row->at, e->row->arg);

	if (rc || !c->has_result)
		return rc == STRACE_BAD ? rc : 0;
	rec.bytes = O_CREAT | O_WRONLY | O_TRUNC;
	if (!strace_text_is(c->name, "creat")) {
		if (arg >= c->arg_count)
			return strace_bad(e, "an open without flags");
		text = c->args[arg];
		if (text.n && *text.s == '{' && !strace_text_member(text, "flags", &text))
			return strace_bad(e, "an open without flags");
		rec.bytes = strace_words_flags(&e->r->words, text);
	}
	if (c->result >= 0 && c->result <= INT32_MAX)
		rc = open_result(e, rec.bytes, &rec.file);
	else
		rec.file = strace_path_file(e);
	if (rc)
		return rc;
	rec.result = c->result;
	return strace_emit(e, &rec);
}

static int strace_apply_close(struct strace_event *e)
{
	const struct strace_pending *p = &e->task->pending;
	struct strace_record rec = {
		.op = TRACE_CLOSE, .off = TRACE_UNKNOWN, .result = e->call.result, .file = p->closed
	};
	struct strace_ref ref;

	if (!p->has_closed) {
		if (strace_ref(e, 0, &ref))
			return STRACE_BAD;
		rec.file = ref.open ? ref.open->file : 0;
		if (ref.fd >= 0)
			fdtable_close(e->r->fds, e->task->tid, ref.fd);
	}
	return rec.file && e->call.has_result ? strace_emit(e, &rec) : 0;
}

static int strace_apply_close_range(struct strace_event *e)
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

static bool has_new_fd(const struct strace_event *e)
{
	return e->call.has_result && e->call.result >= 0 && e->call.result <= INT32_MAX;
}

static int strace_apply_dup(struct strace_event *e)
{
	struct strace_ref ref;

	if (strace_ref(e, 0, &ref))
		return STRACE_BAD;
	if (has_new_fd(e) && ref.fd >= 0)
		fdtable_dup(e->r->fds, e->task->tid, ref.fd, (int)e->call.result,
			    strace_text_has(e->call.all, "O_CLOEXEC"));
	return 0;
}

static void set_appends(struct fd_open *f, bool appends)
{
	f->appends = appends;
	f->may_append = false;
}

static int strace_apply_fcntl(struct strace_event *e)
{
	struct strace_text cmd;
	struct strace_ref ref;

	if (e->call.arg_count < 2)
		return strace_bad(e, "a call with too few arguments");
	cmd = e->call.args[1];
	if (strace_ref(e, 0, &ref))
		return STRACE_BAD;
	if (!has_new_fd(e) || ref.fd < 0)
		return 0;
	if (strace_text_begins(cmd, "F_DUPFD"))
		fdtable_dup(e->r->fds, e->task->tid, ref.fd, (int)e->call.result,
			    strace_text_is(cmd, "F_DUPFD_CLOEXEC"));
	else if (strace_text_is(cmd, "F_SETFD"))
		fdtable_close_on_exec(e->r->fds, e->task->tid, ref.fd,
				      strace_text_has(e->call.all, "FD_CLOEXEC"));
	else if (strace_text_is(cmd, "F_SETFL") && ref.open)
		set_appends(ref.open, strace_text_has(e->call.all, "O_APPEND"));
	else if (strace_text_is(cmd, "F_GETFL") && ref.open)
		set_appends(ref.open, e->call.result & O_APPEND);
	return 0;
}

static int strace_apply_no_file(struct strace_event *e)
{
	if (has_new_fd(e))
		fdtable_open(e->r->fds, e->task->tid, (int)e->call.result, 0, false,
			     strace_text_has(e->call.all, "CLOEXEC"));
	return 0;
}

/* pipe and socketpair return two descriptors: "[3, 4]". */
static int strace_apply_pair(struct strace_event *e)
{
	bool closes = strace_text_has(e->call.all, "CLOEXEC");
	struct strace_text list, item;
	struct strace_fd_info info;
	int fd;

	if (e->call.result != 0 || !e->call.has_result || (size_t)e->row->arg >= e->call.arg_count)
		return 0;
	list = e->call.args[e->row->arg];
	while (strace_text_item(&list, &item))
		if (strace_fd(item, &fd, &info) && fd >= 0)
			fdtable_open(e->r->fds, e->task->tid, fd, 0, false, closes);
	return 0;
}

/* ---- stat ---- */

static uint64_t size_in_result(const struct strace_event *e)
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

static int strace_apply_stat(struct strace_event *e)
{
	struct strace_record rec = { .op = TRACE_STAT,
				     .off = TRACE_UNKNOWN,
				     .bytes = TRACE_UNKNOWN,
				     .result = e->call.result };
	struct strace_ref ref;
	int arg = e->row->arg, rc;

	if (!e->call.has_result)
		return 0;
	if (rec.result == 0)
		rec.bytes = size_in_result(e);
	/* fstat, or a call with an empty path, acts on the descriptor. */
	if (arg < 0 || (e->row->at >= 0 && (size_t)arg < e->call.arg_count &&
			(strace_text_is(e->call.args[arg], "\"\"") ||
			 strace_text_is(e->call.args[arg], "NULL")))) {
		if (strace_ref(e, e->row->at, &ref))
			return STRACE_BAD;
		if (!strace_ref_is_file(e, &ref))
			return 0;
		rec.file = ref.open->file;
		ref.open->end = rec.bytes;
		return strace_emit(e, &rec);
	}
	rc = strace_path(e, e->row->at, arg);
	if (rc)
		return rc == STRACE_BAD ? rc : 0;
	rec.file = strace_path_file(e);
	return strace_emit(e, &rec);
}

/* ---- other calls on paths ---- */

static int strace_apply_path(struct strace_event *e)
{
	struct strace_record rec = { .op = e->row->op,
				     .off = TRACE_UNKNOWN,
				     .result = e->call.result };
	int rc = strace_path(e, e->row->at, e->row->arg);

	if (rc || !e->call.has_result)
		return rc == STRACE_BAD ? rc : 0;
	rec.file = strace_path_file(e);
	return strace_emit(e, &rec);
}

static int strace_apply_unlink(struct strace_event *e)
{
	static const struct strace_row rmdir_at = { "unlinkat", NULL, 0, 1, 0, TRACE_RMDIR };

	if (strace_text_has(e->call.all, "AT_REMOVEDIR"))
		e->row = &rmdir_at;
	return strace_apply_path(e);
}

/* rename(a, b), or renameat(folder, a, folder, b). */
static int strace_apply_rename(struct strace_event *e)
{
	struct strace_record rec = { .op = TRACE_RENAME, .result = e->call.result };
	bool has_folders = e->row->at >= 0;
	int rc = strace_path(e, e->row->at, e->row->arg);

	if (rc || !e->call.has_result)
		return rc == STRACE_BAD ? rc : 0;
	rec.file = strace_path_file(e);
	rc = strace_path(e, has_folders ? 2 : -1, has_folders ? 3 : 1);
	if (rc)
		return rc == STRACE_BAD ? rc : 0;
	rec.off = strace_path_file(e);
	if (rec.result == 0)
		fdtable_rename(e->r->fds, rec.file, (uint32_t)rec.off);
	return strace_emit(e, &rec);
}

/* ---- the working directory ---- */

static void set_cwd(struct strace_event *e, const char *path)
{
	mem_replace(&e->task->process->cwd, *path == '/' ? path : NULL);
}

static int strace_apply_chdir(struct strace_event *e)
{
	int rc = strace_path(e, -1, 0);

	if (rc == 0 && e->call.has_result && e->call.result == 0)
		set_cwd(e, buf_str(&e->r->path));
	return rc == STRACE_BAD ? rc : 0;
}

static int strace_apply_fchdir(struct strace_event *e)
{
	int rc;

	if (!e->call.has_result || e->call.result != 0)
		return 0;
	rc = strace_folder(e, 0);
	if (rc == 0)
		set_cwd(e, buf_str(&e->r->path));
	return rc;
}

static int strace_apply_getcwd(struct strace_event *e)
{
	if (e->call.has_result && e->call.result > 0 && strace_path(e, -1, 0) == 0)
		set_cwd(e, buf_str(&e->r->path));
	return 0;
}

/* ---- reads and writes ---- */

/* Add a read or write at *off, or at the file position (NULL). */
static int add_transfer(struct strace_event *e, const struct strace_ref *ref, bool is_write,
			uint64_t bytes, const uint64_t *off)
{
	struct strace_record rec = { .op = is_write ? TRACE_WRITE : TRACE_READ,
				     .bytes = bytes,
				     .result = e->call.result,
				     .file = ref->open->file };

	rec.off = strace_transfer_offset(e, ref, is_write, off, rec.result, &rec.flags);
	return strace_emit(e, &rec);
}

static int strace_apply_transfer(struct strace_event *e)
{
	unsigned traits = e->row->traits;
	bool has_off = traits & STRACE_HAS_OFFSET;
	uint64_t bytes = TRACE_UNKNOWN, off = 0;
	struct strace_ref ref;

	if (strace_ref(e, 0, &ref))
		return STRACE_BAD;
	if (!e->call.has_result || !strace_ref_is_file(e, &ref))
		return 0;
	if (e->call.arg_count < 3)
		return strace_bad(e, "a call with too few arguments");
	if (traits & STRACE_VECTOR)
		bytes = strace_iovec_bytes(e->call.args[1]);
	else if (strace_arg(e, 2, &bytes))
		return STRACE_BAD;
	if (has_off && strace_arg(e, 3, &off))
		return STRACE_BAD;
	/* The offset -1 of preadv2 is the file position. */
	if (traits & STRACE_VECTOR && off > INT64_MAX)
		has_off = false;
	return add_transfer(e, &ref, traits & STRACE_WRITES, bytes, has_off ? &off : NULL);
}

/* Parse a pointer to an offset: "[5]", "[3] => [13]", or NULL, which gives *has = false. */
static bool parse_offset_pointer(struct strace_text t, uint64_t *off, bool *has)
{
	int64_t v;

	*has = t.n && *t.s == '[';
	if (!*has)
		return true;
	t.s++;
	t.n--;
	if (!strace_text_number(t, &v))
		return false;
	*off = (uint64_t)v;
	return true;
}

/* Apply one side of a copy in the kernel. `off_arg` -1 = none. */
static int copy_side(struct strace_event *e, int fd_arg, int off_arg, uint64_t bytes, bool is_write)
{
	struct strace_ref ref;
	uint64_t off;
	bool has_off = false;

	if (strace_ref(e, fd_arg, &ref))
		return STRACE_BAD;
	if (off_arg >= 0 && !parse_offset_pointer(e->call.args[off_arg], &off, &has_off))
		return strace_bad(e, "an offset is not a number");
	if (!strace_ref_is_file(e, &ref))
		return 0;
	return add_transfer(e, &ref, is_write, bytes, has_off ? &off : NULL);
}

/* The arguments of copy_file_range and splice are in, offset, out, offset, length. */
static int strace_apply_copy(struct strace_event *e)
{
	uint64_t bytes;
	int rc = strace_arg(e, 4, &bytes);

	if (rc || !e->call.has_result)
		return rc;
	rc = copy_side(e, 0, 1, bytes, false);
	return rc ? rc : copy_side(e, 2, 3, bytes, true);
}

/* The arguments are out, in, offset, length. */
static int strace_apply_sendfile(struct strace_event *e)
{
	uint64_t bytes;
	int rc = strace_arg(e, 3, &bytes);

	if (rc || !e->call.has_result)
		return rc;
	rc = copy_side(e, 1, 2, bytes, false);
	return rc ? rc : copy_side(e, 0, -1, bytes, true);
}

/* ---- positions ---- */

static int apply_seek_to(struct strace_event *e, int64_t to)
{
	struct strace_ref ref;

	if (strace_ref(e, 0, &ref))
		return STRACE_BAD;
	if (e->call.has_result && ref.open && to >= 0 && e->call.result >= 0)
		fd_open_seek(ref.open, e->task->tid, e->end_ns, (uint64_t)to);
	if (e->call.has_result && ref.open && to >= 0 && e->call.arg_count > 2 &&
	    strace_text_is(e->call.args[1], "0") && strace_text_is(e->call.args[2], "SEEK_END"))
		ref.open->end = (uint64_t)to;
	return 0;
}

static int strace_apply_seek(struct strace_event *e)
{
	return apply_seek_to(e, e->call.result);
}

/* The lseek of 32-bit hosts; its third argument points to the new position. */
static int strace_apply_llseek(struct strace_event *e)
{
	uint64_t to;
	bool has_to;

	if (e->call.arg_count < 3 || !parse_offset_pointer(e->call.args[2], &to, &has_to))
		return strace_bad(e, "a seek without its result");
	return has_to ? apply_seek_to(e, (int64_t)to) : 0;
}

/* ---- calls on a whole file, or a range ---- */

/* Add the record of a call on the descriptor in the first argument. */
static int add_fd_record(struct strace_event *e, struct strace_record *rec, struct strace_ref *ref)
{
	rec->op = e->row->op;
	rec->result = e->call.result;
	if (strace_ref(e, 0, ref))
		return STRACE_BAD;
	if (!e->call.has_result || !strace_ref_is_file(e, ref))
		return 0;
	rec->file = ref->open->file;
	return strace_emit(e, rec);
}

/* row->at is the argument with the offset, row->arg that with the length; -1 = none. */
static int strace_apply_range(struct strace_event *e)
{
	struct strace_record rec = { .off = TRACE_UNKNOWN };
	struct strace_ref ref;

	if ((e->row->at >= 0 && strace_arg(e, (size_t)e->row->at, &rec.off)) ||
	    (e->row->arg >= 0 && strace_arg(e, (size_t)e->row->arg, &rec.bytes)))
		return STRACE_BAD;
	return add_fd_record(e, &rec, &ref);
}

static int strace_apply_ftruncate(struct strace_event *e)
{
	struct strace_record rec = { 0 };
	struct strace_ref ref;
	int rc;

	if (strace_arg(e, 1, &rec.bytes))
		return STRACE_BAD;
	rc = add_fd_record(e, &rec, &ref);
	if (rc == 0 && rec.file && rec.result == 0)
		ref.open->end = rec.bytes;
	return rc;
}

static int strace_apply_truncate(struct strace_event *e)
{
	struct strace_record rec = { .op = TRACE_ALLOCATE, .result = e->call.result };
	int rc = strace_path(e, -1, 0);

	if (rc || !e->call.has_result)
		return rc == STRACE_BAD ? rc : 0;
	if (strace_arg(e, 1, &rec.bytes))
		return STRACE_BAD;
	rec.file = strace_path_file(e);
	return strace_emit(e, &rec);
}

/* ---- mappings ---- */

static int strace_apply_mmap(struct strace_event *e)
{
	struct strace_record rec = { .op = TRACE_MMAP, .result = e->call.result };
	struct strace_process *p = e->task->process;
	struct strace_ref ref;

	if (e->call.arg_count < 6 || !e->call.has_result)
		return e->call.has_result ? strace_bad(e, "a call with too few arguments") : 0;
	if (strace_arg(e, 1, &rec.bytes) || strace_arg(e, 5, &rec.off) || strace_ref(e, 4, &ref))
		return STRACE_BAD;
	if (strace_text_has(e->call.args[3], "MAP_ANONYMOUS"))
		ref.fd = -1;
	if (ref.fd >= 0 && strace_ref_is_file(e, &ref))
		rec.file = ref.open->file;
	/* Test `failed`, since an address may look negative. */
	if (!e->call.failed)
		strace_process_map(p, (uint64_t)rec.result, round_up(rec.bytes, 4096), rec.file);
	return rec.file ? strace_emit(e, &rec) : 0;
}

static int strace_apply_munmap(struct strace_event *e)
{
	struct strace_process *p = e->task->process;
	struct strace_record rec = { .op = TRACE_MUNMAP, .result = e->call.result };

	if (strace_arg(e, 0, &rec.off) || strace_arg(e, 1, &rec.bytes))
		return STRACE_BAD;
	rec.file = strace_process_mapped(p, rec.off, rec.bytes);
	if (!rec.file || !e->call.has_result)
		return 0;
	if (rec.result == 0)
		strace_process_map(p, rec.off, round_up(rec.bytes, 4096), 0);
	return strace_emit(e, &rec);
}

static int strace_apply_mremap(struct strace_event *e)
{
	struct strace_process *p = e->task->process;
	uint64_t at, bytes, now_bytes;
	uint32_t file;

	if (strace_arg(e, 0, &at) || strace_arg(e, 1, &bytes) || strace_arg(e, 2, &now_bytes))
		return STRACE_BAD;
	if (!e->call.has_result || e->call.failed)
		return 0;
	file = strace_process_mapped(p, at, bytes);
	strace_process_map(p, at, round_up(bytes, 4096), 0);
	strace_process_map(p, (uint64_t)e->call.result, round_up(now_bytes, 4096), file);
	return 0;
}

/* madvise and msync are I/O only on the mapping of a file. */
static int strace_apply_madvise(struct strace_event *e)
{
	struct strace_record rec = { .op = e->row->op,
				     .off = TRACE_UNKNOWN,
				     .result = e->call.result };
	uint64_t at;

	if (strace_arg(e, 0, &at) || strace_arg(e, 1, &rec.bytes))
		return STRACE_BAD;
	rec.file = strace_process_mapped(e->task->process, at, rec.bytes);
	return rec.file && e->call.has_result ? strace_emit(e, &rec) : 0;
}

/* ---- the calls by name ---- */

#define NONE (-1)

/* clang-format off */
static const struct strace_row rows[] = {
	{ "open", strace_apply_open, NONE, 0, 0, TRACE_OPEN },
	{ "creat", strace_apply_open, NONE, 0, 0, TRACE_OPEN },
	{ "openat", strace_apply_open, 0, 1, 0, TRACE_OPEN },
	{ "openat2", strace_apply_open, 0, 1, 0, TRACE_OPEN },
	{ "close", strace_apply_close, NONE, 0, STRACE_CLOSES, TRACE_CLOSE },
	{ "close_range", strace_apply_close_range, NONE, 0, 0, 0 },
	{ "dup", strace_apply_dup, NONE, 0, 0, 0 },
	{ "dup2", strace_apply_dup, NONE, 0, 0, 0 },
	{ "dup3", strace_apply_dup, NONE, 0, 0, 0 },
	{ "fcntl", strace_apply_fcntl, NONE, 0, 0, 0 },
	{ "fcntl64", strace_apply_fcntl, NONE, 0, 0, 0 },

	{ "stat", strace_apply_stat, NONE, 0, 0, TRACE_STAT },
	{ "stat64", strace_apply_stat, NONE, 0, 0, TRACE_STAT },
	{ "lstat", strace_apply_stat, NONE, 0, 0, TRACE_STAT },
	{ "lstat64", strace_apply_stat, NONE, 0, 0, TRACE_STAT },
	{ "fstat", strace_apply_stat, 0, NONE, 0, TRACE_STAT },
	{ "fstat64", strace_apply_stat, 0, NONE, 0, TRACE_STAT },
	{ "newfstatat", strace_apply_stat, 0, 1, 0, TRACE_STAT },
	{ "fstatat64", strace_apply_stat, 0, 1, 0, TRACE_STAT },
	{ "statx", strace_apply_stat, 0, 1, 0, TRACE_STAT },

	{ "read", strace_apply_transfer, NONE, 0, STRACE_MOVES_POSITION, TRACE_READ },
	{ "pread64", strace_apply_transfer, NONE, 0, STRACE_HAS_OFFSET, TRACE_READ },
	{ "pread", strace_apply_transfer, NONE, 0, STRACE_HAS_OFFSET, TRACE_READ },
	{ "readv", strace_apply_transfer, NONE, 0, STRACE_MOVES_POSITION | STRACE_VECTOR, TRACE_READ },
	{ "preadv", strace_apply_transfer, NONE, 0, STRACE_HAS_OFFSET | STRACE_VECTOR, TRACE_READ },
	{ "preadv2", strace_apply_transfer, NONE, 0, STRACE_HAS_OFFSET | STRACE_VECTOR, TRACE_READ },
	{ "write", strace_apply_transfer, NONE, 0, STRACE_MOVES_POSITION | STRACE_WRITES, TRACE_WRITE },
	{ "pwrite64", strace_apply_transfer, NONE, 0, STRACE_HAS_OFFSET | STRACE_WRITES, TRACE_WRITE },
	{ "pwrite", strace_apply_transfer, NONE, 0, STRACE_HAS_OFFSET | STRACE_WRITES, TRACE_WRITE },
	{ "writev", strace_apply_transfer, NONE, 0, STRACE_MOVES_POSITION | STRACE_VECTOR | STRACE_WRITES, TRACE_WRITE },
	{ "pwritev", strace_apply_transfer, NONE, 0, STRACE_HAS_OFFSET | STRACE_VECTOR | STRACE_WRITES, TRACE_WRITE },
	{ "pwritev2", strace_apply_transfer, NONE, 0, STRACE_HAS_OFFSET | STRACE_VECTOR | STRACE_WRITES, TRACE_WRITE },
	{ "lseek", strace_apply_seek, NONE, 0, STRACE_MOVES_POSITION, 0 },
	{ "_llseek", strace_apply_llseek, NONE, 0, STRACE_MOVES_POSITION, 0 },
	{ "sendfile", strace_apply_sendfile, NONE, 1, STRACE_MOVES_POSITION, 0 },
	{ "sendfile64", strace_apply_sendfile, NONE, 1, STRACE_MOVES_POSITION, 0 },
	{ "copy_file_range", strace_apply_copy, NONE, 0, STRACE_MOVES_POSITION, 0 },
	{ "splice", strace_apply_copy, NONE, 0, STRACE_MOVES_POSITION, 0 },

	{ "fsync", strace_apply_range, NONE, NONE, 0, TRACE_FSYNC },
	{ "fdatasync", strace_apply_range, NONE, NONE, 0, TRACE_FDATASYNC },
	{ "sync_file_range", strace_apply_range, 1, 2, 0, TRACE_FDATASYNC },
	{ "fallocate", strace_apply_range, 2, 3, 0, TRACE_ALLOCATE },
	{ "fadvise64", strace_apply_range, 1, 2, 0, TRACE_ADVISE },
	{ "fadvise64_64", strace_apply_range, 1, 2, 0, TRACE_ADVISE },
	{ "readahead", strace_apply_range, 1, 2, 0, TRACE_ADVISE },
	{ "truncate", strace_apply_truncate, NONE, 0, 0, TRACE_ALLOCATE },
	{ "truncate64", strace_apply_truncate, NONE, 0, 0, TRACE_ALLOCATE },
	{ "ftruncate", strace_apply_ftruncate, NONE, 0, 0, TRACE_ALLOCATE },
	{ "ftruncate64", strace_apply_ftruncate, NONE, 0, 0, TRACE_ALLOCATE },
	{ "getdents", strace_apply_range, NONE, 2, 0, TRACE_GETDENTS },
	{ "getdents64", strace_apply_range, NONE, 2, 0, TRACE_GETDENTS },

	{ "rename", strace_apply_rename, NONE, 0, 0, TRACE_RENAME },
	{ "renameat", strace_apply_rename, 0, 1, 0, TRACE_RENAME },
	{ "renameat2", strace_apply_rename, 0, 1, 0, TRACE_RENAME },
	{ "unlink", strace_apply_path, NONE, 0, 0, TRACE_UNLINK },
	{ "unlinkat", strace_apply_unlink, 0, 1, 0, TRACE_UNLINK },
	{ "mkdir", strace_apply_path, NONE, 0, 0, TRACE_MKDIR },
	{ "mkdirat", strace_apply_path, 0, 1, 0, TRACE_MKDIR },
	{ "rmdir", strace_apply_path, NONE, 0, 0, TRACE_RMDIR },
	{ "chdir", strace_apply_chdir, NONE, 0, 0, 0 },
	{ "fchdir", strace_apply_fchdir, NONE, 0, 0, 0 },
	{ "getcwd", strace_apply_getcwd, NONE, 0, 0, 0 },

	{ "mmap", strace_apply_mmap, NONE, 4, 0, TRACE_MMAP },
	{ "mmap2", strace_apply_mmap, NONE, 4, 0, TRACE_MMAP },
	{ "munmap", strace_apply_munmap, NONE, NONE, 0, TRACE_MUNMAP },
	{ "mremap", strace_apply_mremap, NONE, NONE, 0, 0 },
	{ "madvise", strace_apply_madvise, NONE, NONE, 0, TRACE_ADVISE },
	{ "msync", strace_apply_madvise, NONE, NONE, 0, TRACE_FSYNC },

	{ "fork", strace_apply_fork, NONE, NONE, STRACE_FORKS, 0 },
	{ "vfork", strace_apply_fork, NONE, NONE, STRACE_FORKS, 0 },
	{ "clone", strace_apply_fork, NONE, NONE, STRACE_FORKS, 0 },
	{ "clone2", strace_apply_fork, NONE, NONE, STRACE_FORKS, 0 },
	{ "clone3", strace_apply_fork, NONE, NONE, STRACE_FORKS, 0 },
	{ "execve", strace_apply_exec, NONE, 0, 0, TRACE_EXEC },
	{ "execveat", strace_apply_exec, 0, 1, 0, TRACE_EXEC },
	{ "unshare", strace_apply_unshare, NONE, NONE, 0, 0 },
	{ "getpid", strace_apply_own_pid, NONE, NONE, 0, 0 },
	{ "gettid", strace_apply_own_pid, NONE, NONE, 0, 0 },
	{ "set_tid_address", strace_apply_own_pid, NONE, NONE, 0, 0 },

	{ "io_submit", strace_apply_submit, NONE, NONE, 0, 0 },
	{ "io_getevents", strace_apply_events, NONE, NONE, 0, 0 },
	{ "io_pgetevents", strace_apply_events, NONE, NONE, 0, 0 },
	{ "io_uring_setup", strace_apply_no_file, NONE, NONE, 0, 0 },
	{ "io_uring_enter", strace_apply_ring, NONE, NONE, 0, 0 },

	{ "pipe", strace_apply_pair, NONE, 0, 0, 0 },
	{ "pipe2", strace_apply_pair, NONE, 0, 0, 0 },
	{ "socketpair", strace_apply_pair, NONE, 3, 0, 0 },
};
/* clang-format on */

/* Calls that return a descriptor without a file on storage. */
static const char no_file_calls[] =
	"socket accept accept4 eventfd eventfd2 epoll_create epoll_create1 timerfd_create signalfd "
	"signalfd4 inotify_init inotify_init1 memfd_create memfd_secret userfaultfd "
	"perf_event_open fanotify_init pidfd_open pidfd_getfd mq_open fsopen fspick fsmount "
	"open_tree landlock_create_ruleset";

/* Calls without I/O, or without a place in a trace. */
static const char ignored_calls[] =
	"_newselect _sysctl access acct add_key adjtimex alarm arch_prctl bind bpf brk cachestat "
	"capget capset clock_adjtime clock_getres clock_gettime clock_nanosleep clock_settime "
	"connect delete_module epoll_ctl epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait "
	"epoll_wait_old exit exit_group faccessat faccessat2 fanotify_mark fgetxattr flistxattr "
	"flock fsconfig fstatfs fstatfs64 futex futex_requeue futex_wait futex_waitv futex_wake "
	"get_kernel_syms get_mempolicy get_robust_list get_thread_area getcpu getegid getegid32 "
	"geteuid geteuid32 getgid getgid32 getgroups getgroups32 getitimer getpeername getpgid "
	"getpgrp getpmsg getppid getpriority getrandom getresgid getresgid32 getresuid getresuid32 "
	"getrlimit getrusage getsid getsockname getsockopt gettimeofday getuid getuid32 getxattr "
	"idle init_module inotify_add_watch inotify_rm_watch io_cancel io_destroy io_setup "
	"io_uring_register ioctl ioperm iopl ioprio_get ioprio_set ipc kcmp kexec_file_load "
	"kexec_load keyctl kill landlock_add_rule landlock_restrict_self lgetxattr listen "
	"listxattr llistxattr lookup_dcookie lsm_get_self_attr map_shadow_stack mbind membarrier "
	"migrate_pages mincore mlock mlock2 mlockall modify_ldt mount mount_setattr move_mount "
	"move_pages mprotect mq_getsetattr mq_notify mq_timedreceive mq_timedsend mq_unlink mseal "
	"msgctl msgget msgrcv msgsnd munlock munlockall name_to_handle_at nanosleep nice oldfstat "
	"oldlstat oldstat pause personality pidfd_send_signal pivot_root pkey_alloc pkey_free "
	"pkey_mprotect poll ppoll prctl prlimit64 process_madvise process_mrelease "
	"process_vm_readv process_vm_writev pselect6 ptrace quotactl quotactl_fd readlink "
	"readlinkat reboot recv recvfrom recvmmsg recvmsg remap_file_pages request_key "
	"restart_syscall rseq rt_sigaction rt_sigpending rt_sigprocmask rt_sigqueueinfo "
	"rt_sigreturn rt_sigsuspend rt_sigtimedwait rt_tgsigqueueinfo sched_get_priority_max "
	"sched_get_priority_min sched_getaffinity sched_getattr sched_getparam sched_getscheduler "
	"sched_rr_get_interval sched_setaffinity sched_setattr sched_setparam sched_setscheduler "
	"sched_yield select semctl semget seccomp semop semtimedop send sendmmsg sendmsg sendto "
	"set_mempolicy set_mempolicy_home_node set_robust_list set_thread_area setdomainname "
	"setfsgid setfsgid32 setfsuid setfsuid32 setgid setgid32 setgroups setgroups32 sethostname "
	"setitimer setns setpgid setpriority setregid setregid32 setresgid setresgid32 setresuid "
	"setresuid32 setreuid setreuid32 setrlimit setsid setsockopt settimeofday setuid setuid32 "
	"sgetmask shmat shmctl shmdt shmget shutdown sigaction sigaltstack signal sigpending "
	"sigprocmask sigreturn sigsuspend socketcall ssetmask statfs statfs64 stime swapoff swapon "
	"sysfs sysinfo syslog tee tgkill time timer_create timer_delete timer_getoverrun "
	"timer_gettime timer_settime timerfd_gettime timerfd_settime times tkill ugetrlimit ulimit "
	"umask umount umount2 uname uselib ustat vhangup vmsplice wait4 waitid waitpid "
	"clock_getres_time64 clock_gettime64 clock_nanosleep_time64 futex_time64 ppoll_time64 "
	"pselect6_time64 rt_sigtimedwait_time64 ???";

static const struct strace_row no_file_row = { "", strace_apply_no_file, NONE, NONE, 0, 0 };
static const struct strace_row ignored_row = { "", NULL, NONE, NONE, 0, 0 };

enum { VALUE_NO_FILE = -1, VALUE_IGNORED = -2 };

struct value {
	const char *name;
	int64_t value;
};

#define W(name)                                                                                    \
	{                                                                                          \
#name, name                                                                        \
	}
/* clang-format off */
static const struct value values[] = {
	W(O_RDONLY), W(O_WRONLY), W(O_RDWR), W(O_ACCMODE), W(O_CREAT),
	W(O_EXCL), W(O_NOCTTY), W(O_TRUNC), W(O_APPEND), W(O_NONBLOCK),
	W(O_DSYNC), W(O_SYNC), W(O_DIRECT), W(O_DIRECTORY), W(O_NOFOLLOW),
	W(O_NOATIME), W(O_CLOEXEC), W(O_PATH), W(O_TMPFILE),
	{ "O_LARGEFILE", 0100000 }, { "FASYNC", O_ASYNC },
	{ "CLONE_FILES", (int64_t)STRACE_CLONE_FILES },
	{ "CLONE_THREAD", (int64_t)STRACE_CLONE_THREAD },

	W(EPERM), W(ENOENT), W(ESRCH), W(EINTR), W(EIO), W(ENXIO), W(E2BIG),
	W(ENOEXEC), W(EBADF), W(ECHILD), W(EAGAIN), W(ENOMEM), W(EACCES),
	W(EFAULT), W(ENOTBLK), W(EBUSY), W(EEXIST), W(EXDEV), W(ENODEV),
	W(ENOTDIR), W(EISDIR), W(EINVAL), W(ENFILE), W(EMFILE), W(ENOTTY),
	W(ETXTBSY), W(EFBIG), W(ENOSPC), W(ESPIPE), W(EROFS), W(EMLINK),
	W(EPIPE), W(EDOM), W(ERANGE), W(EDEADLK), W(ENAMETOOLONG), W(ENOLCK),
	W(ENOSYS), W(ENOTEMPTY), W(ELOOP), W(EWOULDBLOCK), W(ENOMSG),
	W(EIDRM), W(ENOSTR), W(ENODATA), W(ETIME), W(ENOSR), W(ENONET),
	W(ENOLINK), W(ECOMM), W(EPROTO), W(EBADMSG), W(EOVERFLOW),
	W(ENOTUNIQ), W(EBADFD), W(EREMCHG), W(EILSEQ), W(ERESTART),
	W(EUSERS), W(ENOTSOCK), W(EDESTADDRREQ), W(EMSGSIZE), W(EPROTOTYPE),
	W(ENOPROTOOPT), W(EPROTONOSUPPORT), W(ESOCKTNOSUPPORT),
	W(EOPNOTSUPP), W(ENOTSUP), W(EPFNOSUPPORT), W(EAFNOSUPPORT),
	W(EADDRINUSE), W(EADDRNOTAVAIL), W(ENETDOWN), W(ENETUNREACH),
	W(ENETRESET), W(ECONNABORTED), W(ECONNRESET), W(ENOBUFS), W(EISCONN),
	W(ENOTCONN), W(ESHUTDOWN), W(ETOOMANYREFS), W(ETIMEDOUT),
	W(ECONNREFUSED), W(EHOSTDOWN), W(EHOSTUNREACH), W(EALREADY),
	W(EINPROGRESS), W(ESTALE), W(EUCLEAN), W(EREMOTEIO), W(EDQUOT),
	W(ENOMEDIUM), W(EMEDIUMTYPE), W(ECANCELED), W(ENOKEY),
	W(EKEYEXPIRED), W(EKEYREVOKED), W(EKEYREJECTED), W(EOWNERDEAD),
	W(ENOTRECOVERABLE), W(ERFKILL), W(EHWPOISON),
	/* Internal to the kernel (include/linux/errno.h). */
	{ "ERESTARTSYS", 512 }, { "ERESTARTNOINTR", 513 },
	{ "ERESTARTNOHAND", 514 }, { "ENOIOCTLCMD", 515 },
	{ "ERESTART_RESTARTBLOCK", 516 }, { "ENOTSUPP", 524 },

	W(SIGHUP), W(SIGINT), W(SIGQUIT), W(SIGILL), W(SIGTRAP), W(SIGABRT),
	W(SIGBUS), W(SIGFPE), W(SIGKILL), W(SIGUSR1), W(SIGSEGV), W(SIGUSR2),
	W(SIGPIPE), W(SIGALRM), W(SIGTERM), W(SIGXCPU), W(SIGXFSZ),
	W(SIGVTALRM), W(SIGPROF), W(SIGIO), W(SIGPWR), W(SIGSYS),
};
/* clang-format on */

static void add_list(struct strace_words *w, const char *list, int64_t value)
{
	for (size_t n; *list; list += n) {
		list += strspn(list, " ");
		n = strcspn(list, " ");
		strace_words_add(w, list, n, value);
	}
}

void strace_tables_fill(struct strace_words *calls, struct strace_words *words)
{
	add_list(calls, ignored_calls, VALUE_IGNORED);
	add_list(calls, no_file_calls, VALUE_NO_FILE);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		strace_words_add(calls, rows[i].name, strlen(rows[i].name), (int64_t)i);
	for (size_t i = 0; i < ARRAY_LEN(values); i++)
		strace_words_add(words, values[i].name, strlen(values[i].name), values[i].value);
}

const struct strace_row *strace_row_of(const struct strace_reader *r, struct strace_text name)
{
	const struct strace_word *word = strace_words_find(&r->rows, name);

	if (!word)
		return NULL;
	return word->value == VALUE_IGNORED   ? &ignored_row
	       : word->value == VALUE_NO_FILE ? &no_file_row
					      : &rows[word->value];
}
