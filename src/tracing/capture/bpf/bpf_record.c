/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_record.c - events of the kernel become records of a trace. */
#include "tracing/capture/bpf/bpf.h"

#include <bpf/bpf.h>
#include <inttypes.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/mem.h"
#include "base/util.h"

static const struct {
	unsigned number;
	enum capture_call call;
} numbers[] = {
	{ SYS_read, CALL_READ },
	{ SYS_write, CALL_WRITE },
	{ SYS_pread64, CALL_PREAD },
	{ SYS_pwrite64, CALL_PWRITE },
	{ SYS_readv, CALL_READV },
	{ SYS_writev, CALL_WRITEV },
	{ SYS_preadv, CALL_PREADV },
	{ SYS_pwritev, CALL_PWRITEV },
	{ SYS_preadv2, CALL_PREADV2 },
	{ SYS_pwritev2, CALL_PWRITEV2 },
	{ SYS_close, CALL_CLOSE },
	{ SYS_dup3, CALL_DUP2 },
	{ SYS_openat, CALL_OPENAT },
#ifdef SYS_openat2
	{ SYS_openat2, CALL_OPENAT2 },
#endif
	{ SYS_fstat, CALL_FSTAT },
	{ SYS_newfstatat, CALL_NEWFSTATAT },
	{ SYS_statx, CALL_STATX },
	{ SYS_fsync, CALL_FSYNC },
	{ SYS_fdatasync, CALL_FDATASYNC },
	{ SYS_sync_file_range, CALL_SYNC_RANGE },
	{ SYS_renameat, CALL_RENAMEAT },
	{ SYS_renameat2, CALL_RENAMEAT },
	{ SYS_unlinkat, CALL_UNLINKAT },
	{ SYS_mkdirat, CALL_MKDIRAT },
	{ SYS_getdents64, CALL_GETDENTS },
	{ SYS_mmap, CALL_MMAP },
	{ SYS_munmap, CALL_MUNMAP },
	{ SYS_fallocate, CALL_FALLOCATE },
	{ SYS_ftruncate, CALL_FTRUNCATE },
	{ SYS_fadvise64, CALL_FADVISE },
	{ SYS_madvise, CALL_MADVISE },
	{ SYS_sendfile, CALL_SENDFILE },
	{ SYS_copy_file_range, CALL_COPY_RANGE },
	{ SYS_splice, CALL_SPLICE },
	{ SYS_io_submit, CALL_IO_SUBMIT },
	{ SYS_io_getevents, CALL_IO_GETEVENTS },
	{ SYS_io_pgetevents, CALL_IO_GETEVENTS },
/* Of older machines, of which newer ones have only the general form. */
#ifdef SYS_open
	{ SYS_open, CALL_OPEN },
	{ SYS_creat, CALL_CREAT },
	{ SYS_stat, CALL_STAT },
	{ SYS_lstat, CALL_STAT },
	{ SYS_dup2, CALL_DUP2 },
	{ SYS_rename, CALL_RENAME },
	{ SYS_unlink, CALL_UNLINK },
	{ SYS_mkdir, CALL_MKDIR },
	{ SYS_rmdir, CALL_RMDIR },
	{ SYS_getdents, CALL_GETDENTS },
#endif
};

void bpf_calls_fill(uint8_t call_of[CALL_NUMBERS])
{
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
		if (numbers[i].number < CALL_NUMBERS)
			call_of[numbers[i].number] = (uint8_t)numbers[i].call;
}

/* Devices that were met: more are looked up each time. */
#define DEVICES_MOST 256

