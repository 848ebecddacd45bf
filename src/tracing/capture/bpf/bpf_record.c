/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_record.c - turn events of the kernel into records of a trace. */
#include "tracing/capture/bpf/bpf.h"

#include <bpf/bpf.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* Devices of file systems, each of which is looked up once. */
#define MAX_DEVICES 256

struct bpf_record {
	struct trace_writer *writer;
	struct bpf_kernel *kernel;
	struct bpf_files *files;
	struct bpf_tasks *tasks;
	struct bpf_mapped *mapped;
	/* The last lookups. */
	uint64_t ino;
	uint32_t dev, file;
	uint32_t disk, disk_file;
	uint32_t devices[MAX_DEVICES];
	size_t device_count;
	uint64_t records, lost;
	uint64_t unknown_ends; /* requests whose completion was not seen */
};

struct bpf_record *record_new(struct trace_writer *writer, struct bpf_kernel *kernel)
{
	struct bpf_record *r = mem_zalloc(sizeof(*r));

	r->writer = writer;
	r->kernel = kernel;
	r->files = files_new(writer);
	r->tasks = tasks_new(writer);
	r->mapped = mapped_new();
	return r;
}

void record_free(struct bpf_record *r)
{
	if (!r)
		return;
	files_free(r->files);
	tasks_free(r->tasks);
	mapped_free(r->mapped);
	mem_free(r);
}

/* ---- files ---- */

static uint32_t find_file(struct bpf_record *r, const struct capture_event *e)
{
	if (!e->ino)
		return 0;
	if (e->ino != r->ino || e->dev != r->dev) {
		r->file = files_find(r->files, e->dev, e->ino);
		r->ino = e->ino;
		r->dev = e->dev;
	}
	return r->file;
}

static void record_name(struct bpf_record *r, const struct capture_name *n)
{
	uint32_t disks[16], one = 1;
	size_t count;

	files_name(r->files, n);
	r->ino = 0; /* the last lookup may have been of another file */
	for (size_t i = 0; i < r->device_count; i++)
		if (r->devices[i] == n->dev)
			return;
	if (r->device_count == MAX_DEVICES)
		return;
	/* Record all requests to the disks of this device from now on, by any process. */
	r->devices[r->device_count++] = n->dev;
	count = disks_below(n->dev, disks, ARRAY_LEN(disks));
	for (size_t i = 0; i < count; i++)
		bpf_map_update_elem(r->kernel->disks_fd, &disks[i], &one, BPF_ANY);
}

/* ---- records ---- */

static struct trace_record make_record(const struct capture_event *e)
{
	return (struct trace_record){
		.start_ns = e->start_ns,
		.duration_ns = e->duration_ns,
		.off = e->off,
		.len_bytes = e->len_bytes,
		.result = e->result,
		.cpu_ns = e->cpu_ns,
		.pid = e->pid,
		.tid = e->tid,
		.op = e->op,
		.flags = e->flags,
	};
}

static void write_record(struct bpf_record *r, const struct trace_record *t)
{
	trace_writer_record(r->writer, t);
	r->records++;
}

/* The file mapped at an address. A process inherits the mappings of its ancestors. */
static struct bpf_mapped_file find_mapped(struct bpf_record *r, uint32_t pid, uint64_t address)
{
	struct bpf_mapped_file f = mapped_find(r->mapped, pid, address);

	for (unsigned i = 0; !f.file && pid && i < 8; i++) {
		pid = tasks_parent(r->tasks, pid);
		f = mapped_find(r->mapped, pid, address);
	}
	return f;
}

static void record_call(struct bpf_record *r, const struct capture_event *e)
{
	struct trace_record t = make_record(e);
	struct bpf_mapped_file m;

	t.file = find_file(r, e);
	if (e->op == TRACE_MMAP && e->result > 0) {
		mapped_add(r->mapped, e->pid, (uint64_t)e->result,
			   (struct bpf_mapped_file){ t.file, e->off });
	} else if (!t.file && (e->op == TRACE_MUNMAP || e->op == TRACE_ADVISE)) {
		m = find_mapped(r, e->pid, e->off);
		if (!m.file)
			return; /* anonymous memory */
		t.file = m.file;
		if (e->op == TRACE_ADVISE)
			t.off = m.off;
	}
	write_record(r, &t);
}

