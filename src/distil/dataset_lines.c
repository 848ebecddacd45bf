/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_lines.c - options of a data set that was found, and what says so. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"
#include "distil/dataset_finding.h"
#include "distil/side_file.h"
#include "distil/sizefit.h"

static const char *count_text(char out[UNITS_TEXT_BYTES], uint64_t n)
{
	snprintf(out, UNITS_TEXT_BYTES, "%" PRIu64, n);
	return out;
}

static void say_directory(struct finding *f)
{
	struct buf own = { 0 };
	const char *traced = buf_str(&f->directory);

	buf_addf(&own, "mlgen-data/%s", f->d->side_name);
	jobsection_say(f->to, DISTIL_GUESS, "directory", buf_str(&own),
		       "where mlgen makes files like those of the trace, which are in %s",
		       *traced ? traced : "its current directory");
	buf_fini(&own);
	if (!f->peek.is_there || *traced != '/')
		return;
	jobsection_note(f->to, "These are there still; to read them instead of made ones, in place "
			       "of directory and what follows of files:");
	jobsection_note(f->to, "directory=%s", traced);
	jobsection_note(f->to, "dataset=scan");
}

static void say_format(struct finding *f)
{
	const struct explained *x = &f->found->access;
	const char *name = format_of(f->found->format)->name;
	const char *path = distil_path(f->d, f->book.first);
	bool is_agreed = f->peek.format == f->found->format;

	if (x->is_explained && x->access == ACCESS_FRAMEWORK)
		jobsection_say(f->to, x->calls >= 1 || is_agreed ? DISTIL_SURE : DISTIL_LIKELY,
			       "format", name, "files are read by the calls of %s%s", x->reader,
			       !is_agreed           ? ""
			       : f->peek.by_content ? ", and begin as such do"
						    : ", and are called so");
	else if (is_agreed)
		jobsection_say(f->to, f->peek.by_content ? DISTIL_SURE : DISTIL_LIKELY, "format",
			       name, "so %s %s", f->peek.by_content ? "begins" : "is called", path);
	else
		jobsection_say(
			f->to, DISTIL_LIKELY, "format", name,
			"neither calls nor the names of files are of a format that mlgen knows: %s",
			path);
}

/* Of one epoch that ended early not all were seen; a few are left over where batches have to be
 * full. */
static void say_files(struct finding *f)
{
	uint64_t seen = f->book.count, named = f->files_named;
	bool takes = named > seen &&
		     (!f->book.is_read_again || f->book.is_drawn || seen >= named - named / 10);
	char text[UNITS_TEXT_BYTES];

	f->found->num_files = takes ? named : seen;
	count_text(text, f->found->num_files);
	if (takes)
		jobsection_say(f->to, DISTIL_LIKELY, "num_files", text,
			       "their names say so; %" PRIu64 " of them were read", seen);
	else
		jobsection_say(f->to, f->book.is_read_again ? DISTIL_SURE : DISTIL_LIKELY,
			       "num_files", text, "so many were read, in %" PRIu64 " epoch%s%s",
			       f->book.epochs, plural(f->book.epochs),
			       f->book.is_read_again
				       ? ""
				       : "; none of them twice, so that there may be more");
	if (named && named != f->found->num_files)
		jobsection_note(f->to, "Names of files say that there are %" PRIu64 ".", named);
}

static const char *size_source(const struct finding *f)
{
	return f->book.is_size_said ? "sizes of files as the trace has them"
				    : "sizes of files as far as they were read";
}

static void say_fit(struct finding *f, const struct sizefit *fit)
{
	enum distil_sure sure =
		fit->distance > 0 || !f->book.is_size_said ? DISTIL_LIKELY : DISTIL_SURE;
	char least[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES];
	struct buf text = { 0 };

	dist_format(&text, &fit->dist, DIST_BYTES);
	units_human_bytes(least, (double)f->book.least);
	units_human_bytes(most, (double)f->book.most);
	if (dist_is_const(&fit->dist))
		jobsection_say(f->to, sure, "sample_size", buf_str(&text),
			       "%s: all have %" PRIu64 " bytes, so many of them for the samples",
			       size_source(f), f->book.least);
	else
		jobsection_say(f->to, sure, "sample_size", buf_str(&text),
			       "%s: %s to %s; distance of this distribution from theirs (KS): %.3f",
			       size_source(f), least, most, fit->distance);
	buf_fini(&text);
}

