/* SPDX-License-Identifier: Apache-2.0 */
/* replay_left.c - see replay_left.h. */
#include "work/plain/replay_left.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const reasons[LEFT_REASONS] = {
	[LEFT_GETDENTS] = "getdents",
	[LEFT_ADVISE] = "advise",
	[LEFT_MAPPING] = "mmap and munmap",
	[LEFT_SYSTEM] = "on files of the system or the program",
	[LEFT_NO_FILE] = "on files without a name",
	[LEFT_NO_OFFSET] = "without an offset",
	[LEFT_FAILED] = "that failed",
	[LEFT_TOO_LARGE] = "of more than 16 TiB",
	[LEFT_CLOSE] = "close of what another thread had opened",
};

uint64_t replay_left_put(const struct replay_left_counts *l, char *out, size_t bytes)
{
	uint64_t all = 0;
	size_t at = 0;

	*out = '\0';
	for (unsigned i = 0; i < LEFT_REASONS; i++) {
		if (!l->count[i])
			continue;
		all += l->count[i];
		if (at < bytes)
			at += (size_t)snprintf(out + at, bytes - at, "%s%" PRIu64 " %s",
					       at ? ", " : "", l->count[i], reasons[i]);
	}
	return all;
}