static uint32_t find_path(struct bpf_record *r, const struct capture_paths *p, unsigned which)
{
	size_t from = which ? p->path[0].bytes : 0, n = p->path[which].bytes;

	if (n < 2)
		return 0;
	return files_path(r->files, p->path[which].dev, p->path[which].ino, p->text + from, n - 1);
}

static void record_paths(struct bpf_record *r, const struct capture_paths *p)
{
	struct trace_record t = make_record(&p->call);

	if (p->call.ino)
		t.file = files_known(r->files, p->call.dev, p->call.ino);
	if (!t.file)
		t.file = find_path(r, p, 0);
	if (p->call.op == TRACE_RENAME) {
		uint32_t to = find_path(r, p, 1);

		t.off = to;
		if (p->call.result == 0) {
			files_renamed(r->files, t.file, to);
			r->ino = 0;
		}
	}
	write_record(r, &t);
}

static void record_completion(struct bpf_record *r, const struct capture_event *e)
{
	struct trace_record t = make_record(e), end;

	t.file = find_file(r, e);
	write_record(r, &t);
	r->unknown_ends += e->duration_ns == TRACE_UNKNOWN;
	end = t;
	end.op = TRACE_ASYNC_COMPLETE;
	end.off = e->number;
	end.flags = 0;
	end.cpu_ns = TRACE_UNKNOWN;
	if (e->duration_ns != TRACE_UNKNOWN) {
		end.start_ns += e->duration_ns;
		end.duration_ns = 0;
	}
	write_record(r, &end);
}

static void record_block(struct bpf_record *r, const struct capture_event *e)
{
	struct trace_record t = make_record(e);
	char name[256];

	if (!r->disk_file || r->disk != e->dev) {
		disk_name(name, sizeof(name), e->dev);
		r->disk_file = files_text(r->files, name);
		r->disk = e->dev;
	}
	t.file = r->disk_file;
	write_record(r, &t);
}

/* ---- tasks ---- */

static void record_task(struct bpf_record *r, const struct capture_event *e)
{
	struct trace_record t = make_record(e);

	if (e->more & EVENT_SEEN) {
		tasks_add_running(r->tasks, e->pid, e->number, e->start_ns);
		return;
	}
	if (e->more & EVENT_IS_THREAD)
		return;
	tasks_started(r->tasks, e->pid, e->number, e->start_ns);
	t.pid = e->number;
	t.tid = (uint32_t)e->result;
	t.result = e->pid;
	write_record(r, &t);
}

static void record_exec(struct bpf_record *r, const struct capture_text *x)
{
	struct trace_record t = make_record(&x->task);

	tasks_executed(r->tasks, x->task.pid, x->text, x->bytes);
	t.file = find_file(r, &x->task);
	write_record(r, &t);
}

static void record_exit(struct bpf_record *r, const struct capture_text *x)
{
	struct trace_record t = make_record(&x->task);
	const struct trace_entry name = {
		.kind = TRACE_THREAD,
		.number = { x->task.tid, x->task.pid, TRACE_UNKNOWN, TRACE_UNKNOWN, TRACE_UNKNOWN,
			    TRACE_UNKNOWN },
		.text = x->text,
		.text_bytes = strnlen(x->text, 15),
	};

	/* The only thread of a process needs no name. */
	if (x->task.more & EVENT_IS_THREAD && name.text_bytes)
		trace_writer_entry(r->writer, &name);
	write_record(r, &t);
	if (x->task.more & EVENT_IS_LAST)
		tasks_ended(r->tasks, x->task.pid, x->task.start_ns);
}

/* ---- all events ---- */

