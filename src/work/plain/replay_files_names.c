/* SPDX-License-Identifier: Apache-2.0 */
/* replay_files_names.c - one name for each file below the directory, and what the names say of each
 * other. */
#include <errno.h>
#include <string.h>

#include "base/jsonfile.h"
#include "base/util.h"
#include "run/make/make.h"
#include "work/plain/replay_inside.h"

/* Of a name that is too long so much is shown. */
#define SHOWN_BYTES 160

static int name_too_long(const struct replay_files *f, uint32_t id, struct mlgen_err *err)
{
	return mlgen_fail(err, -ENAMETOOLONG,
			  "%s: %s below %s; name a directory with a shorter path, or another "
			  "filesystem: %.*s...",
			  f->job->replay_trace ? f->job->replay_trace : "replay_trace",
			  strerror(ENAMETOOLONG), f->directory, SHOWN_BYTES,
			  trace_names_text(f->names, id, NULL));
}

/* Two names, of which the second one stays. */
static void replay_files_names_join(struct replay_files *f, uint32_t id, uint32_t stays)
{
	struct replay_file *from = replay_file(f, id);
	struct replay_file *to = replay_file(f, stays);

	to->flags |= from->flags;
	to->bytes = u64_max(to->bytes, from->bytes);
	from->flags |= REPLAY_FILE_ALIAS;
}

static int replay_files_names_settle(struct replay_files *f, uint32_t id, struct mlgen_err *err)
{
	size_t bytes;
	const char *name = trace_names_text(f->names, id, &bytes);
	char path[PATH_MAX];

	if (replay_files_path(f, id, path) != 0 || replay_add_steps(path, 0, name) != 0)
		return name_too_long(f, id, err);
	if (*path == '\0')
		memcpy(path, "/", 2);
	if (strlen(path) != bytes || memcmp(path, name, bytes) != 0)
		replay_files_names_join(f, id, replay_files_id(f, path, strlen(path)));
	return 0;
}

static int check_name(const struct replay_files *f, uint32_t id, struct mlgen_err *err)
{
	static const char *const ours[] = { "/" REPLAY_MARKER, "/" JSONFILE_PART(REPLAY_MARKER),
					    "/" DIRLOCK_NAME };
	const char *name = trace_names_text(f->names, id, NULL);

	if (name[1] == '\0' && !(replay_file(f, id)->flags & REPLAY_FILE_FOLDER))
		return mlgen_fail(
			err, -EISDIR,
			"%s: the trace has a file of the name %s, which is this directory itself",
			f->directory, name);
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (strcmp(name, ours[i]) == 0)
			return mlgen_fail(err, -EINVAL,
					  "%s%s: the trace has a file of this name, which mlgen "
					  "needs there itself",
					  f->directory, name);
	return 0;
}

/* What stands above a file in the tree, if the trace names it; NULL = it does not. */
static struct replay_file *file_above(const struct replay_files *f, const char *name,
				      const char *slash)
{
	uint32_t id = trace_names_find(f->names, name, (size_t)(slash - name));

	return id && replay_file(f, id)->flags ? replay_file(f, id) : NULL;
}

/* Something is below it. A stat or a rename does not say that it is of a folder, and what was in a
 * folder before that has been renamed the trace has made. */
static void infer_above(struct replay_file *file, struct replay_file *above)
{
	unsigned flags = above->flags;

	if (flags & (REPLAY_FILE_FOLDER | REPLAY_FILE_READ))
		return;
	if (flags & REPLAY_FILE_THERE)
		above->flags |= REPLAY_FILE_FOLDER;
	else if (flags & REPLAY_FILE_MADE)
		file->flags &= ~(unsigned)REPLAY_FILE_THERE;
}