/* As the option sample_size has it. */
#define SAMPLE_BYTES_MOST (UINT64_C(1) << 40)

/* So many files are all made with the sizes that they had; of more the sizes are drawn from all. */
enum { WEIGHED_MOST = 4096 };

/* Values themselves, beside the job. */
static int write_recorded(struct finding *f, double mean, char name[SIDE_FILE_BYTES],
			  struct mlgen_err *err)
{
	struct buf comment = { 0 };
	uint64_t *weighed = NULL;
	struct side_values v = { f->sizes, f->size_count, DIST_BYTES, NULL };
	int rc;

	if (f->size_count == f->found->num_files && f->size_count <= WEIGHED_MOST)
		v.values = weighed = sizefit_weigh(f->sizes, f->size_count, &v.count);
	buf_addf(&comment, "sizes of samples, of %zu files below %s; mean %.0f bytes%s",
		 f->size_count, buf_str(&f->directory), mean,
		 weighed ? "; counted so that as many files have these very sizes" : "");
	v.comment = buf_str(&comment);
	rc = side_file_values(name, f->d->side_folder, f->d->side_name, "sizes", &v, err);
	mem_free(weighed);
	buf_fini(&comment);
	return rc;
}

static int say_recorded(struct finding *f, const struct sizefit *fit, struct mlgen_err *err)
{
	char name[SIDE_FILE_BYTES];
	struct buf value = { 0 }, near = { 0 };
	int rc = write_recorded(f, fit->mean, name, err);

	if (rc < 0)
		return rc;
	dist_format(&near, &fit->dist, DIST_BYTES);
	buf_addf(&value, "file:%s", name);
	jobsection_say(f->to, DISTIL_SURE, "sample_size", buf_str(&value),
		       "%s; what %" PRIu64 " files would draw of the nearest distribution, %s, is "
		       "not as near; its own distance (KS): %.3f",
		       size_source(f), f->found->num_files, buf_str(&near), fit->distance);
	buf_fini(&near);
	buf_fini(&value);
	return 0;
}

/* Of ascending sizes. */
static void cut_sizes(struct finding *f)
{
	size_t i = f->size_count;
	char text[UNITS_TEXT_BYTES];

	units_human_bytes(text, (double)f->sizes[i - 1]);
	while (i > 0 && f->sizes[i - 1] > SAMPLE_BYTES_MOST)
		f->sizes[--i] = SAMPLE_BYTES_MOST;
	if (i < f->size_count)
		jobsection_note(f->to,
				"Samples of %zu of %zu files are larger, up to %s, than the 1 TiB "
				"that mlgen makes at most; here they have that.",
				f->size_count - i, f->size_count, text);
}

static int say_sizes(struct finding *f, struct mlgen_err *err)
{
	struct sizefit fit;

	cut_sizes(f);
	sizefit(&fit, f->sizes, f->size_count);
	f->found->sample_bytes = (uint64_t)llround(fmax(fit.mean, 1));
	if (f->found->format == FORMAT_PARQUET && f->book.least != f->book.most)
		jobsection_note(
			f->to,
			"Files of the trace differ in size; rows of Parquet are all of one here.");
	if (fit.is_good)
		sizefit_settle(&fit, f->sizes, f->size_count, f->found->num_files);
	if (!fit.is_good)
		return say_recorded(f, &fit, err);
	say_fit(f, &fit);
	return 0;
}

