/* SPDX-License-Identifier: Apache-2.0 */
/* settings_check.c - what relates two options of the program. */
#include "job/settings_check.h"

#include <inttypes.h>

/* No Linux runs in less: a unit was forgotten. */
#define LEAST_MEMORY (UINT64_C(16) << 20)

static const struct diag_place on_command_line;

void settings_check(const struct settings *s, const struct question *questions,
		    struct diag *d)
{
	if (s->output_format == OUTPUT_CSV && !s->table)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "output-format=csv: goes with --table; --log=FILE "
			 "writes the intervals of a run as CSV");
	question_check_options(questions, s, d);
	if (s->datasize && (s->json || s->output_format != OUTPUT_TEXT))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: datasize prints text, and runs nothing; put it "
			 "behind the command line that datasize prints",
			 s->json ? "json" : "output-format");
	if (s->find_max && s->check != CHECK_NONE)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "check: is of a run, and --find-max has many; check "
			 "the answer with a run of its own");
	if (s->memory_bytes && s->memory_bytes < LEAST_MEMORY)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "memory: %" PRIu64 " bytes are no host's; a size "
			 "has a unit, as in --memory=256g",
			 s->memory_bytes);
}
