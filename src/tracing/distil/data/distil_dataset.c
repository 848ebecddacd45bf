/* SPDX-License-Identifier: Apache-2.0 */
/* distil_dataset.c - options of a data set: its files, their number, format and size. */
#include "tracing/distil/data/data_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/mem.h"
#include "base/dist.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"
#include "tracing/distil/facts/facts.h"

/* Fewer values fit any distribution. */
enum { COUNT_LEAST = 32 };
/* Largest distance of two size distributions: the threshold of M4 in mltrace score. */
#define DISTANCE_MOST 0.05
/* The distance of n values from a distribution fitted to them exceeds 0.886/sqrt(n) once in 20
 * times (Lilliefors 1967). */
#define CHANCE 0.886
/* Least distance of the mean from zero, in deviations: sizes below zero are cut. */
#define STDEVS_LEAST 2.5
/* Chance alone does not change a deviation by a larger factor. */
#define RATIO_MOST 1.25

/* Largest relative error of the mean of drawn sizes. */
#define OFF_MOST 0.005

/* Number of rounds of drawing, and the largest number of drawn files. */
enum { ROUNDS = 4, DRAWN_MOST = 100000 };

/* Number of values in a weighed list, including repetitions. */
enum { WEIGHED = 1 << 20 };

/* Would much of the distribution be below zero? */
static bool is_cut(const struct dist *d)
{
	return d->kind == DIST_NORMAL && d->a < STDEVS_LEAST * d->b;
}

static double stdev_of(const uint64_t *values, size_t count, double mean)
{
	double squares = 0;

	for (size_t i = 0; i < count; i++) {
		double from = (double)values[i] - mean;

		squares += from * from;
	}
	return sqrt(squares / (double)count);
}

static double mean_of(const uint64_t *values, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += (double)values[i];
	return sum / (double)count;
}

void sizefit(struct sizefit *fit, const uint64_t *values, size_t count)
{
	double most = fmax(DISTANCE_MOST, CHANCE / sqrt((double)count));
	struct fit best;

	fit_values(&best, values, count, DIST_BYTES);
	*fit = (struct sizefit){ .dist = best.dist,
				 .distance = best.ks,
				 .mean = mean_of(values, count) };
	fit->stdev = stdev_of(values, count, fit->mean);
	fit->is_good = best.ks <= 0 || (count >= COUNT_LEAST && best.ks <= most &&
					!dist_is_const(&fit->dist) && !is_cut(&fit->dist));
}

/* Kolmogorov-Smirnov distance of two ascending lists. */
static double drawn_distance(const uint64_t *a, size_t n, const uint64_t *b, size_t m)
{
	double most = 0;
	size_t i = 0, k = 0;

	while (i < n && k < m) {
		uint64_t v = u64_min(a[i], b[k]);

		while (i < n && a[i] <= v)
			i++;
		while (k < m && b[k] <= v)
			k++;
		most = fmax(most, fabs((double)i / (double)n - (double)k / (double)m));
	}
	return most;
}

static double draw_mean(const struct dist *d, uint64_t *drawn, size_t n)
{
	for (size_t i = 0; i < n; i++)
		drawn[i] = dist_draw(d, DATASET_SEED, RNG_SAMPLE_SIZE, i);
	return mean_of(drawn, n);
}

void sizefit_settle(struct sizefit *fit, const uint64_t *values, size_t count, uint64_t files)
{
	size_t n = (size_t)u64_min(files, DRAWN_MOST);
	const struct sizefit before = *fit;
	uint64_t *drawn;
	double mean;

	if (dist_is_const(&fit->dist) || n < COUNT_LEAST)
		return;
	drawn = mem_array(n, sizeof(*drawn));
	for (unsigned i = 0; i < ROUNDS; i++) {
		mean = draw_mean(&fit->dist, drawn, n);

		/* Correct the parameters by the error of the mean and deviation of drawn sizes. */
		double stdev = stdev_of(drawn, n, mean);
		struct dist *d = &fit->dist;
		double ratio = stdev > 0 ? fit->stdev / stdev : 1;
		double middle = (d->a + d->b) / 2, half = (d->b - d->a) / 2;
		if (d->kind == DIST_UNIFORM) {
			middle += fit->mean - mean;
			d->a = fmax(1, round(middle - half * ratio));
			d->b = fmax(d->a, round(middle + half * ratio));
		} else {
			d->a = fmax(1, round(d->a + fit->mean - mean));
			d->b = round(d->b * ratio);
		}
	}
	if (fit->dist.kind != DIST_UNIFORM &&
	    (fit->dist.b > before.dist.b * RATIO_MOST || is_cut(&fit->dist)))
		*fit = before;
	mean = draw_mean(&fit->dist, drawn, n);
	qsort(drawn, n, sizeof(*drawn), u64_compare);
	fit->is_good &= fabs(mean / fit->mean - 1) <= OFF_MOST &&
			drawn_distance(values, count, drawn, n) <= DISTANCE_MOST;
	mem_free(drawn);
}

