/* SPDX-License-Identifier: Apache-2.0 */
/* below.h - hold folders open, so that what is made and removed in them cannot be led elsewhere. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/*
 * The directory that a user names is the user's own, with all links that lead to it. What lies
 * below it may have been put there by others: a folder there is reached step by step, each by a
 * single name that is no symbolic link, and files in it are made, renamed and removed by name and
 * descriptor. Nobody can exchange a folder between the look at it and what follows.
 *
 * Descriptors are O_PATH: for openat(2) and its kin, fstat(2) and nothing else. The caller closes
 * them. They belong to the descriptor table of the thread that has asked, and of the threads that
 * it starts later.
 */

/* The directory at `path`. A descriptor, or -errno. */
int below_hold(const char *path);

/*
 * The folder `relative` ("train/07"; "" is the directory itself) below it. A descriptor; -ELOOP: a
 * step of it is a symbolic link; -EINVAL: a step of it is "..", or it begins with a slash; or
 * another -errno.
 */
int below_folder(int dir_fd, const char *relative);

/*
 * A new file, for writing, under a name that only mlgen gives: what a killed run has left there
 * goes first, be it a link, whose target stays. A descriptor, or -errno.
 */
int below_create(int dir_fd, const char *name);

/*
 * Wait until nobody else has locked the folder, and lock it: for steps of which others must not see
 * the middle. A descriptor, which below_unlock closes;
 * or -errno where nobody can (some network filesystems): what follows is then as safe as its own
 * steps, and below_unlock does nothing.
 */
int below_lock(int dir_fd);
void below_unlock(int lock_fd);

/* Who owns a file that is made in it, by the caller's credentials and the filesystem's rules:
 * `made` is one that was just created. 0 or -errno. */
int below_maker(int made_fd, uid_t *maker);

/*
 * May we remove files in this folder on the word of a document that lies there? Only where it is
 * `maker`'s or root's: anybody else who owns it could have written the document, and could put
 * other files under the names it lists.
 */
bool below_is_trusted(int folder_fd, uid_t maker);

/* What was made, renamed and removed in it is so after a power failure, too.
 * 0 or -errno. */
int below_sync(int folder_fd);
