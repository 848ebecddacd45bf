/* SPDX-License-Identifier: Apache-2.0 */
/* plan_memory.c - see plan_memory.h. */
#include "report/plan_memory.h"

#include "base/units.h"
#include "report/plan_lines.h"

void plan_put_program(FILE *to, const struct plan_report *p, const char *more)
{
	const struct plan_check *program = plan_find_check(p, "program");
	double mib = (double)(p->program_bytes >> 20) + 1;
	char text[UNITS_TEXT_BYTES];
	struct buf line = { 0 };

	plan_start_line(&line, "memory");
	buf_addf(&line, "%s for mlgen (estimate)%s",
		 units_human_bytes(text, mib * (1u << 20)), more);
	plan_put_checked(to, &line, program);
}
