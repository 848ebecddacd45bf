/* SPDX-License-Identifier: Apache-2.0 */
/* fdtable.h - what processes had open, and where in it they were, from the calls that a log has. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * A process (of threads that share descriptors) has a table of descriptors. Each is a reference to
 * an open file, which has one position, whoever moves it: so do copies by dup, and those that a
 * child has from its parent. A log often has no offset of a read: this model knows it.
 *
 * A position is inexact where two processes or threads use the same open file and their calls
 * overlap in time, and where somebody has it whose calls are not in the log. Of a file that was
 * open before the log begins it is not known until a seek says so.
 */
struct fdtable;

struct fd_open {
	uint32_t file; /* id of a name; 0 = it is no file of the trace */
	bool appends;  /* O_APPEND: writes go to the end */
	/* The open was not seen, and O_APPEND may be set: where it writes at its position is
	 * inexact. */
	bool may_append;
	bool is_position_known;
	bool is_shared; /* with somebody unseen: inexact from now on */
	uint64_t position;
	uint64_t end; /* of the file, or TRACE_UNKNOWN; moves with writes */
	unsigned references;
	uint32_t tag;      /* the user's own; 0 at first */
	uint32_t last_tid; /* that moved it, and until when */
	uint64_t last_end_ns;
};

struct fdtable *fdtable_new(void);
void fdtable_free(struct fdtable *t); /* NULL is fine */

/* A new task: one that shares descriptors with its parent (CLONE_FILES), or has a copy of its
 * table. Tasks that nobody introduced have a table of their own. */
void fdtable_fork(struct fdtable *t, uint32_t parent, uint32_t child, bool shares);
void fdtable_exec(struct fdtable *t, uint32_t task); /* closes on exec */
void fdtable_exit(struct fdtable *t, uint32_t task);
void fdtable_unshare(struct fdtable *t, uint32_t task); /* a copy of its own */
/* Somebody whose calls are not in the log has a copy of its table. */
void fdtable_share(struct fdtable *t, uint32_t task);
/* What was open under another name is of this one from now on. */
void fdtable_rename(struct fdtable *t, uint32_t file, uint32_t becomes);

/* What it is from now on, at position 0, of unknown end; whatever was there is closed. Never NULL;
 * `fd` is 0 or more. */
struct fd_open *fdtable_open(struct fdtable *t, uint32_t task, int fd, uint32_t file, bool appends,
			     bool closes_on_exec);
void fdtable_dup(struct fdtable *t, uint32_t task, int from, int to, bool closes_on_exec);
void fdtable_close(struct fdtable *t, uint32_t task, int fd);
/* Both ends included; or close them on exec. */
void fdtable_close_range(struct fdtable *t, uint32_t task, unsigned first, unsigned last,
			 bool on_exec);
void fdtable_close_on_exec(struct fdtable *t, uint32_t task, int fd, bool is_on);

/* NULL = not known to be open. Until the next call that opens or closes. */
struct fd_open *fdtable_find(struct fdtable *t, uint32_t task, int fd);

/*
 * A read or write of so many bytes at the file's own position, from start to end: where it began,
 * or TRACE_UNKNOWN; *flags gets TRACE_OFF_INFERRED, or TRACE_OFF_INEXACT (trace.h). Moves the
 * position.
 */
uint64_t fd_open_advance(struct fd_open *f, uint32_t tid, uint64_t start_ns, uint64_t end_ns,
			 uint64_t bytes, bool is_write, uint16_t *flags);
/* lseek, as it returned. */
void fd_open_seek(struct fd_open *f, uint32_t tid, uint64_t end_ns, uint64_t position);
