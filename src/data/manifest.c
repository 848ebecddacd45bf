/* SPDX-License-Identifier: Apache-2.0 */
/* manifest.c - the manifest of a dataset directory, a small JSON document. */
#include "data/manifest.h"

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
#include "base/mem.h"
#include "data/format.h"

#define MANIFEST_VERSION 1
#define MANIFEST_TEMPORARY "." MANIFEST_NAME ".part"

/* More files than this are not looked at one by one. */
#define LOOK_FILES UINT64_C(1000000)
#define LOOK_SAMPLE UINT64_C(4096)

/* The parameters as they are written. */
struct manifest {
	uint64_t num_files, samples_per_file, subfolders;
	char format[16];
	char sample_size[128];
	bool complete;
};

static void join(char out[PATH_MAX], const char *directory, const char *name)
{
	/* dataset_init has made sure that longer names than these fit. */
	snprintf(out, PATH_MAX, "%s/%s", directory, name);
}

static int bad(const char *path, const char *what, struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "%s: %s; another directory, or remove this dataset "
			  "by hand",
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

static bool get_text(const json_t *root, const char *key, char *out,
		     size_t size)
{
	const char *s = json_string_value(json_object_get(root, key));

	return s && (size_t)snprintf(out, size, "%s", s) < size;
}

static int check_version(const json_t *root, const char *path,
			 struct mlgen_err *err)
{
	uint64_t version;

	if (!get_count(root, "version", &version))
		return bad(path, "this is no manifest of a dataset", err);
	if (version == MANIFEST_VERSION)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "%s: version %" PRIu64 " was written by another "
			  "mlgen, this one knows version %d; another "
			  "directory, or that mlgen",
			  path, version, MANIFEST_VERSION);
}

static int decode(const json_t *root, const char *path, struct manifest *m,
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
	    !get_text(root, "sample_size", m->sample_size,
		      sizeof(m->sample_size)) ||
	    !json_is_boolean(complete))
		return bad(path, "a parameter is missing or not understood",
			   err);
	m->complete = json_is_true(complete);
	return 0;
}

static int parse(FILE *from, const char *path, struct manifest *m,
		 struct mlgen_err *err)
{
	json_error_t why;
	json_t *root = json_loadf(from, JSON_REJECT_DUPLICATES, &why);
	char what[JSON_ERROR_TEXT_LENGTH + 32];
	int r;

	if (!root) {
		snprintf(what, sizeof(what), "cut short or damaged (%s)",
			 why.text);
		return bad(path, what, err);
	}
	r = decode(root, path, m, err);
	json_decref(root);
	return r;
}

/* 0, -ENOENT without err, or another -errno with it. */
static int load(const char *directory, struct manifest *m,
		struct mlgen_err *err)
{
	char path[PATH_MAX];
	FILE *f;
	int r;

	memset(m, 0, sizeof(*m));
	join(path, directory, MANIFEST_NAME);
	f = fopen(path, "re");
	if (!f && errno == ENOENT)
		return -ENOENT;
	if (!f)
		return mlgen_fail(err, -errno, "%s: %s", path, strerror(errno));
	r = parse(f, path, m, err);
	fclose(f);
	return r;
}

static void describe(const struct dataset *ds, struct manifest *m)
{
	struct buf size;

	buf_init(&size);
	dist_format(&size, &ds->sample_size, DIST_BYTES);
	m->num_files = ds->files_named;
	m->samples_per_file = ds->samples_per_file;
	m->subfolders = ds->subfolders;
	snprintf(m->format, sizeof(m->format), "%s", ds->format->name);
	snprintf(m->sample_size, sizeof(m->sample_size), "%s", buf_str(&size));
	buf_fini(&size);
}

static int differs(const struct dataset *ds, const struct manifest *m,
		   const char *option, const char *made, const char *job,
		   struct mlgen_err *err)
{
	return mlgen_fail(err, -EINVAL,
			  "dataset %s was made with %s=%s, the job says %s; "
			  "another directory, or --phase=prepare --replace to "
			  "make it anew (deletes %" PRIu64 " file%s)",
			  ds->directory, option, made, job, m->num_files,
			  m->num_files == 1 ? "" : "s");
}

static int differs_count(const struct dataset *ds, const struct manifest *m,
			 const char *option, uint64_t made, uint64_t job,
			 struct mlgen_err *err)
{
	char a[24], b[24];

	snprintf(a, sizeof(a), "%" PRIu64, made);
	snprintf(b, sizeof(b), "%" PRIu64, job);
	return differs(ds, m, option, a, b, err);
}

static int compare(const struct dataset *ds, const struct manifest *m,
		   struct mlgen_err *err)
{
	struct manifest job;

	describe(ds, &job);
	if (strcmp(m->format, job.format) != 0)
		return differs(ds, m, "format", m->format, job.format, err);
	if (strcmp(m->sample_size, job.sample_size) != 0)
		return differs(ds, m, "sample_size", m->sample_size,
			       job.sample_size, err);
	if (m->samples_per_file != job.samples_per_file)
		return differs_count(ds, m, "samples_per_file",
				     m->samples_per_file, job.samples_per_file,
				     err);
	if (m->subfolders != job.subfolders)
		return differs_count(ds, m, "subfolders", m->subfolders,
				     job.subfolders, err);
	if (m->num_files < ds->files)
		return differs_count(ds, m, "num_files", m->num_files,
				     ds->files, err);
	return 0;
}