uint64_t *sizefit_weigh(const uint64_t *values, size_t count, size_t *weighed)
{
	uint64_t *all = mem_array(WEIGHED, sizeof(*all));
	double *p = mem_array(count, sizeof(*p));
	size_t k = 0;

	for (size_t i = 0; i < count; i++)
		p[i] = rng_f64(DATASET_SEED, RNG_SAMPLE_SIZE, i);
	qsort(p, count, sizeof(*p), f64_compare);
	/* The k-th value is drawn from the middle between the probabilities k - 1 and k up to the
	 * middle between k and k + 1. */
	for (size_t i = 0; i < WEIGHED; i++) {
		double at = ((double)i + 0.5) / WEIGHED;

		while (k + 1 < count && at > (p[k] + p[k + 1]) / 2)
			k++;
		all[i] = values[k];
	}
	mem_free(p);
	*weighed = WEIGHED;
	return all;
}

/* ---- options ---- */

/* The limit of the option sample_size. */
#define SAMPLE_BYTES_MOST (UINT64_C(1) << 40)

enum {
	SIZES_MOST = 1 << 16,
	PATHS_MOST = 1024, /* paths that are searched for a common part */
	/* Assumed size of a record in a stream that does not show it. */
	RECORD_GUESS_BYTES = 128 << 10,
	STREAM_LEAST_BYTES = 8 << 20,
	/* Up to this many files each get their own size; sizes of more files are drawn. */
	WEIGHED_MOST = 4096,
};

/* Facts about the data set of one party. */
struct dataset_finder {
	struct distil *d;
	uint32_t party;
	struct distil_results *found;
	struct jobsection *to;
	struct samplebook book;
	struct peek peek;
	struct columns_scanned columns;
	struct filemodel model;
	struct buf directory; /* common directory of all samples */
	uint64_t *sizes;      /* sizes of files, later of samples; ascending */
	size_t size_count;
	uint64_t files_named;          /* number of files that their names state; 0 = not known */
	enum distil_sure samples_sure; /* confidence in samples_per_file */
	char samples_why[256];
	bool is_counted; /* samples_per_file is the number of visits that read a whole file */
};

static void set_directory(struct dataset_finder *f)
{
	struct buf own = { 0 };
	const char *traced = buf_str(&f->directory);

	buf_addf(&own, "mlgen-data/%s", f->d->side_name);
	jobsection_set(f->to, DISTIL_GUESS, "directory", buf_str(&own),
		       "where mlgen makes files like those of the trace, which are in %s",
		       *traced ? traced : "its current directory");
	buf_fini(&own);
	if (!f->peek.is_there || *traced != '/')
		return;
	jobsection_comment(f->to, "The files of the trace still exist; to read them instead, "
				  "replace directory and the options of files by:");
	jobsection_comment(f->to, "directory=%s", traced);
	jobsection_comment(f->to, "dataset=scan");
}

static const char *size_source(const struct dataset_finder *f)
{
	return f->book.has_stated_sizes ? "file sizes in the trace"
					: "file sizes, as far as files were read";
}

/* Write the sizes themselves to a side file. */
static int set_recorded_size(struct dataset_finder *f, const struct sizefit *fit,
			     struct mlgen_err *err)
{
	char name[SIDE_FILE_BYTES];
	struct buf comment = { 0 }, value = { 0 }, near = { 0 };
	uint64_t *weighed = NULL;
	struct side_values v = { f->sizes, f->size_count, DIST_BYTES, NULL };

