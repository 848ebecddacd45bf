/* SPDX-License-Identifier: Apache-2.0 */
/* bpf.h - the part of the BPF backend that runs in user space: what is loaded, and what its events
 * become. */
#pragma once

/*
 * Programs in the kernel (*.bpf.h, one object in bpf_object.c) write events into one ring;
 * bpf_events.h is what both sides agree on. bpf_kernel.c loads the programs and says which of them
 * suit this kernel; bpf_record.c turns events into records of a trace, with what bpf_books.c knows
 * of files, tasks, mappings and disks. One thread calls everything.
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

/* ---- which system call has which number on this machine ---- */

/* enum capture_call of each number; 0 = it is none that counts. */
void bpf_calls_fill(uint8_t call_of[CALL_NUMBERS]);

/* ---- the disks below a file system, and their names ---- */

/* Devices are as the kernel has them: major << 20 | minor. */

/* Whole disks that serve this device, at most `most`: through partitions and what is stacked on
 * others (dm, md). How many; 0 = none is known. */
size_t disks_below(uint32_t dev, uint32_t *disks, size_t most);

/* "/dev/vda", or "(disk 253:0)". */
void disk_name(char *out, size_t bytes, uint32_t dev);

/* ---- which name of the trace a device and inode stand for ---- */

/*
 * Programs open, rename and reuse: a file is its inode, and has the name under which it was first
 * seen, or the last one that it was given since. Costs some 50 bytes a file, and directories their
 * path.
 */
struct bpf_files;

struct bpf_files *files_new(struct trace_writer *writer);
void files_free(struct bpf_files *f); /* NULL is fine */

/* What the kernel says of a file's name. */
void files_name(struct bpf_files *f, const struct capture_name *n);

/* Id of an inode's name; of one that was lost, a name that says so. */
uint32_t files_find(struct bpf_files *f, uint32_t dev, uint64_t ino);
/* The same; 0 = it was never named. */
uint32_t files_known(struct bpf_files *f, uint32_t dev, uint64_t ino);

/* One path of a call, as the program had it, below the directory it is relative to: id of its name,
 * without . and .. in it. `text` has no 0. */
uint32_t files_path(struct bpf_files *f, uint32_t dev, uint64_t ino, const char *text,
		    size_t bytes);

/* What had the name `from` has `to` from now on. */
void files_renamed(struct bpf_files *f, uint32_t from, uint32_t to);

/* A name that is of no inode, such as a disk's. */
uint32_t files_text(struct bpf_files *f, const char *text);

/* Names so far. */
uint64_t files_count(const struct bpf_files *f);

/* ---- the programs in the kernel: which of them it can run, loaded, attached, and their maps ----
 */

struct bpf_object;
struct bpf_link;

#define KERNEL_LINKS_MOST 32

struct bpf_kernel {
	struct bpf_object *object;
	struct bpf_link *links[KERNEL_LINKS_MOST];
	size_t link_count;
	struct capture_shared *shared; /* mapped */
	int ring_fd, threads_fd, disks_fd, requests_fd, losses_fd;
	size_t thread_bytes; /* of a value of threads_fd */
};

/*
 * Load what this kernel can run: 0 or -errno with err. What it cannot goes to `notes`, a line each.
 * Nothing is attached yet. kernel_close takes a zeroed one, and one that is closed.
 */
int kernel_load(struct bpf_kernel *k, uint64_t ring_bytes, struct buf *notes,
		struct mlgen_err *err);
int kernel_attach(struct bpf_kernel *k, struct mlgen_err *err);
/* No event comes any more; maps can still be read. */
void kernel_detach(struct bpf_kernel *k);
void kernel_close(struct bpf_kernel *k);

/* And all threads and descendants of those followed; 0 or -errno with err. */
int kernel_spread(struct bpf_kernel *k, struct mlgen_err *err);

/* What one operation (or LOSS_...) lost on all CPUs. */
struct capture_loss kernel_loss(const struct bpf_kernel *k, unsigned kind);
/* How often programs could not run because they ran already, and which. */
uint64_t kernel_missed(const struct bpf_kernel *k, struct buf *which);

/* Would it work here? See capture_backend.probe. */
int kernel_probe(struct mlgen_err *err);

/* ---- which file lies at an address of a process ---- */

/* Remembers some 65536 mappings, by their first address; of more the oldest in its place is given
 * up. */
struct bpf_mapped;

struct mapped_file {
	uint32_t file;
	uint64_t off;
};

struct bpf_mapped *mapped_new(void);
void mapped_free(struct bpf_mapped *m); /* NULL is fine */

void mapped_add(struct bpf_mapped *m, uint32_t pid, uint64_t address, struct mapped_file f);
/* .file 0 = nothing known is mapped there. */
struct mapped_file mapped_find(const struct bpf_mapped *m, uint32_t pid, uint64_t address);

/* ---- the compiled programs for the kernel, which are part of mlgen ---- */

/* An ELF object. */
extern const unsigned char capture_object[];
extern const uint64_t capture_object_bytes;

/* ---- what comes out of the ring, as records and entries of a trace ---- */

struct bpf_record;

/* Both are the caller's. */
struct bpf_record *record_new(struct trace_writer *writer, struct bpf_kernel *kernel);
void record_free(struct bpf_record *r); /* NULL is fine */

/* One event, as the ring has it. */
void record_event(struct bpf_record *r, const void *event, size_t bytes);

/* At the end: requests whose end nobody saw, and what was lost. To `notes`, a line each, what was
 * left out otherwise. */
void record_end(struct bpf_record *r, struct buf *notes);

void record_look(const struct bpf_record *r, struct capture_status *status);

/* ---- libbpf's own messages, kept for the moment when something fails ---- */

/* From now on libbpf prints nothing. */
void said_quiet(void);
/* The last of what it said, on one line; "" = nothing. Static. */
const char *said_last(void);

/* ---- the first ones that are followed ---- */

/* 0, or -errno with err: it is gone, a kernel thread, or not ours to follow. */
int seed_process(struct bpf_kernel *k, pid_t pid, struct mlgen_err *err);

/* All processes of a control group and of those in it; one without any is an error, too. */
int seed_cgroup(struct bpf_kernel *k, const char *folder, struct mlgen_err *err);

/* ---- which programs suit the kernel that runs: is there what they watch, and as they know it?
 * ---- */

struct bpf_object;

/* ---- the processes that are followed, and what a trace says of them ---- */

/* Grows with the processes that run at a time, not with all that ever did. */
struct bpf_tasks;

struct bpf_tasks *tasks_new(struct trace_writer *writer);
void tasks_free(struct bpf_tasks *t); /* NULL is fine */

/* It was started by `parent`, and does the same until it executes something. */
void tasks_started(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns);
/* It was there before: its command line is asked for in /proc. */
void tasks_found(struct bpf_tasks *t, uint32_t pid, uint32_t parent, uint64_t start_ns);
/* `text` has a 0 between its words. */
void tasks_executed(struct bpf_tasks *t, uint32_t pid, const char *text, size_t bytes);
void tasks_ended(struct bpf_tasks *t, uint32_t pid, uint64_t end_ns);

/* 0 = not known. */
uint32_t tasks_parent(const struct bpf_tasks *t, uint32_t pid);
/* All that there were. */
uint64_t tasks_count(const struct bpf_tasks *t);