static json_t *encode(const struct dataset *ds, bool complete)
{
	struct manifest m;

	describe(ds, &m);
	/* clang-format off */
	return json_pack("{s:i, s:s, s:I, s:I, s:I, s:s, s:b}",
			 "version", MANIFEST_VERSION,
			 "format", m.format,
			 "num_files", (json_int_t)m.num_files,
			 "samples_per_file", (json_int_t)m.samples_per_file,
			 "subfolders", (json_int_t)m.subfolders,
			 "sample_size", m.sample_size,
			 "complete", (int)complete);
	/* clang-format on */
}

static int write_synced(const char *path, const json_t *root)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	int r = 0;

	if (fd < 0)
		return -errno;
	errno = 0;
	if (json_dumpfd(root, fd, JSON_INDENT(2)) != 0)
		r = errno ? -errno : -EIO;
	else if (write(fd, "\n", 1) != 1 || fsync(fd) != 0)
		r = -errno;
	if (close(fd) != 0 && r == 0)
		r = -errno;
	return r;
}

/* So that the new name is there after a power failure. */
static int sync_directory(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return -errno;
	/* EINVAL: a filesystem that knows no such thing. */
	if (fsync(fd) != 0 && errno != EINVAL)
		r = -errno;
	close(fd);
	return r;
}

static int replace(const char *directory, const json_t *root)
{
	char temporary[PATH_MAX], path[PATH_MAX];
	int r;

	join(temporary, directory, MANIFEST_TEMPORARY);
	join(path, directory, MANIFEST_NAME);
	r = write_synced(temporary, root);
	if (r == 0 && rename(temporary, path) != 0)
		r = -errno;
	if (r)
		unlink(temporary);
	return r ? r : sync_directory(directory);
}

static bool is_whole(const struct dataset *ds, uint64_t file)
{
	char path[PATH_MAX];
	struct stat st;

	return dataset_path(ds, file, path, sizeof(path)) > 0 &&
	       stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       (uint64_t)st.st_size == dataset_file_bytes(ds, file);
}

/* Look at `n` files, evenly spread, and scale up to all. */
static void look(const struct dataset *ds, uint64_t n, uint64_t *files,
		 uint64_t *bytes)
{
	double each = (double)ds->files / (double)n;
	double present_bytes = 0;
	uint64_t present = 0;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t file =
			n == ds->files ? i : (uint64_t)((double)i * each);

		if (!is_whole(ds, file))
			continue;
		present++;
		present_bytes += (double)dataset_file_bytes(ds, file);
	}
	*files = (uint64_t)((double)present * each);
	*bytes = (uint64_t)(present_bytes * each);
}

static bool has_files(const struct dataset *ds)
{
	char path[PATH_MAX];

	join(path, ds->directory, "train");
	return access(path, F_OK) == 0;
}

int manifest_read(struct dataset *ds, enum manifest_state *state,
		  struct mlgen_err *err)
{
	struct manifest m;
	int r = load(ds->directory, &m, err);

	*state = MANIFEST_ABSENT;
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = compare(ds, &m, err);
	if (r)
		return r;
	ds->files_named = m.num_files;
	*state = m.complete ? MANIFEST_COMPLETE : MANIFEST_INCOMPLETE;
	return 0;
}

int manifest_write(const struct dataset *ds, bool complete,
		   struct mlgen_err *err)
{
	json_t *root = encode(ds, complete);
	int r;

	if (!root)
		return mlgen_fail(err, -ENOMEM, "%s: out of memory",
				  MANIFEST_NAME);
	r = replace(ds->directory, root);
	json_decref(root);
	if (r)
		return mlgen_fail(err, r, "%s/%s: %s", ds->directory,
				  MANIFEST_NAME, strerror(-r));
	return 0;
}

int manifest_describe(const char *directory, struct dataset *ds,
		      struct mlgen_err *err)
{
	struct manifest m;
	int r = load(directory, &m, err);

	memset(ds, 0, sizeof(*ds));
	if (r)
		return r;
	ds->format = format_find(m.format);
	if (!ds->format)
		return mlgen_fail(err, -EINVAL,
				  "%s/%s: format '%s' is not known to this "
				  "mlgen",
				  directory, MANIFEST_NAME, m.format);
	r = dist_parse(&ds->sample_size, m.sample_size, DIST_BYTES, NULL, 1024,
		       err);
	if (r)
		return r;
	if (dist_is_const(&ds->sample_size) && ds->sample_size.a < 1)
		return mlgen_fail(
			err, -EINVAL,
			"%s/%s: sample_size=%s is below the minimum 1",
			directory, MANIFEST_NAME, m.sample_size);
	ds->files = m.num_files;
	ds->files_named = m.num_files;
	ds->samples_per_file = m.samples_per_file;
	ds->subfolders = m.subfolders;
	r = dataset_check_bytes(ds, (double)ds->files, err);
	if (r == 0)
		ds->directory = mem_strdup(directory);
	return r;
}

int manifest_present(const struct dataset *ds, uint64_t *files, uint64_t *bytes,
		     bool *estimate, struct mlgen_err *err)
{
	struct dataset_totals t;
	struct manifest m;
	int r = load(ds->directory, &m, err);

	*files = 0;
	*bytes = 0;
	*estimate = false;
	if (r == -ENOENT)
		return 0;
	if (r)
		return r;
	if (m.complete) {
		dataset_totals(ds, &t);
		*files = ds->files;
		*bytes = t.bytes;
		*estimate = t.estimate;
	} else if (has_files(ds)) {
		*estimate = ds->files > LOOK_FILES;
		look(ds, *estimate ? LOOK_SAMPLE : ds->files, files, bytes);
	}
	return 0;
}
