/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.c - the manifest of a dataset directory: read, write, and compare it with a job. */
#include "data/dataset/dataset_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"
#include "data/file/file.h"

/* The default in job_fields, which is not written. */
#define MANIFEST_ROW_GROUP_SIZE 1024

/* ---- the document ---- */

#define MANIFEST_VERSION 1
/* The longest part is a list of columns. */
#define MANIFEST_BYTES_MAX (UINT64_C(16) << 20)

static void manifest_path(char out[PATH_MAX], const char *directory)
{
	/* dataset_init has checked that longer names than this one fit. */
	snprintf(out, PATH_MAX, "%s/" MANIFEST_NAME, directory);
}

static int manifest_fail(const char *path, const char *what, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "%s: %s; use another directory, or remove this dataset by hand", path,
			  what);
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

/* A missing option has its default. */
static bool get_option(const json_t *root, const char *key, uint64_t def, uint64_t *out)
{
	*out = def;
	return !json_object_get(root, key) || get_count(root, key, out);
}

/* *out is allocated, and stays NULL if the key is missing. */
static bool get_string(const json_t *root, const char *key, char **out)
{
	const json_t *word = json_object_get(root, key);

	if (word && !json_is_string(word))
		return false;
	if (word)
		*out = mem_strdup(json_string_value(word));
	return true;
}

static int decode_manifest(const json_t *root, const char *path, struct manifest *m,
			   struct mlgen_err *err)
{
	const json_t *complete = json_object_get(root, "complete");
	uint64_t version;

	if (!get_count(root, "version", &version))
		return manifest_fail(path, "is not the manifest of a dataset", err);
	if (version != MANIFEST_VERSION)
		return mlgen_fail(
			err, -EINVAL,
			"%s: version %" PRIu64
			" was written by another version of mlgen, this mlgen reads version %d; "
			"use another directory, or the other mlgen",
			path, version, MANIFEST_VERSION);

	if (!get_count(root, "num_files", &m->num_files) ||
	    !get_count(root, "samples_per_file", &m->samples_per_file) ||
	    !get_count(root, "subfolders", &m->subfolders) ||
	    !get_text(root, "format", m->format, sizeof(m->format)) ||
	    !get_text(root, "sample_size", m->sample_size, sizeof(m->sample_size)) ||
	    !get_string(root, "columns", &m->columns) || !get_string(root, "sizes", &m->sizes) ||
	    !get_option(root, "eval_files", 0, &m->eval_files) ||
	    !get_option(root, "label_size", 0, &m->label_size) ||
	    !get_option(root, "row_group_size", MANIFEST_ROW_GROUP_SIZE, &m->row_group_size) ||
	    !json_is_boolean(complete))
		return manifest_fail(path, "a parameter is missing or invalid", err);
	m->complete = json_is_true(complete);
	return 0;
}

/* Options that have their default are left out. */
static json_t *encode_manifest(const struct manifest *m)
{
	int r = 0;
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
	if (r == 0)
		return root;
	json_decref(root);
	return NULL;
}

void manifest_fini(struct manifest *m)
{
	mem_free(m->columns);
	mem_free(m->sizes);
	memset(m, 0, sizeof(*m));
}

/* dir_fd, `name` and flags are those of filekind_open; `path` is for messages. */
static int manifest_file_load(int dir_fd, const char *name, int flags, const char *path,
			      struct manifest *m, struct mlgen_err *err)
{
	char way[DIRS_WAY_BYTES], what[JSON_ERROR_TEXT_LENGTH + 32];
	const char *wrong;
	json_error_t why;
	FILE *f;

	memset(m, 0, sizeof(*m));
	int r = filekind_open(&f, dir_fd, name, flags, MANIFEST_BYTES_MAX, &wrong);
	if (wrong)
		return manifest_fail(path, wrong, err);
	if (r)
		return r == -ENOENT ? r
				    : mlgen_fail(err, r, "%s: %s%s", path, strerror(-r),
						 dirs_explain_failure(way, path, r));
	json_t *root = json_loadf(f, JSON_REJECT_DUPLICATES, &why);
	fclose(f);
	if (!root) {
		snprintf(what, sizeof(what), "is incomplete or damaged (%s)", why.text);
		return manifest_fail(path, what, err);
	}
	r = decode_manifest(root, path, m, err);
	json_decref(root);
	if (r)
		manifest_fini(m);
	return r;
}