	if (f->size_count == f->found->num_files && f->size_count <= WEIGHED_MOST)
		v.values = weighed = sizefit_weigh(f->sizes, f->size_count, &v.count);
	buf_addf(&comment, "sizes of samples, from %zu files below %s; mean %.0f bytes%s",
		 f->size_count, buf_str(&f->directory), fit->mean,
		 weighed ? "; weighted so that as many files have exactly these sizes" : "");
	v.comment = buf_str(&comment);
	int rc = side_file_values(name, f->d->side_folder, f->d->side_name, "sizes", &v, err);
	mem_free(weighed);
	buf_fini(&comment);
	if (rc < 0)
		return rc;
	dist_format(&near, &fit->dist, DIST_BYTES);
	buf_addf(&value, "file:%s", name);
	jobsection_set(f->to, DISTIL_SURE, "sample_size", buf_str(&value),
		       "%s; the %" PRIu64 " sizes drawn from the nearest distribution, %s, would "
		       "fit less well; its own distance (KS): %.3f",
		       size_source(f), f->found->num_files, buf_str(&near), fit->distance);
	buf_fini(&near);
	buf_fini(&value);
	return 0;
}

static int set_sizes(struct dataset_finder *f, struct mlgen_err *err)
{
	size_t i = f->size_count;
	char text[UNITS_TEXT_BYTES];
	struct sizefit fit;

	units_human_bytes(text, (double)f->sizes[i - 1]);
	while (i > 0 && f->sizes[i - 1] > SAMPLE_BYTES_MOST)
		f->sizes[--i] = SAMPLE_BYTES_MOST;
	if (i < f->size_count)
		jobsection_comment(f->to,
				   "Samples of %zu of %zu files, up to %s, exceed 1 TiB, the "
				   "maximum of mlgen; this job uses 1 TiB.",
				   f->size_count - i, f->size_count, text);
	sizefit(&fit, f->sizes, f->size_count);
	f->found->sample_bytes = (uint64_t)llround(fmax(fit.mean, 1));
	if (f->found->format == FORMAT_PARQUET && f->book.least != f->book.most)
		jobsection_comment(f->to, "Files of the trace differ in size, but Parquet rows of "
					  "this job have one size.");
	if (fit.is_good)
		sizefit_settle(&fit, f->sizes, f->size_count, f->found->num_files);
	if (!fit.is_good)
		return set_recorded_size(f, &fit, err);

	enum distil_sure sure =
		fit.distance > 0 || !f->book.has_stated_sizes ? DISTIL_LIKELY : DISTIL_SURE;
	char least[UNITS_TEXT_BYTES], most[UNITS_TEXT_BYTES];
	struct buf value = { 0 };
	dist_format(&value, &fit.dist, DIST_BYTES);
	units_human_bytes(least, (double)f->book.least);
	units_human_bytes(most, (double)f->book.most);
	if (dist_is_const(&fit.dist))
		jobsection_set(f->to, sure, "sample_size", buf_str(&value),
			       "%s: all have %" PRIu64 " bytes, which gives this size of samples",
			       size_source(f), f->book.least);
	else
		jobsection_set(
			f->to, sure, "sample_size", buf_str(&value),
			"%s: %s to %s; distance between this distribution and the sizes (KS): %.3f",
			size_source(f), least, most, fit.distance);
	buf_fini(&value);

	return 0;
}

static void set_labels(struct dataset_finder *f)
{
	const struct sample_companions *l = &f->book.labels;
	struct filemodel model = { .format = FORMAT_NPY,
				   .samples_per_file = f->found->samples_per_file };
	char text[UNITS_TEXT_BYTES];
	struct dataset ds;

	if (l->files == 0)
		return;
	if (f->found->format == FORMAT_NPY && l->least == l->most &&
	    filemodel_init(&ds, &model, l->least)) {
		units_format_size(text, (uint64_t)ds.sample_size.a);
		jobsection_set(f->to, DISTIL_LIKELY, "label_size", text,
			       "in addition to samples, %" PRIu64 " files of %" PRIu64
			       " bytes are read, such as %s",
			       l->files, l->least, distil_path(f->d, l->first));
	} else {
		jobsection_comment(f->to,
				   "%" PRIu64
				   " files of labels are read, %s in total, such as %s: only "
				   "format=npy has such files, so this job omits them.",
				   l->files, units_human_bytes(text, (double)l->bytes),
				   distil_path(f->d, l->first));
		return;
	}
	dataset_fini(&ds);
}

