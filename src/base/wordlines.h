/* SPDX-License-Identifier: Apache-2.0 */
/* wordlines.h - text files that people write: a few words a line. */
#pragma once

#include <stdint.h>

#include <mlgen/err.h>

/*
 * Words stand between blanks; what stands behind a # is a comment, and lines without words are
 * none. A byte order mark may stand before the first line. A message about a line begins
 * "PATH:LINE: ".
 */
struct wordlines {
	const char *path;
	unsigned line; /* the one that is read, or was last; from 1 */
	struct mlgen_err *err;
};

/* Of one sort of such files. */
struct wordlines_sort {
	const char *option; /* "tensor_sizes: " before the path, or "" */
	const char *noun;   /* "a list of tensors" */
	uint64_t most_bytes;
	/* Called for each line that has words, which wordlines_word() takes from it. What is not 0
	 * ends the reading. */
	int (*take)(void *arg, char *line);
};

/* Read the file w->path, from its first line to its last. 0, what `take` has said, or -errno with
 * w->err: no such file, no regular one, one that is too large, or no text. */
int wordlines_read(struct wordlines *w, const struct wordlines_sort *sort, void *arg);

/* The word at *at, ended by a zero byte; *at goes behind it. NULL = none. */
char *wordlines_word(char **at);

/* Say what is wrong with the line; `code` comes back. */
__attribute__((format(printf, 3, 4))) int wordlines_fail(const struct wordlines *w, int code,
							 const char *fmt, ...);