void record_event(struct bpf_record *r, const void *event, size_t bytes)
{
	const struct capture_event *e = event;
	const struct capture_name *n = event;

	/* The head of a name has a zero for the start, and `kind` elsewhere. */
	if (bytes >= offsetof(struct capture_name, text) && !e->start_ns)
		record_name(r, n);
	else if (bytes < sizeof(*e))
		r->lost++;
	else if (e->kind == EVENT_CALL || e->kind == EVENT_ASYNC_SUBMIT)
		record_call(r, e);
	else if (e->kind == EVENT_PATHS)
		record_paths(r, event);
	else if (e->kind == EVENT_ASYNC_END)
		record_completion(r, e);
	else if (e->kind == EVENT_BLOCK)
		record_block(r, e);
	else if (e->kind == EVENT_TASK)
		record_task(r, e);
	else if (e->kind == EVENT_EXEC)
		record_exec(r, event);
	else if (e->kind == EVENT_EXIT)
		record_exit(r, event);
}

/* ---- the end ---- */

static void write_loss(struct bpf_record *r, unsigned op, const struct capture_loss *l,
		       const char *why)
{
	struct trace_entry e = {
		.kind = TRACE_LOST,
		.number = { op, l->events, l->first_ns, l->last_ns, 0, TRACE_UNKNOWN },
		.text = why,
		.text_bytes = strlen(why),
	};

	trace_writer_entry(r->writer, &e);
	r->lost += l->events;
}

void record_end(struct bpf_record *r, struct buf *notes)
{
	struct capture_request_key key, *last = NULL;
	struct capture_request q;
	struct capture_loss l;
	struct buf programs = { 0 };

	/* Requests that are still in the map. A libaio request may have completed: the program may
	 * have read it from the ring by itself. An io_uring request was in flight, as its
	 * completion is always seen. */
	while (bpf_map_get_next_key(r->kernel->requests_fd, last, &key) == 0) {
		if (key.pid && bpf_map_lookup_elem(r->kernel->requests_fd, &key, &q) == 0) {
			struct capture_event e = {
				.start_ns = q.start_ns,
				.duration_ns = TRACE_UNKNOWN,
				.off = q.off,
				.len_bytes = q.len_bytes,
				.result = (int64_t)q.len_bytes,
				.cpu_ns = TRACE_UNKNOWN,
				.ino = q.ino,
				.dev = q.dev,
				.pid = q.pid,
				.tid = q.tid,
				.number = q.number,
				.op = q.op,
				.flags = q.flags,
			};

			record_completion(r, &e);
		}
		last = &key;
	}

	for (unsigned kind = 0; kind < LOSS_KINDS; kind++) {
		l = kernel_loss(r->kernel, kind);
		if (!l.events)
			continue;
		if (kind == LOSS_NAMES)
			buf_addf(notes,
				 "the names of files were lost %" PRIu64
				 " times: these files are named by their inode numbers\n",
				 l.events);
		else if (kind == LOSS_COMPAT)
			buf_addf(notes,
				 "calls of programs of another architecture are not recorded: "
				 "%" PRIu64 "\n",
				 l.events);
		else
			write_loss(r, kind < TRACE_OPS ? kind : TRACE_NONE, &l,
				   kind == LOSS_TASKS ? "tasks that could not be followed"
				   : kind == LOSS_ASYNC
					   ? "too many requests at the same time"
					   : "the ring between kernel and mlgen was full");
	}
	l = (struct capture_loss){ kernel_skipped_runs(r->kernel, &programs), TRACE_UNKNOWN,
				   TRACE_UNKNOWN };
	if (l.events) {
		buf_add(&programs, " was already running on that CPU");
		write_loss(r, TRACE_NONE, &l, buf_str(&programs));
	}
	if (r->unknown_ends)
		buf_addf(notes,
			 "%" PRIu64 " requests of libaio have no known duration: their completions "
			 "were not seen\n",
			 r->unknown_ends);
	buf_fini(&programs);
}

void record_status(const struct bpf_record *r, struct capture_status *status)
{
	*status = (struct capture_status){
		.records = r->records,
		.files = files_count(r->files),
		.processes = tasks_count(r->tasks),
		.lost = r->lost,
	};
}
