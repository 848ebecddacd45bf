/* SPDX-License-Identifier: Apache-2.0 */
/* strace_io.c - calls of strace on descriptors: reads, writes, positions, mappings. */
#include "import/trace/strace_inside.h"

#include "base/util.h"

static bool writes(const struct strace_event *e)
{
	return e->row->traits & STRACE_WRITES;
}

/* ---- reads and writes ---- */

/* `off` NULL = its own position. */
static int move(struct strace_event *e, const struct strace_ref *ref, bool is_write, uint64_t bytes,
		const uint64_t *off)
{
	struct strace_what what = { .op = is_write ? TRACE_WRITE : TRACE_READ,
				    .bytes = bytes,
				    .result = e->call.result,
				    .file = ref->open->file };

	what.off = strace_move(e, ref, is_write, off, what.result, &what.flags);
	return strace_emit(e, &what);
}

int strace_take_move(struct strace_event *e)
{
	uint64_t bytes, off;
	struct strace_ref ref;
	bool has_off = e->row->traits & STRACE_AT;

	if (strace_ref(e, 0, &ref))
		return STRACE_BAD;
	if (!e->call.has_result || !strace_ref_is_file(e, &ref))
		return 0;
	if (strace_arg(e, 2, &bytes) || (has_off && strace_arg(e, 3, &off)))
		return STRACE_BAD;
	return move(e, &ref, writes(e), bytes, has_off ? &off : NULL);
}

/* A list that strace cut ends in "...", and is longer. */
static uint64_t vector_bytes(struct strace_text list)
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

int strace_take_vector(struct strace_event *e)
{
	bool has_off = e->row->traits & STRACE_AT;
	uint64_t off = 0;
	struct strace_ref ref;

	if (strace_ref(e, 0, &ref))
		return STRACE_BAD;
	if (!e->call.has_result || !strace_ref_is_file(e, &ref))
		return 0;
	if (e->call.arg_count < 3)
		return strace_bad(e, "a call with too few arguments");
	if (has_off && strace_arg(e, 3, &off))
		return STRACE_BAD;
	/* preadv2: -1 is the position of the file. */
	return move(e, &ref, writes(e), vector_bytes(e->call.args[1]),
		    has_off && off <= INT64_MAX ? &off : NULL);
}

/* Of an offset in memory: "[5]", "[3] => [13]", or NULL: *has = false. */
static bool pointed(struct strace_text t, uint64_t *off, bool *has)
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

/* One side of a copy in the kernel. */
static int copy_side(struct strace_event *e, int fd_arg, int off_arg, uint64_t bytes, bool is_write)
{
	struct strace_ref ref;
	uint64_t off;
	bool has_off = false;

	if (strace_ref(e, fd_arg, &ref))
		return STRACE_BAD;
	if (off_arg >= 0 && !pointed(e->call.args[off_arg], &off, &has_off))
		return strace_bad(e, "an offset is no number");
	if (!strace_ref_is_file(e, &ref))
		return 0;
	return move(e, &ref, is_write, bytes, has_off ? &off : NULL);
}

/* copy_file_range and splice: in, offset, out, offset, length. */
int strace_take_copy(struct strace_event *e)
{
	uint64_t bytes;
	int rc = strace_arg(e, 4, &bytes);

	if (rc || !e->call.has_result)
		return rc;
	rc = copy_side(e, 0, 1, bytes, false);
	return rc ? rc : copy_side(e, 2, 3, bytes, true);
}

/* out, in, offset, length */
int strace_take_sendfile(struct strace_event *e)
{
	uint64_t bytes;
	int rc = strace_arg(e, 3, &bytes);

	if (rc || !e->call.has_result)
		return rc;
	rc = copy_side(e, 1, 2, bytes, false);
	return rc ? rc : copy_side(e, 0, -1, bytes, true);
}

/* ---- positions ---- */

static int strace_io_seek(struct strace_event *e, int64_t to)
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

int strace_take_seek(struct strace_event *e)
{
	return strace_io_seek(e, e->call.result);
}

/* Of 32 bits: the result is the third argument. */
int strace_take_llseek(struct strace_event *e)
{
	uint64_t to;
	bool has_to;

	if (e->call.arg_count < 3 || !pointed(e->call.args[2], &to, &has_to))
		return strace_bad(e, "a seek without its result");
	return has_to ? strace_io_seek(e, (int64_t)to) : 0;
}

/* ---- calls on a whole file, or a range ---- */

