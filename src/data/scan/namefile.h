/* SPDX-License-Identifier: Apache-2.0 */
/* namefile.h - a file without a name that holds the names of others, so that memory does not. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <mlgen/err.h>

/* Written from front to back by one thread, then read by any. */
struct namefile {
	int fd;
	const char *folder; /* that it is in, for messages */
	uint64_t end;       /* with what is in the buffer */
	size_t buffered;
	char *buffer; /* while it is written */
};

/* In the folder of base/unnamed.h. 0 or -errno with err. */
int namefile_open(struct namefile *f, const char *beside, struct mlgen_err *err);
void namefile_close(struct namefile *f); /* takes one that failed to open */

/* Behind its end: 0 or -errno with err. What was added is there to be read once it is flushed. */
int namefile_add(struct namefile *f, const char *s, size_t n, struct mlgen_err *err);
int namefile_flush(struct namefile *f, struct mlgen_err *err);
/* Back to an end that it had. */
void namefile_cut(struct namefile *f, uint64_t end);
/* Nothing more will be added. */
void namefile_end(struct namefile *f);

/* So many bytes at `at`, as a string: its length, or -errno. */
int namefile_read(const struct namefile *f, uint64_t at, size_t n, char *out, size_t size);

/* From a place before `from` on to the end, for a look at many. */
struct namefile_map {
	char *bytes;
	uint64_t start; /* that bytes[0] is at */
	size_t length;
};
int namefile_map(const struct namefile *f, uint64_t from, struct namefile_map *m,
		 struct mlgen_err *err);
void namefile_unmap(struct namefile_map *m);

/* What went wrong with it, in words: `code`. */
int namefile_failed(const struct namefile *f, int code, struct mlgen_err *err);
