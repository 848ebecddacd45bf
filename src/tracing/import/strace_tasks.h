/* SPDX-License-Identifier: Apache-2.0 */
/* strace_tasks.h - the threads and processes of a log of strace, and what of them has to be
 * known. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* What a mapping of a file is of. */
struct strace_map {
	uint64_t from, to;
	uint32_t file;
};

struct strace_process {
	uint32_t pid, parent; /* 0 = not known */
	uint64_t start_ns;    /* or TRACE_UNKNOWN */
	unsigned threads;     /* that refer to it */
	char *command, *cwd;  /* NULL = not known */
	struct strace_map *maps;
	size_t map_count, map_size; /* by address, without overlap */
};

/* A call that began and has not ended. */
struct strace_pending {
	struct buf text;
	bool is_open;
	uint64_t start_ns;
	const struct strace_row *row; /* NULL = not known */
	int fd;                       /* of a call that moves a position; else -1 */
	uint32_t closed;              /* file that a close has closed already */
	bool has_closed;
	uint32_t child; /* that a fork seems to have made; 0 = none yet */
};

struct strace_task {
	uint32_t tid;
	struct strace_process *process;
	struct strace_pending pending;
	struct strace_task *next; /* of the same place */
	/* Of those whose pending call forks, or moves a position. */
	struct strace_task *before, *behind;
	struct strace_task **list;
};

struct strace_tasks {
	struct strace_task **places;
	size_t size, count;
};

struct strace_task *strace_tasks_find(const struct strace_tasks *t, uint32_t tid);
/* Of a process of its own (NULL), or of one that there is. */
struct strace_task *strace_tasks_add(struct strace_tasks *t, uint32_t tid,
				     struct strace_process *process);
void strace_tasks_remove(struct strace_tasks *t, struct strace_task *task);
/* It is one of that process, or of one of its own (NULL), from now on. */
void strace_task_move(struct strace_task *task, struct strace_process *to);
/* It is called so from now on; nobody else is. */
void strace_tasks_rename(struct strace_tasks *t, struct strace_task *task, uint32_t tid);
/* The one that there is, if there is only one. */
struct strace_task *strace_tasks_only(const struct strace_tasks *t);
void strace_tasks_fini(struct strace_tasks *t);

/* The first in a list, or out of the one that it is in. */
void strace_task_list(struct strace_task *task, struct strace_task **list);
void strace_task_unlist(struct strace_task *task);

/* Command, folder and mappings as the parent has them. */
void strace_process_copy(struct strace_process *to, const struct strace_process *from);
void strace_process_exec(struct strace_process *p);

/* What is there is of this file, or of none (0), from now on. */
void strace_process_map(struct strace_process *p, uint64_t at, uint64_t bytes, uint32_t file);
/* The file of some of it; 0 = none. */
uint32_t strace_process_mapped(const struct strace_process *p, uint64_t at, uint64_t bytes);
