/* SPDX-License-Identifier: Apache-2.0 */
/* manifest_file.c - the JSON document that is a dataset's manifest. */
#include "data/dataset/dataset_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/below.h"
#include "base/dirs.h"
#include "base/filekind.h"
#include "base/jsonfile.h"
#include "base/mem.h"
#include "data/dataset/dataset.h"

#define MANIFEST_VERSION 1
/* Its longest part is a list of columns. */
#define BYTES_MAX (UINT64_C(16) << 20)

static void manifest_file_join(char out[PATH_MAX], const char *directory, const char *name)
{
	/* dataset_init has made sure that longer names than these fit. */
	snprintf(out, PATH_MAX, "%s/%s", directory, name);
}

static int bad(const char *path, const char *what, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL, "%s: %s; another directory, or remove this dataset by hand",
			  path, what);
}

static bool get_count(const json_t *root, const char *key, uint64_t *out)
{
	const json_t *v = json_object_get(root, key);

	if (!json_is_integer(v) || json_integer_value(v) < 1)
		return false;
	*out = (uint64_t)json_integer_value(v);
	return true;
}

static bool get_text(const json_t *root, const char *key, char *out, size_t size)
{
	const char *s = json_string_value(json_object_get(root, key));

	return s && (size_t)snprintf(out, size, "%s", s) < size;
}

/* What is not there has its default. */
static bool get_option(const json_t *root, const char *key, uint64_t def, uint64_t *out)
{
	*out = def;
	return !json_object_get(root, key) || get_count(root, key, out);
}

/* To be freed; NULL where it is not there. */
static bool get_word(const json_t *root, const char *key, char **out)
{
	const json_t *word = json_object_get(root, key);

	if (word && !json_is_string(word))
		return false;
	if (word)
		*out = mem_strdup(json_string_value(word));
	return true;
}

static bool get_options(const json_t *root, struct manifest *m)
{
	return get_word(root, "columns", &m->columns) && get_word(root, "sizes", &m->sizes) &&
	       get_option(root, "eval_files", 0, &m->eval_files) &&
	       get_option(root, "label_size", 0, &m->label_size) &&
	       get_option(root, "row_group_size", MANIFEST_ROW_GROUP_SIZE, &m->row_group_size);
}

static int check_version(const json_t *root, const char *path, struct mlgen_err *err)
{
	uint64_t version;

	if (!get_count(root, "version", &version))
		return bad(path, "this is no manifest of a dataset", err);
	if (version == MANIFEST_VERSION)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "%s: version %" PRIu64 " was written by another mlgen, this one knows "
			  "version %d; another directory, or that mlgen",
			  path, version, MANIFEST_VERSION);
}

static int manifest_file_decode(const json_t *root, const char *path, struct manifest *m,
				struct mlgen_err *err)
{
	const json_t *complete = json_object_get(root, "complete");
	int r = check_version(root, path, err);

	if (r)
		return r;
	if (!get_count(root, "num_files", &m->num_files) ||
	    !get_count(root, "samples_per_file", &m->samples_per_file) ||
	    !get_count(root, "subfolders", &m->subfolders) ||
	    !get_text(root, "format", m->format, sizeof(m->format)) ||
	    !get_text(root, "sample_size", m->sample_size, sizeof(m->sample_size)) ||
	    !get_options(root, m) || !json_is_boolean(complete))
		return bad(path, "a parameter is missing or not understood", err);
	m->complete = json_is_true(complete);
	return 0;
}

static int manifest_file_parse(FILE *from, const char *path, struct manifest *m,
			       struct mlgen_err *err)
{
	json_error_t why;
	json_t *root = json_loadf(from, JSON_REJECT_DUPLICATES, &why);
	char what[JSON_ERROR_TEXT_LENGTH + 32];
	int r;

	if (!root) {
		snprintf(what, sizeof(what), "cut short or damaged (%s)", why.text);
		return bad(path, what, err);
	}
	r = manifest_file_decode(root, path, m, err);
	json_decref(root);
	return r;
}

