/* SPDX-License-Identifier: Apache-2.0 */
/* clean_checkpoint.c - --clean for one checkpoint: list or remove the files in its manifest. */
#include "ask/clean/clean.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/files.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/state/state.h"

/* The manifest of a checkpoint is in memory while its files are checked. */
struct clean_checkpoint {
	struct checkpoints in; /* the directory that contains it */
	struct checkpoint_removal removal;
	uint64_t files, bytes; /* files of the manifest that exist */
	bool stays;            /* something in its folder stays */
};

/* Report files that other programs created in the folder. */
static void report_foreign_files(struct clean *c, struct clean_checkpoint *k)
{
	const struct checkpoint_removal *r = &k->removal;
	int fd = openat(r->folder_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		clean_report_remaining(c, NULL, "cannot be read");
		k->stays = true;
		return;
	}
	while ((entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
		    strcmp(name, CHECKPOINT_MANIFEST) == 0 ||
		    strcmp(name, JSONFILE_PART(CHECKPOINT_MANIFEST)) == 0 ||
		    (r->count && bsearch(&name, r->names, r->count, sizeof(name), text_compare)))
			continue;
		clean_report_remaining(c, name, NULL);
		k->stays = true;
	}
	closedir(dir);
}

/* A complete checkpoint has all files and bytes of its manifest; otherwise a file was replaced. */
static bool is_as_written(struct clean *c, const struct clean_checkpoint *k)
{
	const struct checkpoint_removal *r = &k->removal;
	char why[256], there[UNITS_TEXT_BYTES], said[UNITS_TEXT_BYTES];

	if (!r->now.is_complete || (k->files == r->count && k->bytes == r->now.bytes))
		return true;
	snprintf(why, sizeof(why),
		 "its manifest lists %zu files of %s bytes, but %" PRIu64
		 " of %s bytes exist; remove it by hand",
		 r->count, units_human_count(said, r->now.bytes), k->files,
		 units_human_count(there, k->bytes));
	clean_report_remaining(c, NULL, why);
	return false;
}

