/* SPDX-License-Identifier: Apache-2.0 */
/* bpf.h - the user-space part of the BPF backend: load programs and turn events into records. */
#pragma once

/*
 * Programs in the kernel (*.bpf.h, one object in bpf_object.c) write events into one ring;
 * bpf_events.h declares the shared structures. bpf_kernel.c chooses the programs that suit this
 * kernel and loads them. bpf_record.c turns events into records of a trace, and looks up files,
 * tasks, mappings and disks in bpf_tables.c. One thread calls everything.
 *
 *	tasks	A followed task has its own task storage, which is both filter and state. A
 *		child gets its storage before its first instruction (task_newtask, which
 *		also shows io_uring's threads). There is no list of pids to clean up.
 *	calls	A call is recorded when it returns: by then its arguments are in memory, the
 *		descriptor gives the file, and the position minus the bytes moved is the
 *		offset, even with O_APPEND. close is the exception: its file is remembered
 *		on entry.
 *	files	A file is an inode with its device and generation. Its name is sent once,
 *		and is valid until a recorded rename. A call by path has the path that the
 *		program gave, without . and .., unless the inode is known; a path through a
 *		symbolic link may become a second name of a file.
 *	scope	Regular files, directories and block devices. Sockets, pipes, terminals,
 *		lseek, access and readlink are left out. sendfile, copy_file_range and
 *		splice are recorded as a read of one end and a write of the other, where
 *		these are files.
 *	async	io_uring: reads, writes and fsync only. libaio: a completion that the
 *		program reads from its ring by itself has no event, so its duration is
 *		unknown.
 *	faults	The kernel reports only the first touch of 64 KiB in a process. It does not
 *		report when the copying, or the update of the page tables, is done.
 *	blocks	Requests to the disks that hold the files in use, including requests of
 *		other processes. Those have no pid, because it is not known which process
 *		caused them.
 *
 * Waking mltrace for each event would cost more than everything else. Events wait until mltrace
 * looks, every 50 ms, or until a quarter of the ring is full. Plain loads (bpf_rdonly_cast, Linux
 * 6.2) save 260 ns per record compared with helper calls. tell_name() is verified by itself and
 * gets its pointers through memory: when it was inlined in 20 places, loading took four times as
 * long.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mlgen/err.h>

#include "base/buf.h"
#include "trace/trace.h"
#include "tracing/capture/bpf/bpf_events.h"
#include "tracing/capture/capture.h"

/* ---- programs in the kernel, and their maps ---- */

/* The compiled programs, an ELF object that is part of mltrace. */
extern const unsigned char capture_object[];
extern const uint64_t capture_object_bytes;

struct bpf_object;
struct bpf_link;

#define KERNEL_MAX_LINKS 32

struct bpf_kernel {
	struct bpf_object *object;
	struct bpf_link *links[KERNEL_MAX_LINKS];
	size_t link_count;
	struct capture_shared *shared; /* mapped */
	int ring_fd, threads_fd, disks_fd, requests_fd, losses_fd;
	size_t thread_bytes; /* size of a value in threads_fd */
};

/* The probe of capture_backend. */
int kernel_probe(struct mlgen_err *err);

/*
 * Load the programs that this kernel can run, without attaching them. Appends to `notes` one line
 * for each kind of event that is left out. 0 or -errno with err. kernel_close accepts a zeroed
 * struct, and may be called twice.
 */
int kernel_load(struct bpf_kernel *k, uint64_t ring_bytes, struct buf *notes,
		struct mlgen_err *err);
int kernel_attach(struct bpf_kernel *k, struct mlgen_err *err);
/* Stop all events; maps can still be read. */
void kernel_detach(struct bpf_kernel *k);
void kernel_close(struct bpf_kernel *k);

/* Follow a process. -errno with err if the process does not exist, is a kernel thread, or may not
 * be followed. */
int kernel_follow_process(struct bpf_kernel *k, pid_t pid, struct mlgen_err *err);
/* Follow all processes of a control group and of the groups below it. A group without any process
 * is an error. */
int kernel_follow_cgroup(struct bpf_kernel *k, const char *folder, struct mlgen_err *err);
/* Follow all threads and descendants of the followed processes. 0 or -errno with err. */
int kernel_follow_descendants(struct bpf_kernel *k, struct mlgen_err *err);

/* Losses on all CPUs of one operation or LOSS_... kind. */
struct capture_loss kernel_loss(const struct bpf_kernel *k, unsigned kind);
/* Number of runs that the kernel skipped because the program already ran on that CPU. Appends the
 * names of these programs to `names`. */