struct bpf_record {
	struct trace_writer *writer;
	struct bpf_kernel *kernel;
	struct bpf_files *files;
	struct bpf_tasks *tasks;
	struct bpf_mapped *mapped;
	/* The last file that was asked for. */
	uint64_t ino;
	uint32_t dev, file;
	uint32_t devices[DEVICES_MOST];
	size_t device_count;
	uint32_t disk, disk_file; /* the last one */
	uint64_t records, lost, unseen_ends;
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

static uint32_t file_of(struct bpf_record *r, const struct capture_event *e)
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

/* Requests to the disks below it count from now on, whoever makes them. */
static void watch_device(struct bpf_record *r, uint32_t dev)
{
	uint32_t disks[16], one = 1;
	size_t n;

	for (size_t i = 0; i < r->device_count; i++)
		if (r->devices[i] == dev)
			return;
	if (r->device_count == DEVICES_MOST)
		return;
	r->devices[r->device_count++] = dev;
	n = disks_below(dev, disks, ARRAY_LEN(disks));
	for (size_t i = 0; i < n; i++)
		bpf_map_update_elem(r->kernel->disks_fd, &disks[i], &one, BPF_ANY);
}

static void take_name(struct bpf_record *r, const struct capture_name *n)
{
	files_name(r->files, n);
	r->ino = 0; /* what was known of it may be another file's */
	watch_device(r, n->dev);
}

static uint32_t disk_file(struct bpf_record *r, uint32_t dev)
{
	char name[256];

	if (!r->disk_file || r->disk != dev) {
		disk_name(name, sizeof(name), dev);
		r->disk_file = files_text(r->files, name);
		r->disk = dev;
	}
	return r->disk_file;
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

static void bpf_record_put(struct bpf_record *r, const struct trace_record *t)
{
	trace_writer_record(r->writer, t);
	r->records++;
}

/* Which file lies there: the process has what those had that it is from. */
static struct mapped_file find_mapped(struct bpf_record *r, uint32_t pid, uint64_t address)
{
	struct mapped_file f = mapped_find(r->mapped, pid, address);

	for (unsigned up = 0; !f.file && pid && up < 8; up++) {
		pid = tasks_parent(r->tasks, pid);
		f = mapped_find(r->mapped, pid, address);
	}
	return f;
}

static void take_call(struct bpf_record *r, const struct capture_event *e)
{
	struct trace_record t = make_record(e);
	struct mapped_file m;

	t.file = file_of(r, e);
	if (e->op == TRACE_MMAP && e->result > 0) {
		mapped_add(r->mapped, e->pid, (uint64_t)e->result,
			   (struct mapped_file){ t.file, e->off });
	} else if (!t.file && (e->op == TRACE_MUNMAP || e->op == TRACE_ADVISE)) {
		m = find_mapped(r, e->pid, e->off);
		if (!m.file)
			return; /* memory without a file */
		t.file = m.file;
		if (e->op == TRACE_ADVISE)
			t.off = m.off;
	}
	bpf_record_put(r, &t);
}

static uint32_t path_of(struct bpf_record *r, const struct capture_paths *p, unsigned which)
{
	size_t from = which ? p->path[0].bytes : 0, n = p->path[which].bytes;

	if (n < 2)
		return 0;
	return files_path(r->files, p->path[which].dev, p->path[which].ino, p->text + from, n - 1);
}

static void take_paths(struct bpf_record *r, const struct capture_paths *p)
{
	struct trace_record t = make_record(&p->call);

	if (p->call.ino)
		t.file = files_known(r->files, p->call.dev, p->call.ino);
	if (!t.file)
		t.file = path_of(r, p, 0);
	if (p->call.op == TRACE_RENAME) {
		uint32_t to = path_of(r, p, 1);

		t.off = to;
		if (p->call.result == 0) {
			files_renamed(r->files, t.file, to);
			r->ino = 0;
		}
	}
	bpf_record_put(r, &t);
}

static void take_submit(struct bpf_record *r, const struct capture_event *e)
{
	struct trace_record t = make_record(e);

	t.file = file_of(r, e);
	bpf_record_put(r, &t);
}

static void take_end(struct bpf_record *r, const struct capture_event *e)
{
	struct trace_record t = make_record(e), end;

	t.file = file_of(r, e);
	bpf_record_put(r, &t);
	r->unseen_ends += e->duration_ns == TRACE_UNKNOWN;
	end = t;
	end.op = TRACE_ASYNC_COMPLETE;
	end.off = e->number;
	end.flags = 0;
	end.cpu_ns = TRACE_UNKNOWN;
	if (e->duration_ns != TRACE_UNKNOWN) {
		end.start_ns += e->duration_ns;
		end.duration_ns = 0;
	}
	bpf_record_put(r, &end);
}

static void take_block(struct bpf_record *r, const struct capture_event *e)
{
	struct trace_record t = make_record(e);

	t.file = disk_file(r, e->dev);
	bpf_record_put(r, &t);
}

/* ---- tasks ---- */

static void take_task(struct bpf_record *r, const struct capture_event *e)
{
	struct trace_record t = make_record(e);

	if (e->more & EVENT_SEEN) {
		tasks_found(r->tasks, e->pid, e->number, e->start_ns);
		return;
	}
	if (e->more & EVENT_IS_THREAD)
		return;
	tasks_started(r->tasks, e->pid, e->number, e->start_ns);
	t.pid = e->number;
	t.tid = (uint32_t)e->result;
	t.result = e->pid;
	bpf_record_put(r, &t);
}

static void take_exec(struct bpf_record *r, const struct capture_text *x)
{
	struct trace_record t = make_record(&x->task);

	tasks_executed(r->tasks, x->task.pid, x->text, x->bytes);
	t.file = file_of(r, &x->task);
	bpf_record_put(r, &t);
}

/* What it is called by itself, where it is one of several threads. */
static void name_thread(struct bpf_record *r, const struct capture_text *x)
{
	struct trace_entry e = {
		.kind = TRACE_THREAD,
		.number = { x->task.tid, x->task.pid, TRACE_UNKNOWN, TRACE_UNKNOWN, TRACE_UNKNOWN,
			    TRACE_UNKNOWN },
		.text = x->text,
		.text_bytes = strnlen(x->text, 15),
	};

	if (e.text_bytes)
		trace_writer_entry(r->writer, &e);
}

static void take_exit(struct bpf_record *r, const struct capture_text *x)
{
	struct trace_record t = make_record(&x->task);

	if (x->task.more & EVENT_IS_THREAD)
		name_thread(r, x);
	bpf_record_put(r, &t);
	if (x->task.more & EVENT_IS_LAST)
		tasks_ended(r->tasks, x->task.pid, x->task.start_ns);
}

/* ---- all of them ---- */

void record_event(struct bpf_record *r, const void *event, size_t bytes)
{
	const struct capture_event *e = event;
	const struct capture_name *n = event;

	/* Names have a head of their own, of which `kind` is elsewhere. */
	if (bytes >= offsetof(struct capture_name, text) && !e->start_ns)
		take_name(r, n);
	else if (bytes < sizeof(*e))
		r->lost++;
	else if (e->kind == EVENT_CALL)
		take_call(r, e);
	else if (e->kind == EVENT_PATHS)
		take_paths(r, event);
	else if (e->kind == EVENT_ASYNC_SUBMIT)
		take_submit(r, e);
	else if (e->kind == EVENT_ASYNC_END)
		take_end(r, e);
	else if (e->kind == EVENT_BLOCK)
		take_block(r, e);
	else if (e->kind == EVENT_TASK)
		take_task(r, e);
	else if (e->kind == EVENT_EXEC)
		take_exec(r, event);
	else if (e->kind == EVENT_EXIT)
		take_exit(r, event);
}

/* ---- the end ---- */

/* Of libaio, completions that the program took by itself; those of io_uring are seen whoever takes
 * them, and were under way. */
static void end_requests(struct bpf_record *r)
{
	struct capture_request_key key, *last = NULL;
	struct capture_request q;

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

			take_end(r, &e);
		}
		last = &key;
	}
}