/* Those of few formats, where they are not what they are without a word. */
static int encode_options(json_t *root, const struct manifest *m)
{
	int r = 0;

	if (m->label_size)
		r |= json_object_set_new(root, "label_size",
					 json_integer((json_int_t)m->label_size));
	if (m->row_group_size != MANIFEST_ROW_GROUP_SIZE)
		r |= json_object_set_new(root, "row_group_size",
					 json_integer((json_int_t)m->row_group_size));
	if (m->columns)
		r |= json_object_set_new(root, "columns", json_string(m->columns));
	if (m->sizes)
		r |= json_object_set_new(root, "sizes", json_string(m->sizes));
	if (m->eval_files)
		r |= json_object_set_new(root, "eval_files",
					 json_integer((json_int_t)m->eval_files));
	return r;
}

static json_t *manifest_file_encode(const struct manifest *m)
{
	/* clang-format off */
	json_t *root = json_pack("{s:i, s:s, s:I, s:I, s:I, s:s, s:b}",
			 "version", MANIFEST_VERSION,
			 "format", m->format,
			 "num_files", (json_int_t)m->num_files,
			 "samples_per_file", (json_int_t)m->samples_per_file,
			 "subfolders", (json_int_t)m->subfolders,
			 "sample_size", m->sample_size,
			 "complete", (int)m->complete);

	/* clang-format on */
	if (root && encode_options(root, m) != 0) {
		json_decref(root);
		root = NULL;
	}
	return root;
}

void manifest_fini(struct manifest *m)
{
	mem_free(m->columns);
	mem_free(m->sizes);
	memset(m, 0, sizeof(*m));
}

/* `name` as filekind_open takes it; `path` is for messages. */
static int manifest_file_load(int dir_fd, const char *name, int flags, const char *path,
			      struct manifest *m, struct mlgen_err *err)
{
	char way[DIRS_WAY_BYTES];
	const char *wrong;
	FILE *f;
	int r;

	memset(m, 0, sizeof(*m));
	r = filekind_open(&f, dir_fd, name, flags, BYTES_MAX, &wrong);
	if (wrong)
		return bad(path, wrong, err);
	if (r)
		return r == -ENOENT ? r
				    : mlgen_fail(err, r, "%s: %s%s", path, strerror(-r),
						 dirs_in_the_way(way, path, r));
	r = manifest_file_parse(f, path, m, err);
	fclose(f);
	if (r)
		manifest_fini(m);
	return r;
}

int manifest_load(const char *directory, struct manifest *m, struct mlgen_err *err)
{
	char path[PATH_MAX];

	manifest_file_join(path, directory, MANIFEST_NAME);
	return manifest_file_load(AT_FDCWD, path, 0, path, m, err);
}

int manifest_load_at(int dir_fd, const char *directory, struct manifest *m, struct mlgen_err *err)
{
	char path[PATH_MAX];

	manifest_file_join(path, directory, MANIFEST_NAME);
	return manifest_file_load(dir_fd, MANIFEST_NAME, O_NOFOLLOW, path, m, err);
}

int manifest_store(const char *directory, const struct manifest *m, struct mlgen_err *err)
{
	int fd = below_hold(directory);
	int r;

	if (fd < 0)
		return mlgen_fail(err, fd, "%s/%s: %s", directory, MANIFEST_NAME, strerror(-fd));
	r = manifest_store_at(fd, directory, m, err);
	close(fd);
	return r;
}

int manifest_store_at(int dir_fd, const char *directory, const struct manifest *m,
		      struct mlgen_err *err)
{
	json_t *root = manifest_file_encode(m);
	int r;

	if (!root)
		return mlgen_fail(err, -ENOMEM, "%s: out of memory", MANIFEST_NAME);
	r = jsonfile_replace(dir_fd, MANIFEST_NAME, root, true);
	json_decref(root);
	if (r)
		return mlgen_fail(err, r, "%s/%s: %s", directory, MANIFEST_NAME, strerror(-r));
	return 0;
}