static void say_labels(struct finding *f)
{
	const struct sample_beside *l = &f->book.labels;
	struct filemodel model = { .format = FORMAT_NPY,
				   .samples_per_file = f->found->samples_per_file };
	char text[UNITS_TEXT_BYTES];
	struct dataset ds;

	if (l->files == 0)
		return;
	if (f->found->format == FORMAT_NPY && l->least == l->most &&
	    filemodel_init(&ds, &model, l->least)) {
		units_put_size(text, (uint64_t)ds.sample_size.a);
		jobsection_say(f->to, DISTIL_LIKELY, "label_size", text,
			       "beside samples %" PRIu64 " files of %" PRIu64
			       " bytes are read, such as %s",
			       l->files, l->least, distil_path(f->d, l->first));
	} else {
		jobsection_note(f->to,
				"Of labels %" PRIu64
				" files are read, %s together, such as %s: only format=npy has "
				"such files, they are not in this job.",
				l->files, units_human_bytes(text, (double)l->bytes),
				distil_path(f->d, l->first));
		return;
	}
	dataset_fini(&ds);
}

static void say_indexes(struct finding *f)
{
	const struct sample_beside *x = &f->book.indexes;
	enum job_format format = f->found->format;
	char text[UNITS_TEXT_BYTES];

	if (x->files == 0)
		return;
	jobsection_note(f->to, "Index files: %" PRIu64 ", %s together, such as %s%s", x->files,
			units_human_bytes(text, (double)x->bytes), distil_path(f->d, x->first),
			format == FORMAT_INDEXED_BINARY || format == FORMAT_MMAP_INDEXED_BINARY
				? "; the format has them."
				: "; they are not in this job.");
}

static void say_parquet(struct finding *f)
{
	const struct filemodel *m = &f->model;
	char text[UNITS_TEXT_BYTES];

	if (m->format != FORMAT_PARQUET || !m->row_group_size)
		return;
	count_text(text, m->row_group_size);
	if (f->peek.group_rows)
		jobsection_say(f->to, DISTIL_SURE, "row_group_size", text,
			       "the footer of a file of the trace says so");
	else
		jobsection_say(f->to, DISTIL_GUESS, "row_group_size", text, "as above");
	if (m->columns)
		jobsection_say(f->to, DISTIL_LIKELY, "columns", m->columns,
			       "the footer has %" PRIu32
			       " of them; names and types are made up, bytes are not",
			       f->columns.count);
	if (m->read_columns)
		jobsection_say(f->to, DISTIL_SURE, "read_columns", m->read_columns,
			       "the chunks of %" PRIu32 " columns are read", f->columns.read);
}

/* Of files that several processes read as often as each other it is not known whether they have one
 * training's samples between them. */
static void note_several(struct finding *f)
{
	const struct distil *d = f->d;
	uint64_t samples = f->found->samples_per_file;
	uint32_t ranks = 0;

	for (uint32_t i = 0; i < d->task_count; i++)
		if (d->task[i].party == f->party && d->task[i].rank != UINT32_MAX)
			ranks = (uint32_t)u64_max(ranks, d->task[i].rank + 1);
	if (!f->is_counted || ranks < 2 || samples % ranks)
		return;
	jobsection_note(f->to,
			"Or each of %" PRIu32 " processes reads all of it, %" PRIu64
			" time%s: several trainings of the same files at once are not told from "
			"one of files with several samples.",
			ranks, samples / ranks, plural(samples / ranks));
}

int dataset_lines(struct finding *f, struct mlgen_err *err)
{
	char text[UNITS_TEXT_BYTES];
	int rc;

	say_directory(f);
	say_format(f);
	say_files(f);
	if (f->book.directories > 1) {
		count_text(text, f->book.directories);
		jobsection_say(f->to, DISTIL_SURE, "subfolders", text,
			       "they are in so many directories");
	}
	jobsection_say(f->to, f->samples_sure, "samples_per_file",
		       count_text(text, f->found->samples_per_file), "%s", f->samples_why);
	note_several(f);
	rc = say_sizes(f, err);
	say_parquet(f);
	say_labels(f);
	say_indexes(f);
	return rc;
}
