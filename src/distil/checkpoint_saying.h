/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_saying.h - what the finder of checkpoints knows when it says it; for
 * checkpoint_found.c and checkpoint_say.c alone. */
#pragma once

#include "distil/checkpoint_form.h"
#include "distil/side_file.h"

struct saying {
	struct distil *d;
	uint32_t party;
	struct saves saves;
	struct checkpoint_form form;
	struct restores {
		uint32_t count;
		uint64_t *start_ns, *end_ns; /* SAVES_MOST, in order of time */
		uint64_t bytes, visits;
	} restores;
	bool is_training;
	char tensor_file[SIDE_FILE_BYTES]; /* "" = none */
};

/* An option that is a number. */
void checkpoint_say_u64(struct jobsection *to, enum distil_sure sure, const char *option,
			uint64_t value, const char *why);
/* What is saved and by whom: layout, state, ranks. */
void checkpoint_say_what(const struct saying *g, struct jobsection *to);
