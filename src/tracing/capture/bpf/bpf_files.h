/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_files.h - which name of the trace a device and inode stand for. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tracing/capture/bpf/bpf_events.h"
#include "trace/trace.h"

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