static void set_parquet(struct dataset_finder *f)
{
	const struct filemodel *m = &f->model;

	if (m->format != FORMAT_PARQUET || !m->row_group_size)
		return;
	if (f->peek.group_rows)
		jobsection_set_u64(f->to, DISTIL_SURE, "row_group_size", m->row_group_size,
				   "stated in the footer of a file of the trace");
	else
		jobsection_set_u64(f->to, DISTIL_GUESS, "row_group_size", m->row_group_size,
				   "as above");
	if (m->columns)
		jobsection_set(f->to, DISTIL_LIKELY, "columns", m->columns,
			       "the footer has %" PRIu32 " columns; their names and types are "
			       "invented, their sizes are from the trace",
			       f->columns.count);
	if (m->read_columns)
		jobsection_set(f->to, DISTIL_SURE, "read_columns", m->read_columns,
			       "the chunks of %" PRIu32 " columns are read", f->columns.read);
}

/* Write the options, and NAME.sizes if sizes are recorded. 0, or -errno with err. */
static int set_dataset(struct dataset_finder *f, struct mlgen_err *err)
{
	const struct sample_companions *x = &f->book.indexes;
	uint64_t samples = f->found->samples_per_file;
	uint32_t ranks = distil_ranks(f->d, f->party);
	enum job_format format = f->found->format;
	char text[UNITS_TEXT_BYTES];

	set_directory(f);

	const struct explained *access = &f->found->access;
	const char *name = format_of(f->found->format)->name;
	const char *path = distil_path(f->d, f->book.first);
	bool is_agreed = f->peek.format == f->found->format;
	if (access->is_explained && access->access == ACCESS_FRAMEWORK)
		jobsection_set(f->to, access->calls >= 1 || is_agreed ? DISTIL_SURE : DISTIL_LIKELY,
			       "format", name, "files are read with the calls of %s%s",
			       access->reader,
			       !is_agreed           ? ""
			       : f->peek.by_content ? ", and their first bytes agree"
						    : ", and their names agree");
	else if (is_agreed)
		jobsection_set(f->to, f->peek.by_content ? DISTIL_SURE : DISTIL_LIKELY, "format",
			       name, "from the %s of %s",
			       f->peek.by_content ? "first bytes" : "name", path);
	else
		jobsection_set(f->to, DISTIL_LIKELY, "format", name,
			       "mlgen knows no format with such calls or names of files: %s", path);

	/* Use the number in file names if the trace may miss files: an epoch that ended early does
	 * not read all, and full batches leave a few out. */
	uint64_t seen = f->book.count, named = f->files_named;
	bool use_named = named > seen &&
			 (!f->book.is_read_again || f->book.is_drawn || seen >= named - named / 10);
	f->found->num_files = use_named ? named : seen;
	if (use_named)
		jobsection_set_u64(f->to, DISTIL_LIKELY, "num_files", f->found->num_files,
				   "according to the names of files; %" PRIu64 " were read", seen);
	else
		jobsection_set_u64(
			f->to, f->book.is_read_again ? DISTIL_SURE : DISTIL_LIKELY, "num_files",
			f->found->num_files, "this many were read, in %" PRIu64 " epoch%s%s",
			f->book.epochs, plural(f->book.epochs),
			f->book.is_read_again ? "" : "; none was read twice, so more may exist");
	if (named && named != f->found->num_files)
		jobsection_comment(f->to, "According to their names, there are %" PRIu64 " files.",
				   named);

	if (f->book.directories > 1)
		jobsection_set_u64(f->to, DISTIL_SURE, "subfolders", f->book.directories,
				   "files are in this many directories");
	jobsection_set_u64(f->to, f->samples_sure, "samples_per_file", samples, "%s",
			   f->samples_why);
	/* If several processes read each file equally often, they may be one training or several.
	 */
	if (f->is_counted && ranks > 1 && samples % ranks == 0)
		jobsection_comment(
			f->to,
			"Or each of %" PRIu32 " processes reads all files, %" PRIu64
			" time%s: the trace does not distinguish several trainings on the same "
			"files from one training with several samples per file.",
			ranks, samples / ranks, plural(samples / ranks));
	int rc = set_sizes(f, err);
	set_parquet(f);
	set_labels(f);
	if (x->files)
		jobsection_comment(
			f->to, "Index files: %" PRIu64 ", %s in total, such as %s%s", x->files,
			units_human_bytes(text, (double)x->bytes), distil_path(f->d, x->first),
			format == FORMAT_INDEXED_BINARY || format == FORMAT_MMAP_INDEXED_BINARY
				? "; the format contains them."
				: "; this job omits them.");
	return rc;
}

/* ---- names ---- */

