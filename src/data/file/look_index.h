/* SPDX-License-Identifier: Apache-2.0 */
/* look_index.h - a text that lies beside a file and says where its samples are. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

struct look;

/*
 * The first that there is of those that `beside` names (format->look_beside), and its path. NULL:
 * there is none that can be read; what is no file is none.
 */
FILE *look_index_open(const struct look *l,
		      bool (*beside)(const char *path, unsigned i, char *out, size_t size),
		      char path[PATH_MAX]);

/* As far as it was read it counts as read, and it leaves the page cache. */
void look_index_close(struct look *l, FILE *f);

/* l->note: "PATH: ...", what is wrong with the index. */
__attribute__((format(printf, 3, 4))) void look_index_note(struct look *l, const char *path,
							   const char *fmt, ...);
