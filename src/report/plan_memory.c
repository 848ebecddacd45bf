/* SPDX-License-Identifier: Apache-2.0 */
/* plan_memory.c - is there the memory that the jobs of a dry run would take? */
#include "report/plan_memory.h"

#include "base/mem.h"
#include "base/units.h"
#include "report/plan_lines.h"
#include "report/plan_parts.h"

/* What all jobs of a group take, of what there is: on each of their pages. */
static void check_memory_of(struct plan_report *plans, const struct jobset *set,
			    const struct memneed_jobs *all,
			    const struct memroom *room)
{
	for (size_t i = 0; i < set->count; i++) {
		struct mlgen_err err = { 0 };
		struct memroom left = *room;

		if (set->jobs[i]->memory_limit)
			memroom_limit(&left, set->jobs[i]->memory_limit,
				      "memory_limit");
		if (memneed_check(all, set->jobs[i]->group, &left, &err) < 0)
			plan_add_check(&plans[i], "program", PLAN_FAIL, "%s",
				       err.text);
		else
			plan_add_check(&plans[i], "program", PLAN_OK, "%s", "");
	}
}

void plan_memory_check(struct plan_report *plans, const struct jobset *set)
{
	struct memneed *needs = mem_array(set->count, sizeof(*needs));
	const struct memneed_jobs all = { set->jobs, needs, set->count };
	struct memroom room;

	memroom_read(&room, "", "");
	for (size_t i = 0; i < set->count; i++)
		needs[i] = plans[i].need;
	check_memory_of(plans, set, &all, &room);
	mem_free(needs);
}

void plan_put_program(FILE *to, const struct plan_report *p, const char *more)
{
	const struct plan_check *writers = plan_find_check(p, "writers");
	const struct plan_check *program = plan_find_check(p, "program");
	double mib = (double)(p->program_bytes >> 20) + 1;
	char text[UNITS_TEXT_BYTES];
	struct buf line = { 0 };

	plan_start_line(&line, "memory");
	buf_addf(&line, "%s for mlgen (estimate)%s",
		 units_human_bytes(text, mib * (1u << 20)), more);
	plan_put_checked(to, &line, writers ? writers : program);
}