uint64_t kernel_skipped_runs(const struct bpf_kernel *k, struct buf *names);

/* ---- messages of libbpf, kept to explain a failure ---- */

/* Keep the messages from now on instead of printing them. */
void bpf_log_begin(void);
/* The last messages on one line; "" = none. Static storage. */
const char *bpf_log_last(void);

/* ---- events from the ring become records and entries of a trace ---- */

struct bpf_record;

/* The caller owns both arguments. */
struct bpf_record *record_new(struct trace_writer *writer, struct bpf_kernel *kernel);
void record_free(struct bpf_record *r); /* NULL is fine */

/* Record one event of the ring. */
void record_event(struct bpf_record *r, const void *event, size_t bytes);

/* After the last event: record requests without a known end, and the losses. Appends to `notes` one
 * line for each kind of incomplete record. */
void record_end(struct bpf_record *r, struct buf *notes);

void record_status(const struct bpf_record *r, struct capture_status *status);

/* ---- names of files in the trace, by device and inode ---- */

/* Programs open, rename and reuse files. A file is its inode, under the name it was first seen with
 * or last renamed to. Memory: about 50 bytes per file, plus the path of each directory. */
struct bpf_files;

struct bpf_files *files_new(struct trace_writer *writer);
void files_free(struct bpf_files *f); /* NULL is fine */

/* Add a name that the kernel reported. */
void files_name(struct bpf_files *f, const struct capture_name *n);

/* Id of an inode's name. An inode whose name was lost gets a placeholder. */
uint32_t files_find(struct bpf_files *f, uint32_t dev, uint64_t ino);
/* Id of an inode's name; 0 = none yet. */
uint32_t files_known(struct bpf_files *f, uint32_t dev, uint64_t ino);

/* Id of a path that a call gave, relative to the directory with this inode (0 = absolute); . and ..
 * are resolved. `text` is not zero-terminated. */
uint32_t files_path(struct bpf_files *f, uint32_t dev, uint64_t ino, const char *text,
		    size_t bytes);

/* Rename the inode with the name `from` to `to`. */
void files_renamed(struct bpf_files *f, uint32_t from, uint32_t to);

/* Id of a name without an inode, such as a disk's. */
uint32_t files_text(struct bpf_files *f, const char *text);

/* Number of names so far. */
uint64_t files_count(const struct bpf_files *f);

/* ---- processes that are followed ---- */

/* Memory grows with the processes that run at the same time, not with all that ever ran. */
struct bpf_tasks;

struct bpf_tasks *tasks_new(struct trace_writer *writer);
void tasks_free(struct bpf_tasks *t); /* NULL is fine */

/* A process was started by `parent`. The process has its parent's command line until it calls
 * execve. */
void tasks_started(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns);
/* A process ran before the recording; its command line is read from /proc. */
void tasks_add_running(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns);
/* `text` has a zero between its words. */
void tasks_executed(struct bpf_tasks *t, uint32_t pid, const char *text, size_t bytes);
void tasks_ended(struct bpf_tasks *t, uint32_t pid, uint64_t end_ns);

/* 0 = not known. */
uint32_t tasks_parent(const struct bpf_tasks *t, uint32_t pid);
/* Number of processes so far, including those that have ended. */
uint64_t tasks_count(const struct bpf_tasks *t);

/* ---- files at addresses of a process ---- */

/* A cache of 65536 mappings by their first address; a new mapping may evict an old one. */
struct bpf_mapped;

struct bpf_mapped_file {
	uint32_t file;
	uint64_t off;
};

struct bpf_mapped *mapped_new(void);
void mapped_free(struct bpf_mapped *m); /* NULL is fine */

void mapped_add(struct bpf_mapped *m, uint32_t pid, uint64_t address, struct bpf_mapped_file f);
/* .file is 0 if no mapping of a file is known at the address. */
struct bpf_mapped_file mapped_find(const struct bpf_mapped *m, uint32_t pid, uint64_t address);

/* ---- disks below a file system ---- */

/* Devices are numbered as in the kernel: major << 20 | minor. */

/* Find up to `max` whole disks that serve this device, through partitions and stacked devices (dm,
 * md). Returns their number; 0 = none is known. */
size_t disks_below(uint32_t dev, uint32_t *disks, size_t max);

/* Print "/dev/vda", or "(disk 253:0)". */
void disk_name(char *out, size_t bytes, uint32_t dev);
