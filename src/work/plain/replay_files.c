/* SPDX-License-Identifier: Apache-2.0 */
/* replay_files.c - the files that a replay touches: their ids, and where they are here. */
#include "work/plain/replay_files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "work/plain/replay_inside.h"

/* One step back, but not beyond `root` bytes. */
static size_t step_back(const char *out, size_t root, size_t len)
{
	while (len > root && out[--len] != '/')
		;
	return len;
}

int replay_add_steps(char out[PATH_MAX], size_t root, const char *path)
{
	size_t len = root;

	while (*path) {
		size_t step = strcspn(path, "/");

		if (step == 2 && path[0] == '.' && path[1] == '.') {
			len = step_back(out, root, len);
		} else if (step && (step > 1 || *path != '.')) {
			if (step > NAME_MAX || len + 1 + step >= PATH_MAX)
				return -ENAMETOOLONG;
			out[len++] = '/';
			memcpy(out + len, path, step);
			len += step;
		}
		path += step + (path[step] == '/');
	}
	out[len] = '\0';
	return 0;
}

size_t replay_root(const char *directory)
{
	return strcmp(directory, "/") == 0 ? 0 : strlen(directory);
}

/* Up to which of its bytes `path` leads when its last step is left out; of "/" it is all. */
static size_t above(const char *path, size_t bytes)
{
	while (bytes > 0 && path[bytes - 1] != '/')
		bytes--;
	while (bytes > 1 && path[bytes - 1] == '/')
		bytes--;
	return bytes;
}

/* Of what is not there yet the steps are taken as they are. */
static char *real_directory(const char *path)
{
	char *part = mem_strdup(path);
	size_t there = strlen(path);
	char real[PATH_MAX];
	bool found;

	while (!(found = realpath(there ? part : ".", real)) && there) {
		there = above(part, there);
		part[there] = '\0';
	}
	mem_free(part);
	if (!found || replay_add_steps(real, replay_root(real), path + there) != 0)
		return mem_strdup(path);
	return mem_strdup(*real ? real : "/");
}

void replay_files_init(struct replay_files *f, const struct job *job)
{
	*f = (struct replay_files){ .job = job, .names = trace_names_new() };
	f->directory = real_directory(job->directory ? job->directory : ".");
}

void replay_files_fini(struct replay_files *f)
{
	trace_names_free(f->names);
	spill_free(&f->list);
	mem_free(f->directory);
	*f = (struct replay_files){ 0 };
}

uint32_t replay_files_id(struct replay_files *f, const char *name, size_t bytes)
{
	uint32_t id = trace_names_id(f->names, name, bytes, NULL);

	spill_need(&f->list, ((size_t)id + 1) * sizeof(struct replay_file));
	return id;
}

struct replay_file *replay_file(const struct replay_files *f, uint32_t id)
{
	struct replay_file *list = f->list.at;

	return &list[id];
}

bool replay_file_is_traced(const struct replay_files *f, uint32_t id)
{
	return f->job->replay_files == REPLAY_TRACED &&
	       !(replay_file(f, id)->flags & REPLAY_FILE_CHANGED);
}

int replay_files_path(const struct replay_files *f, uint32_t id, char out[PATH_MAX])
{
	const char *name = trace_names_text(f->names, id, NULL);
	size_t root = replay_root(f->directory);

	if (replay_file_is_traced(f, id)) {
		size_t bytes = strlen(name) + 1;

		if (bytes > PATH_MAX)
			return -ENAMETOOLONG;
		memcpy(out, name, bytes);
		return 0;
	}
	if (root >= PATH_MAX)
		return -ENAMETOOLONG;
	memcpy(out, f->directory, root);
	return replay_add_steps(out, root, name);
}