static int remove_files(const struct clean *c, struct clean_checkpoint *k, struct mlgen_err *err)
{
	const struct checkpoint_removal *r = &k->removal;
	int rc = checkpoint_removal_mark(r, &k->in, err);

	k->files = k->bytes = 0;
	for (size_t i = 0; rc == 0 && i < r->count; i++) {
		struct stat st;

		if (fstatat(r->folder_fd, r->names[i], &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (unlinkat(r->folder_fd, r->names[i], 0) != 0)
			rc = mlgen_fail(err, -errno, "%s/%s: unlink: %s", c->path, r->names[i],
					strerror(errno));
		else {
			k->files++;
			k->bytes += (uint64_t)st.st_size;
		}
	}
	return rc < 0 ? rc : checkpoint_removal_end(r, &k->in, err);
}

static void clean_files(struct clean *c, struct clean_checkpoint *k)
{
	const struct checkpoint_removal *r = &k->removal;
	struct mlgen_err err = { 0 };
	char what[96];
	int rc = 0;

	if (r->count)
		qsort(r->names, r->count, sizeof(*r->names), text_compare);
	report_foreign_files(c, k);
	for (size_t i = 0; i < r->count; i++) {
		struct stat st;
		char why[64];

		if (fstatat(k->removal.folder_fd, r->names[i], &st, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		if (S_ISREG(st.st_mode) && st.st_uid == k->in.maker) {
			k->files++;
			k->bytes += (uint64_t)st.st_size;
			continue;
		}
		snprintf(why, sizeof(why), "belongs to user %u", (unsigned)st.st_uid);
		clean_report_remaining(c, r->names[i],
				       S_ISREG(st.st_mode) ? why : "is not a regular file");
		k->stays = true;
	}
	if (!is_as_written(c, k))
		return;
	snprintf(what, sizeof(what), "checkpoint %" PRIu64 "%s", r->now.number,
		 r->now.is_complete ? "" : ", not complete");
	if (c->removes && !k->stays)
		rc = remove_files(c, k, &err);
	if (rc < 0)
		clean_fault(c, &err);
	if (k->stays)
		k->files = k->bytes = 0;
	clean_report_owned(c, what, k->files, k->bytes);
}

/* Open the directory for changes and find the user who owns its files, as existing checkpoints
 * tell. Needed only for removal. */
static int find_maker(struct clean_checkpoint *k, bool removes, struct mlgen_err *err)
{
	struct mlgen_err why = { 0 };
	int rc = 0;

	k->in.maker = geteuid();
	if (removes)
		rc = checkpoints_prepare(&k->in, &why);
	return rc < 0 ? mlgen_fail(err, rc,
				   "%s: nothing can be removed here: %s; change its permissions, "
				   "or run as another user",
				   k->in.directory, strerror(-rc))
		      : 0;
}

static void begin_checkpoint(struct clean *c, struct clean_checkpoint *k,
			     const struct checkpoint *found)
{
	struct mlgen_err err = { 0 };
	char who[256];
	bool runs = process_check(&found->writer, &c->self) == PROCESS_RUNS;
	int rc = find_maker(k, c->removes, &err);

	k->in.replaces = c->replaces && !runs;
	if (rc == 0)
		rc = checkpoint_removal_begin(&k->removal, &k->in, found, &err);
	if (rc == 0) {
		clean_files(c, k);
	} else if (rc == -EPERM && err.text[0]) {
		clean_report_remaining_text(c, err.text);
	} else if (rc == -EBUSY) {
		err = (struct mlgen_err){ 0 };
		mlgen_fail(&err, rc, "%s: %s; %s", c->path,
			   checkpoint_print_writer(&k->in, &k->removal.now, who, sizeof(who)),
			   runs ? "wait until it ends" : "if it has ended, --replace removes it");
		clean_fault(c, &err);
	} else if (rc != -ENOENT) {
		clean_fault(c, &err);
	}
	checkpoint_removal_fini(&k->removal);
}

/* Drop an empty checkpoint that a killed run or a killed --clean has left. */
static bool drop_bare(const struct clean *c, struct clean_checkpoint *k,
		      const struct checkpoint *found)
{
	struct mlgen_err err = { 0 };

	if (!c->removes || found->place == CHECKPOINT_FINAL || find_maker(k, true, &err) < 0)
		return false;
	int lock_fd = below_lock(k->in.dir_fd);
	bool was_dropped = checkpoint_remove_bare(&k->in, found);
	below_unlock(lock_fd);
	return was_dropped;
}

/* Read the manifest. 1 = an mlgen checkpoint, 0 = something else, or -errno with err. */
static int read_manifest(const struct clean *c, const struct clean_checkpoint *k,
			 struct checkpoint *found, struct mlgen_err *err)
{
	char why[160];
	int fd = below_folder(k->in.dir_fd, found->name);

	if (fd < 0)
		return 0;
	int rc = checkpoint_manifest_read(fd, NULL, found, why, sizeof(why));
	close(fd);
	if (rc == -ENOENT)
		return 0;
	return rc < 0 ? mlgen_fail(err, rc,
				   "%s: %s; remove it by hand, or with the version of mlgen that "
				   "wrote it",
				   c->path, why)
		      : 1;
}

bool clean_checkpoint(struct clean *c, int parent_fd, const char *name)
{
	size_t parent_bytes = strlen(c->path) - strlen(name) - 1;
	struct clean_checkpoint k = { 0 };
	struct checkpoint found = { 0 };
	struct mlgen_err err = { 0 };

	if (!checkpoint_parse_name(name, &found))
		return false;
	k.in = (struct checkpoints){
		.directory = mem_strndup(c->path, parent_bytes),
		.dir_fd = parent_fd,
		.is_held = true,
		.self = c->self,
	};
	int rc = read_manifest(c, &k, &found, &err);
	if (rc < 0)
		clean_fault(c, &err);
	else if (rc == 0)
		rc = drop_bare(c, &k, &found);
	else if (!c->is_repeat) {
		c->manifests++;
		begin_checkpoint(c, &k, &found);
	}
	mem_free(k.in.directory);
	return rc != 0;
}
