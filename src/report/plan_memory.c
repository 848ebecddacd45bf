/* SPDX-License-Identifier: Apache-2.0 */
/* plan_memory.c - see plan_memory.h. */
#include "report/plan_memory.h"

#include "base/units.h"

void plan_put_program(struct buf *text, const struct plan_report *p)
{
	double mib = (double)(p->program_bytes >> 20) + 1;
	char size[UNITS_TEXT_BYTES];

	buf_addf(text, "%s for mlgen%s (estimate)", units_human_bytes(size, mib * (1u << 20)),
		 p->hosts > 1       ? " on a host"
		 : p->processes > 1 ? ", all processes"
				    : "");
}
