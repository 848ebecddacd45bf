/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - files and directories: inspected, opened safely, written and replaced as a whole. */
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

/* Length of the byte order mark at the start of a text; 0 if there is none. */
static inline size_t bom_bytes(const void *text, size_t bytes)
{
	return bytes >= BOM_BYTES && memcmp(text, BOM, BOM_BYTES) == 0 ? BOM_BYTES : 0;
}

/* ---- fifos, sockets, devices and directories in place of a regular file ---- */

/*
 * Opening a fifo waits for its other end, maybe for ever. Where a path may be a fifo, open it with
 * O_NONBLOCK, which has no effect on regular files. A read of a fifo then fails or reports end of
 * file; only then check the kind.
 */

/* The kind as text: "a fifo", "a socket", ...; NULL for a regular file. */
const char *filekind_other(mode_t mode);

/* 0 if `path` is a regular file or cannot be checked; otherwise -EISDIR or -EINVAL with err: "PATH:
 * is a fifo, not a regular file" and the advice. */
int filekind_check(const char *path, const char *advice, struct mlgen_err *err);

/* Advice for the case that something else is in the place of a dataset's file. */
#define FILEKIND_OF_DATASET "; remove it, and --phase=prepare writes the file"

/*
 * Open a regular file of at most most_bytes for reading, without ever waiting. `path` is relative
 * to dir_fd as in openat(2); flags are added (O_NOFOLLOW) or 0. 0 or -errno. For another kind of
 * file or a larger one, *wrong is the reason ("is a fifo, not a regular file"), otherwise NULL.
 */
int filekind_open(FILE **out, int dir_fd, const char *path, int flags, uint64_t most_bytes,
		  const char **wrong);

/* ---- inspect a file before it is opened ---- */

/*
 * Opening a file can have effects: a fifo waits for its other end, a tape winds, a watchdog starts.
 * So a path is first opened with O_PATH, which has no effects, and inspected; then the same file is
 * opened, wherever the path leads by now.
 */

/* Open `path` with O_PATH and stat it. A descriptor, or -errno. */
int path_inspect(const char *path, struct stat *st);

/*
 * Open the inspected file with the flags of open(2) except O_CREAT; O_CLOEXEC is always set. A
 * descriptor, or -errno; -ESTALE if /proc is not mounted and the path leads elsewhere by now.
 * `looked_at` stays open.
 */
int path_open_inspected(int looked_at, const char *path, const struct stat *st, int flags);

/* ---- work below a directory without following links that others planted ---- */

/*
 * The directory that a user names is trusted, including all links that lead to it. Other users may
 * have write access below it, so a folder there is reached step by step through names that are not
 * symbolic links, and files in it are created, renamed and removed by name and descriptor. Nobody
 * can exchange a folder between a check and its use.
 *
 * Descriptors are opened with O_PATH and are valid only for fstat(2), and as the folder in
 * openat(2) and similar calls. The caller closes them. They belong to the descriptor table of the
 * calling thread and of threads that it starts later.
 */

/* Open the directory at `path`. A descriptor, or -errno. */
int below_open_root(const char *path);

/*
 * Open the folder `relative` ("train/07"; "" is the directory itself) below dir_fd. A descriptor.
 * -ELOOP: a step is a symbolic link; -EINVAL: a step is "..", or `relative` begins with a slash; or
 * another -errno.
 */
int below_folder(int dir_fd, const char *relative);

/* Create a file for writing under a name that only mlgen uses. A leftover of a killed run is
 * removed first; if it is a link, its target stays. A descriptor, or -errno. */
int below_create(int dir_fd, const char *name);

/*
 * Lock the folder, waiting for other holders, for steps that must look atomic to others. A
 * descriptor for below_unlock, or -errno if locking is impossible (some network filesystems): the
 * steps are then only safe individually, and below_unlock does nothing.
 */
int below_lock(int dir_fd);
void below_unlock(int lock_fd);

/* Find the owner of files that the caller creates in a folder, from a file that was just created
 * there: the filesystem's rules determine the owner, too. 0 or -errno. */
int below_creator(int made_fd, uid_t *maker);

/*
 * May files in this folder be removed because a document in it lists them? Only if the folder
 * belongs to `maker` or root: any other owner could have forged the document and could place other
 * files under the listed names.
 */
bool below_is_trusted(int folder_fd, uid_t maker);

/*
 * Sync a folder, so that created, renamed and removed entries survive a power failure. 0 or -errno.
 */
int below_sync(int folder_fd);

/* ---- create directories, and explain failures ---- */

/* Create a directory and its parents. 0, or -errno with `path` cut after the part that could not be
 * created. *made is set to true if a directory was created; made may be NULL. */
