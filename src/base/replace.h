/* SPDX-License-Identifier: Apache-2.0 */
/* replace.h - a file that takes another one's place as a whole, or not at all. */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

/*
 * It is written under a name of its own beside its place, .NAME.xxxxxx.part, which no scan of a
 * dataset takes for data, and renamed: a reader sees the old file or the new one, several writers
 * at once do not meet, and the last one's file stays. It is not synced.
 */
struct replace {
	int fd;                    /* to write to; -1 = none */
	char *target;              /* owned */
	_Atomic(char *) temporary; /* owned; NULL = there is none */
};

/* What a file that is made gets by the umask. No other thread makes files. */
mode_t replace_new_mode(void);

/* 0 or -errno. Nothing is to be given back then. */
int replace_begin(struct replace *r, const char *target, mode_t mode);
/* 0, or -errno and the old file; in either case nothing is left to do. */
int replace_commit(struct replace *r);
/* Leaves the old file; takes a zeroed, failed or committed one. */
void replace_abandon(struct replace *r);

/*
 * From another thread, before the program ends at once: a file that is half-written is removed.
 * Call replace_stop() first, once for all of them: after it replace_begin() does not return any
 * more, so that no file is made after those that are there were removed.
 */
void replace_stop(void);
void replace_discard(struct replace *r);