/* Parse the number of files from "img_07_of_64.npz", "train-00007-of-01024"; 0 = there is none. */
static uint64_t parse_file_count(const char *path)
{
	const char *name = strrchr(path, '/'), *at;
	uint64_t n = 0;

	name = name ? name + 1 : path;
	for (at = name; (at = strstr(at, "of")); at += 2) {
		if (at > name && strchr("-_", at[-1]) && strchr("-_", at[2]) && at[2] &&
		    at[3] >= '0' && at[3] <= '9')
			n = strtoull(at + 3, NULL, 10);
	}
	return n;
}

static void cut_common(struct buf *common, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t n = 0, end = slash ? (size_t)(slash - path) : 0;
	const char *is = buf_str(common);

	while (n < end && n < common->len && is[n] == path[n])
		n++;
	/* Only whole directory names count. */
	if (!((n == end || path[n] == '/') && (n == common->len || is[n] == '/')))
		while (n > 0 && is[n] != '/')
			n--;
	buf_cut(common, n);
}

static void read_names(struct dataset_finder *f)
{
	uint64_t step = divide_up(f->book.count, PATHS_MOST), nth = 0;
	bool is_first = true;

	for (uint32_t id = 0; id < f->book.ids; id++) {
		if (!samplebook_at(&f->book, id) || nth++ % step)
			continue;
		const char *path = distil_path(f->d, id);
		uint64_t named = parse_file_count(path);
		if (is_first) {
			const char *slash = strrchr(path, '/');

			buf_addn(&f->directory, path, slash ? (size_t)(slash - path) : 0);
			f->files_named = named;
			is_first = false;
		}
		cut_common(&f->directory, path);
		if (named != f->files_named)
			f->files_named = 0;
	}
}

/* ---- format and calls ---- */

/* Number of visits of a file in an epoch, if each visit reads the whole file. */
static uint64_t visits_per_file(const struct samplebook *b)
{
	double all = (double)b->count * (double)u64_max(b->epochs, 1);
	double each = all > 0 ? (double)u64_max(b->opens, 1) / all : 1;

	return each < 1.5 || b->is_drawn ? 1 : (uint64_t)(each + 0.5);
}

/* Fill the model with the facts that one file of the trace shows. */
static void fill_known(struct dataset_finder *f, const struct explain_visit *visits, unsigned count,
		       struct filemodel *known)
{
	const struct peek *p = &f->peek;

	*known = (struct filemodel){ .format = p->format, .samples_per_file = p->samples };
	if (p->format != FORMAT_PARQUET)
		return;
	/* Without a footer the number of rows is unknown; assume one row per group. */
	if (!p->samples) {
		known->samples_per_file = visits_per_file(&f->book);
		known->row_group_size = 1;
		return;
	}
	columns_scanned(&f->columns, p, visits, count);
	known->row_group_size = p->group_rows;
	known->columns = f->columns.columns;
	known->read_columns = f->columns.read_columns;
	known->row_bytes = f->columns.row_bytes;
	/* mlgen makes full groups only, so that a smaller last group is left out. */
	if (p->group_rows && p->samples > p->group_rows)
		known->samples_per_file -= p->samples % p->group_rows;
}

/* ---- samples ---- */

/* Samples of a file, if every visit is for one sample. */
static uint64_t visited_samples(const struct dataset_finder *f)
{
	const struct samplebook *b = &f->book;
	uint64_t stride = samplebook_stride(b, b->first);

	if (f->found->access.samples_per_file)
		return f->found->access.samples_per_file;
	if (stride)
		return u64_max(samplebook_bytes(b, f->d, b->first) / stride, 1);
	return visits_per_file(b);
}

/* Does the content of a file show the number of samples? A row of an array that is read whole need
 * not be a sample; samples_for() in explain.c has the same rule. */
static bool knows_samples(const struct dataset_finder *f)
{
	enum job_format format = f->found->format;

	return f->model.samples_per_file && f->peek.samples &&
	       (format_of(format)->is_forward || format == FORMAT_PARQUET ||
		samplebook_stride(&f->book, f->book.first));
}