int manifest_load(const char *directory, struct manifest *m, struct mlgen_err *err)
{
	char path[PATH_MAX];

	manifest_path(path, directory);
	return manifest_file_load(AT_FDCWD, path, 0, path, m, err);
}

/* ---- a manifest and a dataset ---- */

/* Above this number of files only a sample of CHECK_SAMPLE files is checked. */
#define CHECK_FILES_MAX UINT64_C(1000000)
#define CHECK_SAMPLE UINT64_C(4096)

static void describe(const struct dataset *ds, struct manifest *m)
{
	const struct format_options *o = &ds->options;
	struct buf size;

	buf_init(&size);
	dist_identify(&size, &ds->sample_size, DIST_BYTES);
	m->num_files = ds->files_named;
	m->samples_per_file = ds->samples_per_file;
	m->subfolders = ds->subfolders;
	snprintf(m->format, sizeof(m->format), "%s", ds->format->name);
	snprintf(m->sample_size, sizeof(m->sample_size), "%s", buf_str(&size));
	buf_reset(&size);
	dist_content(&size, &ds->sample_size);
	m->sizes = size.len ? buf_detach(&size) : NULL;
	buf_fini(&size);
	m->eval_files = ds->eval_files;
	m->label_size = o->label_size_bytes;
	m->row_group_size = MANIFEST_ROW_GROUP_SIZE;
	/* Other formats ignore these options, but a job may still set them. */
	if (ds->format != &format_parquet)
		return;
	if (o->row_group_size)
		m->row_group_size = o->row_group_size;
	if (o->columns)
		m->columns = mem_strdup(o->columns);
}

static int describe_dataset(struct dataset *ds, struct manifest *m, const char *directory,
			    struct mlgen_err *err)
{
	ds->format = format_find(m->format);
	if (!ds->format)
		return mlgen_fail(err, -EINVAL, "%s/%s: this mlgen does not know format '%s'",
				  directory, MANIFEST_NAME, m->format);
	ds->directory = mem_strdup(directory);
	ds->files = m->num_files;
	ds->files_named = m->num_files;
	ds->samples_per_file = m->samples_per_file;
	ds->subfolders = m->subfolders;
	ds->eval_files = m->eval_files;
	ds->options.label_size_bytes = m->label_size;
	ds->options.row_group_size = m->row_group_size;
	ds->options.columns = m->columns;
	m->columns = NULL;
	int r = dist_restore(&ds->sample_size, m->sample_size, m->sizes, DIST_BYTES, err);
	if (r)
		return r;
	if (dist_is_const(&ds->sample_size) && ds->sample_size.a < 1)
		return mlgen_fail(err, -EINVAL, "%s/%s: sample_size=%s is below the minimum 1",
				  directory, MANIFEST_NAME, m->sample_size);
	r = dataset_init_format(ds, err);
	return r ? r : dataset_check_bytes(ds, (double)ds->files, err);
}

/* Number of files that --replace would delete. */
static uint64_t files_made(const char *directory)
{
	struct dataset made;
	struct manifest m;

	if (manifest_load(directory, &m, NULL) != 0)
		return 0;
	uint64_t files = m.num_files; /* a lower bound, if the format is not known */
	memset(&made, 0, sizeof(made));
	if (describe_dataset(&made, &m, directory, NULL) == 0)
		files = (made.files + made.eval_files) * made.parts;
	dataset_fini(&made);
	manifest_fini(&m);
	return files;
}

/* `hint` is another remedy, with a comma at its end. */
static int differs_with_hint(const struct dataset *ds, const char *option, const char *made,
			     const char *job, const char *hint, struct mlgen_err *err)
{
	uint64_t files = files_made(ds->directory);

	return mlgen_fail(
		err, -EINVAL,
		"dataset %s was made with %s=%s, the job says %s; %suse another directory, or "
		"--phase=prepare --replace to make it anew (deletes %" PRIu64 " file%s)",
		ds->directory, option, made, job, hint, files, files == 1 ? "" : "s");
}

