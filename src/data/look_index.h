/* SPDX-License-Identifier: Apache-2.0 */
/* look_index.h - a text that lies beside a file and says where its samples are. */
#pragma once

#include <stdio.h>

struct look;

/* NULL: there is none that can be read; what is no file is none. */
FILE *look_index_open(const char *path);

/* As far as it was read it counts as read, and it leaves the page cache. */
void look_index_close(struct look *l, FILE *f);

/* l->note: "PATH: ...", what is wrong with the index. */
__attribute__((format(printf, 3, 4))) void
look_index_note(struct look *l, const char *path, const char *fmt, ...);
