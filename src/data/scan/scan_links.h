/* SPDX-License-Identifier: Apache-2.0 */
/* scan_links.h - what links led to, so that a scan follows each way once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

/* Of a file that a link led to: 32 bytes, while it is scanned. */
struct link {
	dev_t dev;
	ino_t ino;
	uint64_t name_at; /* which entry of the scan it is */
	uint64_t rank;    /* of that in the order of all */
};

struct links {
	struct link *files;
	uint64_t count, room;
	struct link *folders; /* a table by dev and ino; ino 0 = free */
	uint64_t folder_count, folder_room;
};

void links_fini(struct links *l); /* takes a zeroed one */

void links_add_file(struct links *l, const struct stat *st, uint64_t name_at);
/* True: no link has led to this folder before. */
bool links_enter(struct links *l, const struct stat *st);

/* Of files that several links led to all but the first leave the scan, whose order stands: how
 * many. */
struct scan;
uint64_t links_keep_once(struct links *l, struct scan *s);