static int differs(const struct dataset *ds, const char *option, const char *made, const char *job,
		   struct mlgen_err *err)
{
	return differs_with_hint(ds, option, made, job, "", err);
}

static int differs_count(const struct dataset *ds, const char *option, uint64_t made, uint64_t job,
			 struct mlgen_err *err)
{
	char a[24], b[24];

	snprintf(a, sizeof(a), "%" PRIu64, made);
	snprintf(b, sizeof(b), "%" PRIu64, job);
	return differs(ds, option, a, b, err);
}

static int manifest_compare(const struct dataset *ds, const struct manifest *m,
			    struct mlgen_err *err)
{
	struct manifest job = { 0 };
	const char *made_columns = m->columns ? m->columns : "(none)", *job_columns;
	int r = 0;

	describe(ds, &job);
	job_columns = job.columns ? job.columns : "(none)";
	const struct {
		const char *option;
		uint64_t made, job;
	} counts[] = {
		{ "samples_per_file", m->samples_per_file, job.samples_per_file },
		{ "subfolders", m->subfolders, job.subfolders },
		{ "label_size", m->label_size, job.label_size },
		{ "row_group_size", m->row_group_size, job.row_group_size },
	};

	if (strcmp(m->format, job.format) != 0)
		r = differs(ds, "format", m->format, job.format, err);
	else if (strcmp(m->sample_size, job.sample_size) != 0)
		r = differs(ds, "sample_size", m->sample_size, job.sample_size, err);
	for (size_t i = 0; i < ARRAY_LEN(counts) && r == 0; i++)
		if (counts[i].made != counts[i].job)
			r = differs_count(ds, counts[i].option, counts[i].made, counts[i].job, err);
	if (r == 0 && strcmp(made_columns, job_columns) != 0)
		r = differs(ds, "columns", made_columns, job_columns, err);
	if (r == 0 && m->num_files < ds->files) {
		/* The number of files that scale leaves depends on accelerators; fewer accelerators
		 * may need fewer files. */
		uint64_t ranks = m->complete ? dataset_ranks_for(ds, m->num_files) : 0;
		char a[24], b[24], fewer[64] = "";

		snprintf(a, sizeof(a), "%" PRIu64, m->num_files);
		snprintf(b, sizeof(b), "%" PRIu64, ds->files);
		if (ranks > 0 && ranks < ds->scaled.ranks)
			snprintf(fewer, sizeof(fewer),
				 "--accelerators=%" PRIu64 " needs only these, ", ranks);
		r = differs_with_hint(ds, "num_files", a, b, fewer, err);
	}
	manifest_fini(&job);
	return r;
}

/* True if at least one part has its folder; otherwise no file can exist. */
static bool has_folder(const struct dataset *ds)
{
	char path[PATH_MAX];

	for (unsigned part = 0; part < ds->parts; part++)
		if (dataset_folder(ds, part, path, sizeof(path)) > 0 && access(path, F_OK) == 0)
			return true;
	return false;
}

int manifest_read(struct dataset *ds, enum manifest_state *state, struct mlgen_err *err)
{
	struct manifest m;

	*state = ds->scan ? MANIFEST_COMPLETE : MANIFEST_ABSENT;
	if (ds->scan)
		return 0;
	int r = manifest_load(ds->directory, &m, err);
	if (r)
		return r == -ENOENT ? 0 : r;
	r = manifest_compare(ds, &m, err);
	if (r == 0) {
		ds->files_named = m.num_files;
		ds->eval_files = m.eval_files;
		*state = m.complete ? MANIFEST_COMPLETE : MANIFEST_INCOMPLETE;
	}
	manifest_fini(&m);
	return r;
}

int manifest_read_eval(struct dataset *eval, const struct dataset *train,
		       enum manifest_state *state, struct mlgen_err *err)
{
	struct manifest m;
	int r = manifest_load(eval->directory, &m, err);