static void infer(const struct replay_files *f, uint32_t id)
{
	const char *name = trace_names_text(f->names, id, NULL);
	struct replay_file *file = replay_file(f, id), *above;
	const char *slash = name;

	if (!(file->flags & (REPLAY_FILE_THERE | REPLAY_FILE_CHANGED)) ||
	    file->flags & REPLAY_FILE_ALIAS)
		return;
	if (strcmp(name, "/") == 0 && !(file->flags & REPLAY_FILE_READ))
		file->flags |= REPLAY_FILE_FOLDER;
	while (*slash && (slash = strchr(slash + 1, '/'))) {
		above = slash[1] ? file_above(f, name, slash) : NULL;
		if (above)
			infer_above(file, above);
	}
}

/* A file that was there before, where another one has a folder? */
static int check_above(const struct replay_files *f, uint32_t id, struct mlgen_err *err)
{
	const char *name = trace_names_text(f->names, id, NULL);
	const char *slash = name;

	if (!(replay_file(f, id)->flags & REPLAY_FILE_THERE))
		return 0;
	while ((slash = strchr(slash + 1, '/'))) {
		const struct replay_file *above = file_above(f, name, slash);
		unsigned flags = above ? above->flags : 0;

		if (flags & REPLAY_FILE_THERE && !(flags & REPLAY_FILE_FOLDER))
			return mlgen_fail(err, -ENOTDIR,
					  "%.*s: the trace has a file of this name, and %s in a "
					  "folder of the same name: both cannot be made",
					  (int)(slash - name), name, name);
	}
	return 0;
}

static void replay_files_names_count(struct replay_files *f, uint32_t id)
{
	const struct replay_file *file = replay_file(f, id);

	if (file->flags & REPLAY_FILE_CHANGED)
		f->changed_files++;
	if (file->flags & REPLAY_FILE_FOLDER)
		return;
	f->files++;
	if (file->flags & REPLAY_FILE_THERE)
		f->bytes = replay_sum(f->bytes, file->bytes);
}

bool replay_file_is_below(const struct replay_files *f, uint32_t id)
{
	unsigned flags = replay_file(f, id)->flags;

	return flags & (REPLAY_FILE_THERE | REPLAY_FILE_CHANGED) && !(flags & REPLAY_FILE_ALIAS) &&
	       !replay_file_is_traced(f, id);
}

int replay_names_settle(struct replay_files *f, struct mlgen_err *err)
{
	uint32_t given = trace_names_count(f->names);
	int r = 0;

	for (uint32_t id = 1; id <= given && r == 0; id++) {
		unsigned flags = replay_file(f, id)->flags;

		if (flags && !(flags & REPLAY_FILE_ALIAS) && !replay_file_is_traced(f, id))
			r = replay_files_names_settle(f, id, err);
	}
	for (uint32_t id = 1; id <= trace_names_count(f->names) && r == 0; id++)
		infer(f, id);
	f->files = f->bytes = f->changed_files = 0;
	f->uses_directory = false;
	for (uint32_t id = 1; id <= trace_names_count(f->names) && r == 0; id++) {
		unsigned flags = replay_file(f, id)->flags;

		if (!flags || flags & REPLAY_FILE_ALIAS)
			continue;
		replay_files_names_count(f, id);
		if (!replay_file_is_below(f, id))
			continue;
		f->uses_directory = true;
		r = check_name(f, id, err);
		if (r == 0)
			r = check_above(f, id, err);
	}
	return r;
}

size_t replay_names_made_above(const struct replay_files *f, uint32_t id)
{
	const char *name = trace_names_text(f->names, id, NULL);
	const char *slash = name;

	if (replay_file(f, id)->flags & REPLAY_FILE_THERE)
		return 0;
	while ((slash = strchr(slash + 1, '/'))) {
		const struct replay_file *above = file_above(f, name, slash);
		unsigned flags = above ? above->flags : 0;
		bool is_folder = flags & REPLAY_FILE_FOLDER;
		bool was_there = flags & REPLAY_FILE_THERE;

		if (flags && is_folder != was_there)
			return (size_t)(slash - name);
	}
	return 0;
}
