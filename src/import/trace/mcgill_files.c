/* SPDX-License-Identifier: Apache-2.0 */
/* mcgill_files.c - the files of one recording by McGill's scripts, in the order in which they are
 * read. */
#include "import/trace/mcgill_files.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/vec.h"
#include "trace/trace_input.h"

/* A header is among the first lines. */
enum { LINES_LOOKED_AT = 8 };

static void add_file(struct mcgill_files *f, const char *path, enum mcgill_kind kind)
{
	vec_push(f, (struct mcgill_file){ .path = mem_strdup(path), .kind = kind });
}

static int add_directory(struct mcgill_files *f, const char *path, struct mlgen_err *err)
{
	DIR *dir = opendir(path);
	struct buf name = { 0 };
	struct dirent *e;
	size_t before = f->count;

	if (!dir)
		return mlgen_fail(err, -errno, "%s: cannot be read: %s", path, strerror(errno));
	while ((e = readdir(dir))) {
		enum mcgill_kind kind = mcgill_kind_of_name(e->d_name);
		size_t bytes = strlen(e->d_name);

		if (kind == MCGILL_NONE || kind == MCGILL_OTHER || bytes < 4 ||
		    strcmp(e->d_name + bytes - 4, ".out") != 0)
			continue;
		buf_reset(&name);
		buf_addf(&name, "%s/%s", path, e->d_name);
		add_file(f, buf_str(&name), kind);
	}
	closedir(dir);
	buf_fini(&name);
	if (f->count > before)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "%s: no file of McGill's scripts is in it; they are trace_read.out, "
			  "trace_openat.out and so on",
			  path);
}

/* Of a file by a name of its own. What cannot be read is told later. */
static enum mcgill_kind kind_by_header(const char *path)
{
	struct mlgen_err unused = { 0 };
	struct mcgill_form form = { .kind = MCGILL_NONE };
	struct buf line = { 0 };
	struct trace_input in;
	bool is_cut;
	int rc = trace_input_open(&in, path, &unused);

	in.only_looks = true;
	for (int i = 0; rc == 0 && i < LINES_LOOKED_AT; i++)
		if (trace_input_line(&in, &line, &is_cut, &unused) <= 0 ||
		    (mcgill_header(&form, buf_str(&line)) && form.kind))
			break;
	trace_input_close(&in);
	buf_fini(&line);
	return form.kind;
}

static int add_given(struct mcgill_files *f, const char *path, struct mlgen_err *err)
{
	enum mcgill_kind kind = mcgill_kind_of_name(path);
	struct stat st;

	if (strcmp(path, "-") == 0) {
		add_file(f, path, MCGILL_NONE);
		return 0;
	}
	if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
		return add_directory(f, path, err);
	if (kind == MCGILL_NONE && stat(path, &st) == 0 && S_ISREG(st.st_mode))
		kind = kind_by_header(path);
	add_file(f, path, kind);
	return 0;
}

static int rank_of(const struct mcgill_file *f)
{
	return f->kind != MCGILL_CLOCK && f->kind != MCGILL_OPEN;
}

static int compare_files(const void *a, const void *b)
{
	const struct mcgill_file *x = a, *y = b;

	if (rank_of(x) != rank_of(y))
		return rank_of(x) - rank_of(y);
	return strcmp(x->path, y->path);
}

int mcgill_files_find(struct mcgill_files *f, char *const *given, size_t count,
		      struct mlgen_err *err)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = add_given(f, given[i], err);
	if (rc == 0)
		qsort(f->at, f->count, sizeof(*f->at), compare_files);
	return rc;
}

void mcgill_files_fini(struct mcgill_files *f)
{
	for (size_t i = 0; i < f->count; i++)
		mem_free(f->at[i].path);
	vec_fini(f);
}
