/* SPDX-License-Identifier: Apache-2.0 */
/* torch_rig.h - files of torch.save, for the tests of what is in them. */
#pragma once

#include "shard_rig.h"

#define PATH "checkpoint_layout=torch access=framework "
#define FILE_OBJECT "checkpoint_layout=deepspeed access=framework "

/* With calls as long as those of a writer. */
static inline void open_list(struct shard_rig *r, const char *options, const char *text)
{
	rig_open_list(r, options, text, 2u << 20);
}

static inline char *list_of(uint64_t n, const char *name, uint64_t (*bytes)(uint64_t))
{
	size_t room = n * 64, used = 0;
	char *text = mem_zalloc(room);

	for (uint64_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, room - used, "%s%" PRIu64 ".w %" PRIu64 "\n",
					 name, i, bytes(i));
	return text;
}