	*state = MANIFEST_ABSENT;
	if (r == -ENOENT) {
		dataset_number_eval(eval, train, eval->files);
		return 0;
	}
	if (r)
		return r;
	if (m.eval_files)
		*state = m.complete ? MANIFEST_COMPLETE : MANIFEST_INCOMPLETE;
	if (m.eval_files && m.eval_files < eval->files)
		r = differs_count(train, "eval_files", m.eval_files, eval->files, err);
	dataset_number_eval(eval, train, m.eval_files ? m.eval_files : eval->files);
	manifest_fini(&m);
	return r;
}

int manifest_write(const struct dataset *ds, bool complete, struct mlgen_err *err)
{
	int fd = below_open_root(ds->directory);

	if (fd < 0)
		return mlgen_fail(err, fd, "%s/%s: %s", ds->directory, MANIFEST_NAME,
				  strerror(-fd));
	int r = manifest_write_at(fd, ds, complete, err);
	close(fd);
	return r;
}

int manifest_write_at(int dir_fd, const struct dataset *ds, bool complete, struct mlgen_err *err)
{
	struct manifest m = { 0 };

	describe(ds, &m);
	m.complete = complete;
	json_t *root = encode_manifest(&m);
	manifest_fini(&m);
	if (!root)
		return mlgen_fail(err, -ENOMEM, "%s: out of memory", MANIFEST_NAME);
	int r = jsonfile_replace(dir_fd, MANIFEST_NAME, root, true);
	json_decref(root);
	return r ? mlgen_fail(err, r, "%s/%s: %s", ds->directory, MANIFEST_NAME, strerror(-r)) : 0;
}

/* Set up the dataset of `m`, which was just loaded with the result `r`. Frees `m`. */
static int describe_loaded(struct manifest *m, int r, const char *directory, struct dataset *ds,
			   struct mlgen_err *err)
{
	memset(ds, 0, sizeof(*ds));
	if (r)
		return r;
	r = describe_dataset(ds, m, directory, err);
	manifest_fini(m);
	if (r)
		dataset_fini(ds);
	return r;
}

int manifest_describe(const char *directory, struct dataset *ds, struct mlgen_err *err)
{
	struct manifest m;
	int r = manifest_load(directory, &m, err);

	return describe_loaded(&m, r, directory, ds, err);
}

int manifest_describe_at(int dir_fd, const char *directory, struct dataset *ds,
			 struct mlgen_err *err)
{
	struct manifest m;
	char path[PATH_MAX];

	manifest_path(path, directory);
	int r = manifest_file_load(dir_fd, MANIFEST_NAME, O_NOFOLLOW, path, &m, err);
	return describe_loaded(&m, r, directory, ds, err);
}

int manifest_present(const struct dataset *ds, uint64_t *files, uint64_t *bytes, bool *estimate,
		     struct mlgen_err *err)
{
	bool is_eval = ds->first_content > 0;
	uint64_t all = dataset_all_files(ds);
	struct dataset_totals t;
	struct manifest m = { 0 };
	int r = ds->scan ? 0 : manifest_load(ds->directory, &m, err);

	*files = 0;
	*bytes = 0;
	*estimate = false;
	if (r)
		return r == -ENOENT ? 0 : r;
	if (ds->scan || (m.complete && (m.eval_files || !is_eval))) {
		dataset_totals(ds, &t);
		*files = dataset_existing_files(ds);
		*bytes = t.bytes;
		*estimate = t.estimate;
	} else if (has_folder(ds)) {
		*estimate = all > CHECK_FILES_MAX;

		/* Check n files, evenly spread over all parts, and extrapolate to all files. */
		uint64_t n = *estimate ? CHECK_SAMPLE : all;
		double each = (double)all / (double)n;
		double present_bytes = 0;
		uint64_t present = 0;

		for (uint64_t i = 0; i < n; i++) {
			uint64_t file = n == all ? i : (uint64_t)((double)i * each);
			char path[PATH_MAX];
			struct stat st;

			if (dataset_path(ds, file, path, sizeof(path)) <= 0 ||
			    stat(path, &st) != 0 || !S_ISREG(st.st_mode) ||
			    (uint64_t)st.st_size != dataset_file_bytes(ds, file))
				continue;
			present++;
			present_bytes += (double)st.st_size;
		}
		*files = (uint64_t)((double)present * each);
		*bytes = (uint64_t)(present_bytes * each);
	}
	manifest_fini(&m);
	return 0;
}
