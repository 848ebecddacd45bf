/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_every.h - how often a training of a trace saves. */
#pragma once

#include "distil/saves.h"

struct checkpoint_cadence {
	char value[40]; /* of checkpoint_every: "500 steps", "2 epochs", "90s" */
	char why[200];
	enum distil_sure sure;
	bool is_async; /* training went on meanwhile */
	enum distil_sure async_sure;
};

/* Of a party with at least one save. */
void checkpoint_every_find(struct checkpoint_cadence *c, const struct saves *s,
			   const struct distil *d, uint32_t party);
