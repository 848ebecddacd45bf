/* SPDX-License-Identifier: Apache-2.0 */
/* settings_check.c - what relates two options of the program. */
#include "job/settings_check.h"

#include <inttypes.h>
#include <math.h>

/* No Linux runs in less: a unit was forgotten. */
#define LEAST_MEMORY (UINT64_C(16) << 20)

static const struct diag_place on_command_line;

void settings_check(const struct settings *s, struct diag *d)
{
	if (s->output_format == OUTPUT_CSV && !s->table)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "output-format=csv: goes with --table; --log=FILE "
			 "writes the intervals of a run as CSV");
	if (!isnan(s->tolerance) && !s->compare)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "tolerance: goes with --compare");
	if (s->datasize && (s->json || s->output_format != OUTPUT_TEXT))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: datasize prints text, and runs nothing; put it "
			 "behind the command line that datasize prints",
			 s->json ? "json" : "output-format");
	if (s->find_max && s->check != CHECK_NONE)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "check: is of a run, and --find-max has many; check "
			 "the answer with a run of its own");
	if ((s->memory_bytes || s->hosts > 1) && !s->datasize &&
	    s->check == CHECK_NONE)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: goes with --datasize and --check",
			 s->memory_bytes ? "memory" : "hosts");
	if (s->memory_bytes && s->memory_bytes < LEAST_MEMORY)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "memory: %" PRIu64 " bytes are no host's; a size "
			 "has a unit, as in --memory=256g",
			 s->memory_bytes);
}
