/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - files and directories: looked at, opened safely, written whole, replaced, without a
 * name. */
#pragma once

#include <jansson.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

#include <mlgen/err.h>

/* ---- the byte order mark that some editors begin UTF-8 text with ---- */

#define BOM "\xef\xbb\xbf"
enum { BOM_BYTES = sizeof(BOM) - 1 };

/* Bytes of the mark that a text begins with; 0 where it has none. */
static inline size_t bom_bytes(const void *text, size_t bytes)
{
	return bytes >= BOM_BYTES && memcmp(text, BOM, BOM_BYTES) == 0 ? BOM_BYTES : 0;
}

/* ---- things that lie where a file should be: fifos, sockets, devices, directories ---- */

/*
 * An open of a fifo waits for somebody at its other end, maybe for ever: where one may be, open
 * with O_NONBLOCK, which regular files do not know. What a read then meets is an error or an end;
 * only then it is asked what it is.
 */

/* "a fifo", "a socket", ...; NULL for a regular file. */
const char *filekind_other(mode_t mode);

/* 0 where `path` is a regular file, or where nobody can tell; else -EISDIR or -EINVAL with err:
 * "PATH: is a fifo, and no regular fileADVICE". */
int filekind_check(const char *path, const char *advice, struct mlgen_err *err);

/* Of what lies in the place of a dataset's file. */
#define FILEKIND_OF_DATASET "; remove it, and --phase=prepare writes the file"

/*
 * Open a regular file of at most most_bytes to be read, and nothing else, without ever waiting:
 * `path` below dir_fd as openat(2) takes it, with more flags (O_NOFOLLOW) or 0. 0 or -errno; where
 * it is something else, or has more, *wrong says so ("is a fifo, and no regular file"), and is NULL
 * if not.
 */
int filekind_open(FILE **out, int dir_fd, const char *path, int flags, uint64_t most_bytes,
		  const char **wrong);

/* ---- what a path leads to is known before it is opened ---- */

/*
 * To open a file can do something: a FIFO waits for its other end, a tape winds, a watchdog starts.
 * So a path is looked at first, with a descriptor that can do nothing else (O_PATH), and that very
 * file is opened then, whatever the path leads to by now.
 */

/* Such a descriptor, with what it is of, or -errno. */
int firstlook(const char *path, struct stat *st);

/*
 * Open what was looked at, with flags as of open(2) but O_CREAT, and O_CLOEXEC in any case. A
 * descriptor, or -errno; -ESTALE where /proc is not mounted and the path leads elsewhere by now.
 * `looked_at` stays open.
 */
int firstlook_open(int looked_at, const char *path, const struct stat *st, int flags);

/* ---- hold folders open, so that what is made and removed in them cannot be led elsewhere ---- */

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

/* ---- make a directory with all that lead to it; may one be made, and what is in its way? ---- */

/* 0, or -errno; then `path` is cut behind the one that could not be made. *made, where it is not
 * NULL, is set once there is one more. */
int dirs_make(char *path, bool *made);

/* Could this user make something in it? Where it is missing, in the first part of the path that is
 * there, as it would be made then. */
bool dirs_can_write(const char *path);

/* Has the directory, an open descriptor, no entry? False where it cannot be read. */
bool dirs_is_empty(int dir_fd);

/* Room for the longest path and some words. */
#define DIRS_WAY_BYTES (PATH_MAX + 80)

/*
 * What stands behind strerror() of a call on `path` that failed with `code`, -errno: of -ENOTDIR
 * which part of the path is no directory, "; d is a regular file: ...". Empty for others. Gives
 * `out`.
 */
const char *dirs_in_the_way(char out[DIRS_WAY_BYTES], const char *path, int code);

/* ---- temporary files without a name, which go with their descriptor ---- */

/* TMPDIR; else /var/tmp or /tmp, where there is a choice the one that is neither in memory nor on
 * the filesystem of `beside` (NULL = of none). */
const char *unnamed_folder(const char *beside);

/* Open for reading and writing, of this user alone: a descriptor, or -errno. */
int unnamed_open(const char *folder);

/* ---- write all of a text to a descriptor ---- */

/* In as many calls as it takes, signals or not. 0, or -errno of the call that failed, after which
 * nobody knows how much was written. */
int writeall(int fd, const char *text, size_t bytes);

/* The same to a place in a file, bytes from its beginning; where the descriptor stands is left
 * alone. */
int writeall_at(int fd, const void *from, size_t bytes, uint64_t at);

/* ---- a file that takes another one's place as a whole, or not at all ---- */

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

/* ---- an array that grows, in memory while it is small and then in a file without a name ---- */

/*
 * A mapping of a file in $TMPDIR (or /tmp) can leave memory when others need it; where none can be
 * had, it stays in memory as it is. A zeroed one is empty.
 */
struct spill {
	void *at;     /* moves when it grows */
	size_t bytes; /* that may be used; new ones are zero */
	size_t most;  /* in memory; 0 = 64 MiB */
	int fd;       /* + 1; 0 = in memory */
	bool no_file; /* it was tried */
};

/* Have at least so many bytes. Short of memory: as mem.h says. */
void spill_need(struct spill *s, size_t bytes);
void spill_free(struct spill *s);

/* ---- write JSON documents: to a stream, or as a file that nobody sees half of ---- */

/* Write `root` with jansson's `flags`. A real has the fewest digits that are read as the same
 * number, so that 63.1 stays 63.1 and whoever reads the document decides as mlgen did. 0, or
 * -EIO. */
int jsonfile_dump(FILE *to, const json_t *root, size_t flags);

/* The temporary name of NAME, a literal. */
#define JSONFILE_PART(name) "." name ".part"

/* NAME in the folder (files.h) becomes `root`, by way of .NAME.part, a file that is new: nothing is
 * written through a link of either name. Synced, with the folder: it is there after a power
 * failure, too. 0 or -errno. */
int jsonfile_replace(int folder_fd, const char *name, const json_t *root, bool is_synced);

/* In main(), before any file is opened: open /dev/null for standard descriptors that are closed, so
 * that no other file gets their numbers and then the report or the messages. False: that failed. */
bool standard_files_fill(void);