int dirs_make(char *path, bool *made);

/* Can this user create something in the directory? If it does not exist, the nearest existing
 * parent is checked, because the directory would be created there. */
bool dirs_can_write(const char *path);

/* Is the directory, an open descriptor, empty? False if it cannot be read. */
bool dirs_is_empty(int dir_fd);

/* Room for the longest path and a few words. */
#define DIRS_WAY_BYTES (PATH_MAX + 80)

/*
 * Explain a call on `path` that failed with `code`, -errno, as a suffix to strerror(): for -ENOTDIR
 * the part of the path that is not a directory, "; d is a regular file: ..."; otherwise "". Returns
 * `out`.
 */
const char *dirs_explain_failure(char out[DIRS_WAY_BYTES], const char *path, int code);

/* ---- unnamed temporary files, which disappear with their descriptor ---- */

/* The folder for temporary files: TMPDIR, or /var/tmp or /tmp; preferably a folder that is neither
 * in memory nor on the filesystem of `beside` (NULL = any). */
const char *unnamed_folder(const char *beside);

/* Open a temporary file for reading and writing by this user alone. A descriptor, or -errno. */
int unnamed_open(const char *folder);

/* ---- write a whole text to a descriptor ---- */

/* Write all bytes, in as many calls as necessary, even if signals interrupt them. 0, or -errno
 * after an unknown part has been written. */
int writeall(int fd, const char *text, size_t bytes);

/* Like writeall, at offset `at` of a file; the file position does not change. */
int writeall_at(int fd, const void *from, size_t bytes, uint64_t at);

/* ---- replace a file as a whole or not at all ---- */

/*
 * The new file is written next to the target under a unique name, .NAME.xxxxxx.part, which scans of
 * a dataset ignore, and renamed: readers see the old file or the new one, concurrent writers do not
 * interfere, and the last writer wins. The file is not synced.
 */
struct replace {
	int fd;                    /* descriptor for writing; -1 = none */
	char *target;              /* owned */
	_Atomic(char *) temporary; /* owned; NULL = none */
};

/* Mode of new files, by the umask. No other thread may create files during the call. */
mode_t replace_new_mode(void);

/* Begin a replacement. 0, or -errno with nothing to clean up. */
int replace_begin(struct replace *r, const char *target, mode_t mode);
/* Rename the new file to the target. 0, or -errno and the old file stays. In either case nothing
 * is left to clean up. */
int replace_commit(struct replace *r);
/* Remove the new file and keep the old one. Accepts a zeroed, failed or committed struct. */
void replace_abandon(struct replace *r);

/*
 * replace_discard() removes a half-written file before the program ends at once; any thread may
 * call it. Call replace_stop() first, once for all files: afterwards replace_begin() never returns,
 * so no new file appears after the existing ones have been removed.
 */
void replace_stop(void);
void replace_discard(struct replace *r);

/* ---- spill: an array that grows, first in memory and then in an unnamed file ---- */

/*
 * The file is mapped and lies in $TMPDIR (or /tmp), so that the kernel can write the array out when
 * memory is short. If there is no such file, the array stays in memory. A zeroed struct is empty.
 */
struct spill {
	void *at;     /* moves when it grows */
	size_t bytes; /* usable bytes; new ones are zero */
	size_t most;  /* largest array in memory; 0 = 64 MiB */
	int fd;       /* descriptor + 1; 0 = in memory */
	bool no_file; /* a file could not be used */
};

/* Grow to at least `bytes`. Exits when out of memory, as in mem.h. */
void spill_reserve(struct spill *s, size_t bytes);
void spill_free(struct spill *s);

/* ---- JSON documents, written to a stream or replaced as a file ---- */

/*
 * Write `root` with jansson's `flags`. A real number gets the fewest digits that read back as the
 * same number: 63.1 stays 63.1, and a program that compares the number decides as mlgen did. 0, or
 * -EIO.
 */
int jsonfile_dump(FILE *to, const json_t *root, size_t flags);

/* The temporary name for NAME, a string literal. */
#define JSONFILE_PART(name) "." name ".part"

/*
 * Replace NAME in a folder by `root`, through a newly created file .NAME.part; links of either name
 * are not followed. If is_synced, the file and the folder are synced and survive a power failure. 0
 * or -errno.
 */
int jsonfile_replace(int folder_fd, const char *name, const json_t *root, bool is_synced);

/*
 * Open /dev/null for standard descriptors that are closed, so that no other file gets their numbers
 * and, with them, the report or messages. Call in main() before any file is opened. False: open
 * failed.
 */
bool standard_files_fill(void);
