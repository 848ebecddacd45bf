/* SPDX-License-Identifier: Apache-2.0 */
/* phase.c - which options belong to which phase, and what they are there by default. */
#include "job/phase.h"

#include <assert.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"

#define IN(phase) (1u << (phase))
#define IN_TRAINING (IN(PHASE_TRAIN) | IN(PHASE_PREPARE))
#define IN_SAVING (IN(PHASE_CHECKPOINT) | IN(PHASE_RESTORE))

/* Groups that are not here belong to every phase. */
static const struct {
	const char *group;
	unsigned phases;
	const char *of;
} groups[] = {
	{ "Workload", IN_TRAINING | IN_SAVING, "an option of phase=train" },
	/* phase=prepare of a training that saves takes them, and needs none. */
	{ "Model", IN_TRAINING | IN_SAVING, "an option of phase=checkpoint" },
	{ "Checkpoint", IN_TRAINING | IN_SAVING,
	  "an option of phase=checkpoint" },
	{ "Dataset", IN_TRAINING, "an option of phase=train" },
	{ "Accelerator", IN_TRAINING, "an option of phase=train" },
	{ "Evaluation", IN_TRAINING, "an option of phase=train" },
	{ "Loader", IN_TRAINING, "an option of phase=train" },
	{ "Plain I/O", IN(PHASE_IO),
	  "an option of plain I/O jobs (phase=io, rw=...)" },
};

static const struct {
	int phase;
	const char *option, *value;
} defaults[] = {
	{ PHASE_IO, "directory", "." },
	{ PHASE_IO, "bs", "4k" },
	{ PHASE_IO, "percentile_list",
	  "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99" },
};

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* The row of the option's group; past the end, every phase has it. */
static size_t find_group(const struct mlgen_field *f)
{
	size_t i = 0;

	while (i < ROWS(groups) && strcmp(groups[i].group, f->group) != 0)
		i++;
	return i;
}

bool phase_has(int phase, const struct mlgen_field *f)
{
	size_t i = find_group(f);

	return i == ROWS(groups) || (groups[i].phases & IN(phase));
}

const char *phase_name(int phase)
{
	const struct mlgen_field *f = field_find(job_fields, "phase");
	const struct mlgen_choice *c = f->choices;

	while (c->name && c->value != phase)
		c++;
	return c->name;
}

const char *phase_of(const struct mlgen_field *f)
{
	size_t i = find_group(f);

	assert(i < ROWS(groups));
	return groups[i].of;
}

static void set_default(struct job *j, const char *option, const char *value)
{
	const struct mlgen_field *f = field_find(job_fields, option);
	struct buf how = { 0 };
	int rc = field_parse(f, j, value, 1024, NULL);

	assert(rc == 0);
	(void)rc;
	buf_addf(&how, "default of phase=%s", phase_name(j->phase));
	mem_replace(&j->origins[f - job_fields].how, buf_str(&how));
	buf_fini(&how);
}

void phase_set_defaults(struct job *j)
{
	for (size_t i = 0; i < ROWS(defaults); i++) {
		if (defaults[i].phase == j->phase)
			set_default(j, defaults[i].option, defaults[i].value);
	}
}
