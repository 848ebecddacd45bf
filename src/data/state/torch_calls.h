/* SPDX-License-Identifier: Apache-2.0 */
/* torch_calls.h - the calls by which torch.save writes an archive and torch.load reads it. */
#pragma once

#include "data/state/shard.h"

/*
 * torch.save(state, path): a C++ stream, whose buffer holds 8191 bytes; a write of 1024 bytes or
 * more, or that does not fit, goes out together with what the buffer has. torch.save(state, file):
 * Python's buffer of 4096 bytes; a write that does not fit makes it go out alone, and one that is
 * larger follows.
 *
 * torch.load(path) reads through Python's buffer of 4096 bytes: what it has is taken from there,
 * and no more is asked for than the rest, or a buffer full if that is less.
 *
 * One call moves as much as Linux allows, a little less when it writes (shard_most_run); the rest
 * is a call of its own.
 */
enum {
	TORCH_PATH_BUFFER = 8191,
	TORCH_FILE_BUFFER = 4096,
};

/* As in struct layout. */
bool torch_path_write_next(const struct shard *f, struct shard_write *w);
bool torch_file_write_next(const struct shard *f, struct shard_write *w);
bool torch_read_next(const struct shard *f, struct shard_read *r);
