/* SPDX-License-Identifier: Apache-2.0 */
/* pyfile.h - which calls of read(2) become of what a Python program asks of a file that is open. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* io.open() gives a file a buffer of st_blksize bytes. */
#define PYFILE_BLOCK 4096u

/* The kernel transfers no more in one call. */
#define PYFILE_CALL_MAX UINT64_C(2147479552)

/*
 * CPython's io.BufferedReader over a file of known size (3.11; the rules are those of its
 * _io/bufferedio.c): an iterator without memory behind it.
 *
 * A read takes what is left in the buffer; then, in one call, the whole blocks of the rest; then it
 * fills the buffer for what remains. A seek to a place that the buffer holds, as long as it is not
 * used up, costs nothing; any other empties it.
 *
 * Begin one of the calls, then take its reads by pyfile_next() until that says that there are no
 * more: only then may the next call begin.
 */
struct pyfile {
	uint64_t file_bytes;
	uint64_t raw;        /* where the descriptor stands */
	uint64_t want;       /* bytes that the call under way still lacks */
	unsigned have, used; /* bytes in the buffer, and of these given away */
	bool to_end;         /* the call under way is pyfile_read_all() */
};

void pyfile_open(struct pyfile *f, uint64_t file_bytes);
/* seek(off), and seek(off, SEEK_CUR) likewise. */
void pyfile_seek(struct pyfile *f, uint64_t off);
/* seek(0 or less, SEEK_END), to this place: the buffer is emptied. */
void pyfile_seek_end(struct pyfile *f, uint64_t off);
/* read(bytes). */
void pyfile_read(struct pyfile *f, uint64_t bytes);
/* read(): all that is left, after an fstat(2) that says how much that is. */
void pyfile_read_all(struct pyfile *f);

/* The next read(2) of the call under way: true, or false when it has got what it asked for, or the
 * file's end. */
bool pyfile_next(struct pyfile *f, uint64_t *off, uint64_t *bytes);

/* Where the program is: behind what it has been given. */
uint64_t pyfile_tell(const struct pyfile *f);
