/* SPDX-License-Identifier: Apache-2.0 */
/* layout_torch.c - checkpoint_layout=torch: rank_R.pt, all that a rank has, by torch.save(state,
 * path). */
#include "data/state/state_internal.h"

#include <inttypes.h>
#include <stdio.h>

#include "data/state/state.h"

/* The file's name without its suffix is the archive's, or that of whose calls these are. */
static void torch_init(struct shard *f)
{
	const char *name = f->set->state->job->checkpoint_archive;

	if (name && *name)
		snprintf(f->zip.stem, sizeof(f->zip.stem), "%s", name);
	else
		snprintf(f->zip.stem, sizeof(f->zip.stem), "rank_%" PRIu64, f->rank);
	torch_zip_init(f);
}

static void torch_name(const struct shard *f, char *to, size_t bytes)
{
	snprintf(to, bytes, "rank_%" PRIu64 ".pt", f->rank);
}

uint64_t layout_one_file(const struct shard_set *set, uint64_t rank)
{
	return state_groups(set->state, rank) > 0;
}

void layout_all_groups(struct shard *f)
{
	f->groups = state_groups(f->set->state, f->rank);
}

static const char *const torch_names[] = { "rank_#.pt", NULL };

const struct layout layout_torch = {
	.name = "torch",
	.files = layout_one_file,
	.groups = layout_all_groups,
	.init = torch_init,
	.name_of = torch_name,
	.names = torch_names,
	.next = torch_zip_next,
	.meta = torch_zip_meta,
	.describe = torch_zip_describe,
	.write_next = torch_path_write_next,
	.read_next = torch_read_next,
	.stats_to_read = true,
	.buffer_bytes = TORCH_PATH_BUFFER,
};