static void find_samples(struct dataset_finder *f)
{
	const struct samplebook *b = &f->book;
	uint64_t mean = b->bytes / b->count, n;
	size_t size = sizeof(f->samples_why);
	char *why = f->samples_why, text[UNITS_TEXT_BYTES];

	f->samples_sure = DISTIL_SURE;
	if (knows_samples(f)) {
		n = f->model.samples_per_file;
		snprintf(why, size, "stated in a file of the trace");
	} else if (f->found->format == FORMAT_PARQUET) {
		f->samples_sure = DISTIL_GUESS;
		n = visits_per_file(b);
		f->model.row_group_size = 1;
		snprintf(why, size,
			 "one per visit; the files no longer exist, so the rows of a row group are "
			 "unknown, and one row is assumed");
	} else if (format_of(f->found->format)->is_forward) {
		f->samples_sure = DISTIL_GUESS;
		n = mean < STREAM_LEAST_BYTES ? 1 : mean / RECORD_GUESS_BYTES;
		snprintf(why, size, "files are read as streams, whose calls do not show samples%s",
			 n > 1 ? "; the files no longer exist, so samples of 128 KiB are assumed; "
				 "with another number, batch_size changes by the same factor"
			       : "; the files no longer exist, but are so small that each may be "
				 "one sample");
	} else {
		n = visited_samples(f);
		f->samples_sure = DISTIL_LIKELY;
		if (samplebook_stride(b, b->first) && n > 1)
			snprintf(why, size, "visits of a file are %s apart",
				 units_human_bytes(text, (double)samplebook_stride(b, b->first)));
		else if (n > 1)
			snprintf(why, size,
				 "a file is read completely %" PRIu64 " times in an epoch", n);
		else
			snprintf(why, size, "all visits of a file read the same places");
		f->is_counted = !samplebook_stride(b, b->first) && n > 1;
	}
	f->found->samples_per_file = f->model.samples_per_file = n;
}

/* Convert the sizes of files to sizes of samples. False if the model has no file of such a size. */
static bool sizes_to_samples(struct dataset_finder *f)
{
	struct dataset ds;
	bool can = filemodel_init(&ds, &f->model, f->sizes[f->size_count / 2]);

	for (size_t i = 0; i < f->size_count && can; i++)
		f->sizes[i] = f->model.format == FORMAT_PARQUET
				      ? (uint64_t)ds.sample_size.a
				      : filemodel_sample_bytes(&ds, f->sizes[i]);
	dataset_fini(&ds);
	return can;
}

int distil_dataset(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err)
{
	struct dataset_finder f = { .d = d, .party = party, .found = &d->found[party], .to = to };
	int rc = samplebook_init(&f.book, d, party, err);

	if (rc == 0 && f.book.count == 0)
		jobsection_comment(to, "No file was read for its samples.");
	if (rc == 0 && f.book.count) {
		peek(&f.peek, distil_path(d, f.book.first),
		     samplebook_bytes(&f.book, d, f.book.first));
		read_names(&f);
		f.sizes = mem_array(SIZES_MOST, sizeof(*f.sizes));
		f.size_count = samplebook_sizes(&f.book, d, f.sizes, SIZES_MOST);

		struct explain_visit visits[SAMPLEVISITS_MOST];
		struct explain_input ask = {
			.visits = visits,
			.count = samplevisits(visits, d, party, &f.book),
			.visits_per_file = visits_per_file(&f.book),
			.hint = f.peek.format,
		};
		struct explained *x = &f.found->access;
		ask.direct = samplevisits_direct(visits, ask.count);
		fill_known(&f, visits, ask.count, &ask.known);
		explain(x, &ask);
		f.found->is_direct = ask.direct;
		f.found->is_mapped = samplevisits_mapped(visits, ask.count);
		f.found->largest_read_bytes = samplevisits_largest_read(visits, ask.count);
		f.found->format = x->format;
		f.found->is_framework = x->is_explained && x->access == ACCESS_FRAMEWORK;
		f.model = (struct filemodel){ .format = x->format };
		if (x->format == ask.hint)
			f.model = ask.known;

		find_samples(&f);
		if (!sizes_to_samples(&f)) {
			f.found->format = FORMAT_RAW;
			f.model = (struct filemodel){
				.format = FORMAT_RAW,
				.samples_per_file = f.found->samples_per_file,
			};
			sizes_to_samples(&f);
		}
		rc = set_dataset(&f, err);
		f.found->visits_per_sample = 1;
		if (format_of(f.found->format)->is_forward || f.found->format == FORMAT_PARQUET)
			f.found->visits_per_sample = (double)f.book.visits / (double)f.book.count /
						     (double)u64_max(f.book.epochs, 1) /
						     (double)f.found->samples_per_file;
	}
	mem_free(f.sizes);
	buf_fini(&f.directory);
	columns_scanned_fini(&f.columns);
	peek_fini(&f.peek);
	samplebook_fini(&f.book);
	return rc;
}