static void tell_loss(struct bpf_record *r, unsigned op, const struct capture_loss *l,
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

static const char *why_lost(unsigned kind)
{
	switch (kind) {
	case LOSS_TASKS:
		return "tasks that could not be followed";
	case LOSS_ASYNC:
		return "requests, more at once than are kept";
	}
	return "the ring between kernel and mlgen was full";
}

void record_end(struct bpf_record *r, struct buf *notes)
{
	struct capture_loss l;
	struct buf which = { 0 };

	end_requests(r);
	for (unsigned kind = 0; kind < LOSS_KINDS; kind++) {
		l = kernel_loss(r->kernel, kind);
		if (!l.events)
			continue;
		if (kind == LOSS_NAMES)
			buf_addf(notes,
				 "names of files that were lost, %" PRIu64
				 " times: they have the number of their inode\n",
				 l.events);
		else if (kind == LOSS_COMPAT)
			buf_addf(notes,
				 "calls of programs of another architecture are not recorded: "
				 "%" PRIu64 "\n",
				 l.events);
		else
			tell_loss(r, kind < TRACE_OPS ? kind : TRACE_NONE, &l, why_lost(kind));
	}
	l = (struct capture_loss){ kernel_missed(r->kernel, &which), TRACE_UNKNOWN, TRACE_UNKNOWN };
	if (l.events) {
		buf_add(&which, " ran already on that CPU");
		tell_loss(r, TRACE_NONE, &l, buf_str(&which));
	}
	if (r->unseen_ends)
		buf_addf(notes,
			 "%" PRIu64 " requests of libaio have no known duration: the program took "
			 "their ends by itself\n",
			 r->unseen_ends);
	buf_fini(&which);
}

void record_look(const struct bpf_record *r, struct capture_status *status)
{
	*status = (struct capture_status){
		.records = r->records,
		.files = files_count(r->files),
		.processes = tasks_count(r->tasks),
		.lost = r->lost,
	};
}
