/* SPDX-License-Identifier: Apache-2.0 */
/* capture_child.h - the command that is recorded: a child that waits until it is followed, and its
 * end. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include <mlgen/err.h>

/* Whom it runs as. A zeroed one: as this program. */
struct capture_user {
	char *name, *home; /* NULL = nobody else; owned */
	uid_t uid;
	gid_t gid;
	gid_t *groups; /* owned */
	int group_count;
};

/* By name or number; only root may. 0 or -errno with err. */
int capture_user_find(struct capture_user *u, const char *name, struct mlgen_err *err);
void capture_user_fini(struct capture_user *u); /* takes a zeroed one */

struct capture_child {
	pid_t pid;    /* 0 = there is none */
	int go, told; /* what it waits for; what it says if it cannot begin */
	bool is_over;
	int wait_status; /* of waitpid, when it is over */
};

/* As a shell: */
enum { CAPTURE_NOT_EXECUTABLE = 126, CAPTURE_NOT_FOUND = 127 };

/* Would a shell find it? 0, or one of these statuses with err. Whether it can be executed is known
 * only when it is. */
int capture_command_check(const char *command, struct mlgen_err *err);

/*
 * Start it: it has the signals, the standard files and all other descriptors that this program was
 * started with, and no ambient capabilities, and waits. For as long any process of the same user
 * may trace it. 0 or -errno with err.
 */
int capture_child_start(struct capture_child *c, char *const *argv, const struct capture_user *user,
			struct mlgen_err *err);

/* Let it go on to execve. */
void capture_child_go(struct capture_child *c);

/* True: it has ended, whether it is told for the first time or not. */
bool capture_child_look(struct capture_child *c);

/* When it is over: its exit status as a shell has it, 128 + a signal's number. One that could not
 * be executed is CAPTURE_NOT_FOUND or NOT_EXECUTABLE with err. */
int capture_child_status(struct capture_child *c, const char *command, struct mlgen_err *err);

/* One that waits still ends. Takes a zeroed one, and one that is over. */
void capture_child_fini(struct capture_child *c);