static int on_file(struct strace_event *e, int arg, struct strace_what *what,
		   struct strace_ref *ref)
{
	what->op = e->row->op;
	what->result = e->call.result;
	if (strace_ref(e, arg, ref))
		return STRACE_BAD;
	if (!e->call.has_result || !strace_ref_is_file(e, ref))
		return 0;
	what->file = ref->open->file;
	return strace_emit(e, what);
}

int strace_take_sync(struct strace_event *e)
{
	struct strace_what what = { .off = TRACE_UNKNOWN };
	struct strace_ref ref;

	return on_file(e, 0, &what, &ref);
}

/* `at` is the argument with the offset, the length stands behind it. */
int strace_take_range(struct strace_event *e)
{
	struct strace_what what = { 0 };
	struct strace_ref ref;

	if (strace_arg(e, (size_t)e->row->at, &what.off) ||
	    strace_arg(e, (size_t)e->row->at + 1, &what.bytes))
		return STRACE_BAD;
	return on_file(e, 0, &what, &ref);
}

/* The file is its bytes from 0 to there from now on. */
int strace_take_ftruncate(struct strace_event *e)
{
	struct strace_what what = { 0 };
	struct strace_ref ref;
	int rc;

	if (strace_arg(e, 1, &what.bytes))
		return STRACE_BAD;
	rc = on_file(e, 0, &what, &ref);
	if (rc == 0 && what.file && what.result == 0)
		ref.open->end = what.bytes;
	return rc;
}

int strace_take_truncate(struct strace_event *e)
{
	struct strace_what what = { .op = TRACE_ALLOCATE, .result = e->call.result };
	int rc = strace_path(e, -1, 0);

	if (rc || !e->call.has_result)
		return rc == STRACE_BAD ? rc : 0;
	if (strace_arg(e, 1, &what.bytes))
		return STRACE_BAD;
	what.file = strace_path_file(e);
	return strace_emit(e, &what);
}

int strace_take_getdents(struct strace_event *e)
{
	struct strace_what what = { .off = TRACE_UNKNOWN };
	struct strace_ref ref;

	if (strace_arg(e, 2, &what.bytes))
		return STRACE_BAD;
	return on_file(e, 0, &what, &ref);
}

/* ---- mappings ---- */

int strace_take_mmap(struct strace_event *e)
{
	struct strace_what what = { .op = TRACE_MMAP, .result = e->call.result };
	struct strace_process *p = e->task->process;
	struct strace_ref ref;
	bool is_there;

	if (e->call.arg_count < 6 || !e->call.has_result)
		return e->call.has_result ? strace_bad(e, "a call with too few arguments") : 0;
	/* An address may look negative; errors are few. */
	is_there = !e->call.failed;
	if (strace_arg(e, 1, &what.bytes) || strace_arg(e, 5, &what.off) || strace_ref(e, 4, &ref))
		return STRACE_BAD;
	if (strace_text_has(e->call.args[3], "MAP_ANONYMOUS"))
		ref.fd = -1;
	if (ref.fd >= 0 && strace_ref_is_file(e, &ref))
		what.file = ref.open->file;
	if (is_there)
		strace_process_map(p, (uint64_t)what.result, round_up(what.bytes, 4096), what.file);
	return what.file ? strace_emit(e, &what) : 0;
}

int strace_take_munmap(struct strace_event *e)
{
	struct strace_process *p = e->task->process;
	struct strace_what what = { .op = TRACE_MUNMAP, .result = e->call.result };

	if (strace_arg(e, 0, &what.off) || strace_arg(e, 1, &what.bytes))
		return STRACE_BAD;
	what.file = strace_process_mapped(p, what.off, what.bytes);
	if (!what.file || !e->call.has_result)
		return 0;
	if (what.result == 0)
		strace_process_map(p, what.off, round_up(what.bytes, 4096), 0);
	return strace_emit(e, &what);
}

int strace_take_mremap(struct strace_event *e)
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

/* Of memory that is no file's they are no I/O. */
int strace_take_madvise(struct strace_event *e)
{
	struct strace_what what = { .op = e->row->op,
				    .off = TRACE_UNKNOWN,
				    .result = e->call.result };
	uint64_t at;

	if (strace_arg(e, 0, &at) || strace_arg(e, 1, &what.bytes))
		return STRACE_BAD;
	what.file = strace_process_mapped(e->task->process, at, what.bytes);
	return what.file && e->call.has_result ? strace_emit(e, &what) : 0;
}
