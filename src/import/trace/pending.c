/* SPDX-License-Identifier: Apache-2.0 */
/* pending.c - importers that are declared and not there yet: who writes one removes its line; the file goes with the last. */
#include "import/trace/markers.h"

#include <errno.h>

#define PENDING(name)                                                          \
	int import_##name(struct importing *m, struct mlgen_err *err)          \
	{                                                                      \
		return mlgen_fail(err, -ENOSYS,                                \
				  "%s: import=" #name " is not there yet",     \
				  m->files[0]);                                \
	}

PENDING(mcgill)
PENDING(darshan)
PENDING(dftracer)
PENDING(blktrace)
PENDING(dio)

int import_markers(struct importing *m, const char *file, struct mlgen_err *err)
{
	(void)m;
	return mlgen_fail(err, -ENOSYS, "markers=%s: is not there yet", file);
}
