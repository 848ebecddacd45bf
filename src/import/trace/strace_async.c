/* SPDX-License-Identifier: Apache-2.0 */
/* strace_async.c - requests that strace shows where they are submitted, and perhaps where they end:
 * libaio. */
#include "import/trace/strace_inside.h"

#include "base/mem.h"

/* ---- what is under way ---- */

static int aio_put(struct strace_reader *r, struct strace_aio *a, uint64_t duration_ns,
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
	return strace_put(r, &record, err);
}

/* Taken to have done what it was asked for. */
static int give_up(struct strace_reader *r, struct strace_aio *a, struct mlgen_err *err)
{
	bool moves = a->op == TRACE_READ || a->op == TRACE_WRITE;

	if (a->op == TRACE_NONE)
		return 0;
	r->aio_lost++;
	return aio_put(r, a, TRACE_UNKNOWN,
		       moves && a->bytes != TRACE_UNKNOWN ? (int64_t)a->bytes : 0, err);
}

int strace_aio_flush(struct strace_reader *r, struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; r->aio && i < STRACE_AIO && rc == 0; i++)
		rc = give_up(r, &r->aio[(r->aio_at + i) % STRACE_AIO], err);
	return rc;
}

/* ---- submission ---- */

static uint16_t op_of(struct strace_text code)
{
	if (strace_text_begins(code, "IOCB_CMD_PREAD"))
		return TRACE_READ;
	if (strace_text_begins(code, "IOCB_CMD_PWRITE"))
		return TRACE_WRITE;
	if (strace_text_begins(code, "IOCB_CMD_FSYNC"))
		return TRACE_FSYNC;
	return strace_text_begins(code, "IOCB_CMD_FDSYNC") ? TRACE_FDATASYNC : TRACE_NONE;
}

/* Of a list of parts aio_nbytes is their number. */
static uint64_t bytes_of(struct strace_text request, struct strace_text code)
{
	struct strace_text list, item;
	int64_t bytes = -1;
	uint64_t sum = 0;

	if (code.s[code.n - 1] != 'V') {
		strace_text_member_number(request, "aio_nbytes", &bytes);
		return (uint64_t)bytes;
	}
	if (!strace_text_member(request, "aio_buf", &list) || *list.s != '[')
		return TRACE_UNKNOWN;
	while (strace_text_item(&list, &item)) {
		if (!strace_text_member_number(item, "iov_len", &bytes))
			return TRACE_UNKNOWN;
		sum += (uint64_t)bytes;
	}
	return sum;
}

/* 0, also of what is left out; STRACE_BAD, or -errno. */
static int strace_async_submit(struct strace_event *e, struct strace_text request, uint64_t context)
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
	if (rc || op_of(code) == TRACE_NONE || !strace_ref_is_file(e, &ref))
		return rc;
	rc = give_up(e->r, a, e->err);
	strace_text_member_number(request, "aio_data", &data);
	strace_text_member_number(request, "aio_offset", &off);
	*a = (struct strace_aio){ .pid = e->task->process->pid,
				  .tid = e->task->tid,
				  .file = ref.open->file,
				  .context = context,
				  .data = (uint64_t)data,
				  .start_ns = e->start_ns,
				  .off = (uint64_t)off,
				  .bytes = bytes_of(request, code),
				  .op = op_of(code),
				  .flags = TRACE_ASYNC };
	e->r->aio_at = (e->r->aio_at + 1) % STRACE_AIO;
	return rc;
}

int strace_take_submit(struct strace_event *e)
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
		e->r->aio = mem_array(STRACE_AIO, sizeof(*e->r->aio));
	list = e->call.args[2];
	while (rc == 0 && left-- > 0 && strace_text_item(&list, &request) && *request.s == '{')
		rc = strace_async_submit(e, request, context);
	return rc;
}

/* ---- completion ---- */

/* The oldest of its kind. */
static struct strace_aio *strace_async_find(struct strace_event *e, uint64_t context, uint64_t data)
{
	struct strace_reader *r = e->r;

	for (size_t i = 0; r->aio && i < STRACE_AIO; i++) {
		struct strace_aio *a = &r->aio[(r->aio_at + i) % STRACE_AIO];

		if (a->op && a->data == data && a->context == context &&
		    a->pid == e->task->process->pid)
			return a;
	}
	return NULL;
}

int strace_take_events(struct strace_event *e)
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
		a = strace_async_find(e, context, (uint64_t)data);
		if (a)
			rc = aio_put(e->r, a, e->end_ns > a->start_ns ? e->end_ns - a->start_ns : 0,
				     result, e->err);
	}
	return rc;
}

int strace_take_ring(struct strace_event *e)
{
	e->r->rings++;
	return 0;
}
