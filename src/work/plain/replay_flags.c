/* SPDX-License-Identifier: Apache-2.0 */
/* replay_flags.c - see replay_flags.h. */
#include "work/plain/replay_flags.h"

#include <fcntl.h>

bool replay_flags_pass_cache(const struct job *j, bool was_direct)
{
	if (!(j->engine->caps & MLGEN_CAP_DIRECT))
		return false;
	return job_is_given(j, "direct") || job_is_given(j, "buffered") ? j->direct : was_direct;
}

static int with_direct(const struct job *j, int flags, bool was_direct)
{
	bool is_direct = !(flags & O_DIRECTORY) && replay_flags_pass_cache(j, was_direct);

	return (flags & ~O_DIRECT) | (is_direct ? O_DIRECT : 0);
}

int replay_flags(const struct job *j, const struct replay_files *f, uint32_t id, uint32_t traced)
{
	const struct replay_file *file = replay_file(f, id);
	int flags = (int)traced & O_DIRECTORY;

	if (replay_file_is_traced(f, id))
		return with_direct(j, flags | O_RDONLY | O_CLOEXEC, traced & O_DIRECT);
	/* What is mapped to be written has to be readable, too. */
	if (file->flags & REPLAY_FILE_CHANGED && !(flags & O_DIRECTORY))
		flags |= O_RDWR | ((int)traced & (O_CREAT | O_TRUNC | O_SYNC));
	return with_direct(j, flags | O_CLOEXEC | O_NOFOLLOW, traced & O_DIRECT);
}

int replay_flags_unseen(const struct job *j, const struct replay_files *f, uint32_t id)
{
	const struct replay_file *file = replay_file(f, id);
	bool is_made = file->flags & REPLAY_FILE_CHANGED && !(file->flags & REPLAY_FILE_FOLDER);

	return replay_flags(j, f, id,
			    (is_made ? O_CREAT : 0) |
				    (file->flags & REPLAY_FILE_DEVICE ? O_DIRECT : 0));
}
