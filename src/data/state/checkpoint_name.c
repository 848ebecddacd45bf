/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_name.c - names of the directories of checkpoints, given and recognised. */
#include "data/state/state.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static const struct {
	const char *before, *after;
} places[] = {
	[CHECKPOINT_FINAL] = { "", "" },
	[CHECKPOINT_PART] = { ".", ".part" },
	[CHECKPOINT_OLD] = { ".", ".old" },
};

#define PLACES ARRAY_LEN(places)

void checkpoint_put_name(char to[CHECKPOINT_NAME_BYTES], uint64_t epoch, uint64_t step,
			 enum checkpoint_place place)
{
	snprintf(to, CHECKPOINT_NAME_BYTES, "%sglobal_epoch%" PRIu64 "_step%" PRIu64 "%s",
		 places[place].before, epoch, step, places[place].after);
}

static const char *read_number(const char *s, const char *before, uint64_t *out)
{
	char *end;

	if (strncmp(s, before, strlen(before)) != 0)
		return NULL;
	s += strlen(before);
	errno = 0;
	*out = strtoull(s, &end, 10);
	return *s >= '0' && *s <= '9' && errno == 0 ? end : NULL;
}

bool checkpoint_read_name(const char *name, struct checkpoint *k)
{
	const char *s;

	s = read_number(name + (*name == '.'), "global_epoch", &k->epoch);
	s = s ? read_number(s, "_step", &k->step) : NULL;
	for (unsigned i = 0; s && i < PLACES; i++) {
		k->place = (enum checkpoint_place)i;
		checkpoint_put_name(k->name, k->epoch, k->step, k->place);
		if (strcmp(k->name, name) == 0)
			return true;
	}
	return false;
}

void checkpoint_move(struct checkpoint *c, enum checkpoint_place place)
{
	c->place = place;
	checkpoint_put_name(c->name, c->epoch, c->step, place);
}

void checkpoint_final_name(const struct checkpoint *c, char to[CHECKPOINT_NAME_BYTES])
{
	checkpoint_put_name(to, c->epoch, c->step, CHECKPOINT_FINAL);
}
