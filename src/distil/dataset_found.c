/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_found.c - the data set of a training: which files, how many, of which format and size. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"
#include "distil/dataset_finding.h"
#include "distil/samplevisits.h"

enum {
	SIZES_MOST = 1 << 16,
	/* Paths that are looked at for what they have in common. */
	PATHS_MOST = 1024,
	/* Of records of a stream of which nothing says how large they are. */
	RECORD_GUESS_BYTES = 128 << 10,
	STREAM_LEAST_BYTES = 8 << 20,
};

/* ---- names ---- */

/* "img_07_of_64.npz", "train-00007-of-01024": the number; 0 = there is none. */
static uint64_t named_number(const char *path)
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
	/* Whole parts of a path. */
	if (!((n == end || path[n] == '/') && (n == common->len || is[n] == '/')))
		while (n > 0 && is[n] != '/')
			n--;
	buf_cut(common, n);
}

static void look_at_names(struct finding *f)
{
	uint64_t step = divide_up(f->book.count, PATHS_MOST), nth = 0;
	bool is_first = true;

	for (uint32_t id = 0; id < f->book.ids; id++) {
		const char *path;
		uint64_t named;

		if (!samplebook_at(&f->book, id) || nth++ % step)
			continue;
		path = distil_path(f->d, id);
		named = named_number(path);
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

/* Visits of a file in an epoch, where it is read whole each time. */
static uint64_t visits_per_file(const struct samplebook *b)
{
	double all = (double)b->count * (double)u64_max(b->epochs, 1);
	double each = all > 0 ? (double)u64_max(b->opens, 1) / all : 1;

	return each < 1.5 || b->is_drawn ? 1 : (uint64_t)(each + 0.5);
}

static void know_model(struct finding *f, const struct explain_visit *visits, unsigned count,
		       struct filemodel *known)
{
	const struct peek *p = &f->peek;

	*known = (struct filemodel){ .format = p->format, .samples_per_file = p->samples };
	if (p->format != FORMAT_PARQUET)
		return;
	/* Without a footer rows are not known: as if each group had one. */
	if (!p->samples) {
		known->samples_per_file = visits_per_file(&f->book);
		known->row_group_size = 1;
		return;
	}
	columns_found(&f->columns, p, visits, count);
	known->row_group_size = p->group_rows;
	known->columns = f->columns.columns;
	known->read_columns = f->columns.read_columns;
	known->row_bytes = f->columns.row_bytes;
	/* A last group with fewer rows is more than mlgen makes. */
	if (p->group_rows && p->samples > p->group_rows)
		known->samples_per_file -= p->samples % p->group_rows;
}

static void find_access(struct finding *f, uint32_t party)
{
	struct explain_visit visits[SAMPLEVISITS_MOST];
	struct explain_ask ask = {
		.visits = visits,
		.count = samplevisits(visits, f->d, party, &f->book),
		.visits_per_file = visits_per_file(&f->book),
		.hint = f->peek.format,
	};
	struct explained *x = &f->found->access;

	ask.direct = samplevisits_direct(visits, ask.count);
	know_model(f, visits, ask.count, &ask.known);
	explain(x, &ask);
	f->found->is_direct = ask.direct;
	f->found->is_mapped = samplevisits_mapped(visits, ask.count);
	f->found->read_beside_bytes = samplevisits_read_beside(visits, ask.count);
	f->found->format = x->format;
	f->found->is_framework = x->is_explained && x->access == ACCESS_FRAMEWORK;
	f->model = (struct filemodel){ .format = x->format };
	if (x->format == ask.hint)
		f->model = ask.known;
}

/* ---- samples ---- */

/* Places of a file that are visited, by their distance. */
static uint64_t places_per_file(const struct samplebook *b, const struct distil *d)
{
	uint64_t stride = samplebook_stride(b, b->first);

	return stride ? u64_max(samplebook_bytes(b, d, b->first) / stride, 1) : 0;
}

/* Where every visit is for a sample by itself. */
static uint64_t visited_samples(const struct finding *f)
{
	uint64_t places = places_per_file(&f->book, f->d);

	if (f->found->access.samples_per_file)
		return f->found->access.samples_per_file;
	return places ? places : visits_per_file(&f->book);
}

/* As explain() has it: of an array that is read whole a row need be no sample. */
static bool knows_samples(const struct finding *f)
{
	enum job_format format = f->found->format;

	return f->model.samples_per_file && f->peek.samples &&
	       (format_of(format)->is_forward || format == FORMAT_PARQUET ||
		samplebook_stride(&f->book, f->book.first));
}

static void find_samples(struct finding *f)
{
	const struct samplebook *b = &f->book;
	uint64_t mean = b->bytes / b->count, n;
	size_t size = sizeof(f->samples_why);
	char *why = f->samples_why, text[UNITS_TEXT_BYTES];

	f->samples_sure = DISTIL_SURE;
	if (knows_samples(f)) {
		n = f->model.samples_per_file;
		snprintf(why, size, "so says a file of the trace itself");
	} else if (f->found->format == FORMAT_PARQUET) {
		f->samples_sure = DISTIL_GUESS;
		n = visits_per_file(b);
		f->model.row_group_size = 1;
		snprintf(why, size,
			 "a visit each; as files are not there any more, nothing says how many "
			 "rows a row group has, and here it is one");
	} else if (format_of(f->found->format)->is_forward) {
		f->samples_sure = DISTIL_GUESS;
		n = mean < STREAM_LEAST_BYTES ? 1 : mean / RECORD_GUESS_BYTES;
		snprintf(why, size, "files are read as streams, in which calls show no samples%s",
			 n > 1 ? ", and are not there any more: as if a sample had 128 KiB; with "
				 "another number, batch_size changes by the same factor"
			       : "; they are not there any more, and are so small that each may be "
				 "one");
	} else {
		n = visited_samples(f);
		f->samples_sure = DISTIL_LIKELY;
		if (samplebook_stride(b, b->first) && n > 1)
			snprintf(why, size, "visits of a file are to places %s apart",
				 units_human_bytes(text, (double)samplebook_stride(b, b->first)));
		else if (n > 1)
			snprintf(why, size, "a file is read whole %" PRIu64 " times in an epoch",
				 n);
		else
			snprintf(why, size, "each visit of a file is to the same places");
		f->is_counted = !samplebook_stride(b, b->first) && n > 1;
	}
	f->found->samples_per_file = f->model.samples_per_file = n;
}

/* Sizes of files become those of samples. */
static bool sizes_to_samples(struct finding *f)
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

/* How often a thread turns to a file for a sample. */
static double visits_of_sample(const struct finding *f)
{
	double epochs = (double)u64_max(f->book.epochs, 1);
	double per_file = (double)f->book.visits / (double)f->book.count;

	if (format_of(f->found->format)->is_forward || f->found->format == FORMAT_PARQUET)
		return per_file / epochs / (double)f->found->samples_per_file;
	return 1;
}

static void find_sizes(struct finding *f)
{
	if (sizes_to_samples(f))
		return;
	f->found->format = FORMAT_RAW;
	f->model = (struct filemodel){
		.format = FORMAT_RAW,
		.samples_per_file = f->found->samples_per_file,
	};
	sizes_to_samples(f);
}

int distil_dataset(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err)
{
	struct finding f = { .d = d, .party = party, .found = &d->found[party], .to = to };
	int rc = samplebook_init(&f.book, d, party, err);

	if (rc == 0 && f.book.count == 0)
		jobsection_note(to, "No file was read for its samples.");
	if (rc == 0 && f.book.count) {
		peek(&f.peek, distil_path(d, f.book.first),
		     samplebook_bytes(&f.book, d, f.book.first));
		look_at_names(&f);
		f.sizes = mem_array(SIZES_MOST, sizeof(*f.sizes));
		f.size_count = samplebook_sizes(&f.book, d, f.sizes, SIZES_MOST);
		find_access(&f, party);
		find_samples(&f);
		find_sizes(&f);
		rc = dataset_lines(&f, err);
		f.found->visits_per_sample = visits_of_sample(&f);
	}
	mem_free(f.sizes);
	buf_fini(&f.directory);
	columns_found_fini(&f.columns);
	peek_fini(&f.peek);
	samplebook_fini(&f.book);
	return rc;
}
