/* SPDX-License-Identifier: Apache-2.0 */
/* fdtable.h - what processes had open, and where in it they were, from the calls that a log has. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A process (of threads that share descriptors) has a table of descriptors. Each
 * is a reference to an open file, which has one position, whoever moves it: so
 * do copies by dup, and those that a child has from its parent. A log often has
 * no offset of a read: this model knows it.
 *
 * A position is inexact where two processes or threads use the same open file
 * and their calls overlap in time, and where the file was open before the log
 * begins.
 */
struct fdtable;

struct fd_open {
	uint32_t file; /* id of a name; 0 = it is no file of the trace */
	bool appends;  /* O_APPEND: writes go to the end */
	bool is_position_known;
	bool is_shared; /* of several processes: inexact from now on */
	uint64_t position;
	uint64_t end; /* as far as is known; reads and writes went up to here */
	unsigned references;
	uint32_t last_tid; /* that moved it, and until when */
	uint64_t last_end_ns;
};

struct fdtable *fdtable_new(void);
void fdtable_free(struct fdtable *t); /* NULL is fine */

/* A new task: one that shares descriptors with its parent (CLONE_FILES), or has
 * a copy of its table. Tasks that nobody introduced have a table of their own. */
void fdtable_fork(struct fdtable *t, uint32_t parent, uint32_t child,
		  bool shares);
void fdtable_exec(struct fdtable *t, uint32_t task); /* closes on exec */
void fdtable_exit(struct fdtable *t, uint32_t task);

/* What it is from now on, at position 0; whatever was there is closed. */
struct fd_open *fdtable_open(struct fdtable *t, uint32_t task, int fd,
			     uint32_t file, bool appends, bool closes_on_exec);
void fdtable_dup(struct fdtable *t, uint32_t task, int from, int to,
		 bool closes_on_exec);
void fdtable_close(struct fdtable *t, uint32_t task, int fd);
void fdtable_close_on_exec(struct fdtable *t, uint32_t task, int fd,
			   bool is_on);

/* NULL = not known to be open. Until the next call that opens or closes. */
struct fd_open *fdtable_find(struct fdtable *t, uint32_t task, int fd);

/*
 * A read or write of so many bytes at the file's own position, from start to
 * end: where it began, or TRACE_UNKNOWN; *flags gets TRACE_OFF_INFERRED, or
 * TRACE_OFF_INEXACT (trace.h). Moves the position.
 */
uint64_t fd_open_advance(struct fd_open *f, uint32_t tid, uint64_t start_ns,
			 uint64_t end_ns, uint64_t bytes, bool is_write,
			 uint16_t *flags);
/* lseek, as it returned. */
void fd_open_seek(struct fd_open *f, uint32_t tid, uint64_t end_ns,
		  uint64_t position);
