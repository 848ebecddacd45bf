/* SPDX-License-Identifier: Apache-2.0 */
/* dataset_scan.c - a dataset of files that exist. */
#include "data/dataset/dataset_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"
#include "data/file/file.h"
#include "data/scan/scan.h"
#include "job/job.h"

/* ---- one process of a job sends the results of a scan to the others ---- */

struct dataset_head {
	bool is_found, has_found, has_labels;
	char format[32];
	unsigned parts;
	uint64_t directory_bytes;
};

int dataset_send(const struct dataset *ds, struct relay *to, struct mlgen_err *err)
{
	struct dataset_head head = { .is_found = ds->scan != NULL,
				     .has_found = ds->found != NULL,
				     .has_labels = ds->labels != NULL,
				     .parts = ds->parts };

	if (ds->scan) {
		snprintf(head.format, sizeof(head.format), "%s", ds->format->name);
		head.directory_bytes = strlen(ds->directory);
	}
	int rc = relay_write(to, &head, sizeof(head), err);
	if (rc || !ds->scan)
		return rc;
	rc = relay_write(to, ds->directory, (size_t)head.directory_bytes, err);
	if (rc == 0)
		rc = scan_send(ds->scan, to, err);
	if (rc == 0 && ds->found)
		rc = scan_index_send(ds->found, to, err);
	if (rc == 0 && ds->labels)
		rc = labels_send(ds->labels, to, err);
	return rc;
}

int dataset_receive(struct dataset_received *g, const char *beside, struct relay *from,
		    struct mlgen_err *err)
{
	struct dataset_head head;
	int rc = relay_read(from, &head, sizeof(head), err);

	if (rc || !head.is_found)
		return rc;
	g->is_found = true;
	g->format = format_find(head.format);
	g->parts = head.parts;
	g->directory = mem_zalloc((size_t)head.directory_bytes + 1);
	rc = relay_read(from, g->directory, (size_t)head.directory_bytes, err);
	if (rc == 0)
		rc = scan_receive(&g->scan, beside, from, err);
	if (rc == 0 && head.has_found)
		rc = scan_index_receive(&g->found, beside, from, err);
	if (rc == 0 && head.has_labels)
		rc = labels_receive(&g->labels, from, err);
	return rc;
}

void dataset_received_fini(struct dataset_received *g)
{
	mem_free(g->directory);
	scan_free(g->scan);
	scan_index_free(g->found);
	labels_free(g->labels);
	*g = (struct dataset_received){ 0 };
}

/* ---- the format of the files ---- */

static int check_format(const struct format *f, const struct job *j, struct mlgen_err *err)
{
	if (f->look || j->samples_per_file == 1)
		return 0;
	return mlgen_fail(
		err, -EINVAL,
		"samples_per_file: with dataset=scan each file is one sample, not %" PRIu64
		"; use samples_per_file=1",
		j->samples_per_file);
}

/* Rules on access that job_check cannot evaluate with format=auto. */
static int check_access(const struct format *f, const struct job *j, struct mlgen_err *err)
{
	if (j->access != ACCESS_FRAMEWORK)
		return 0;
	if (!f->framework[0])
		return mlgen_fail(err, -EINVAL,
				  "access: format=auto found %s files, which no framework reads; "
				  "use access=plain",
				  f->name);
	if (f->is_forward && j->loader != LOADER_TFDATA)
		return mlgen_fail(err, -EINVAL,
				  "access: format=auto found %s files, which only loader=tfdata "
				  "reads as a framework does; use loader=tfdata, or access=plain",
				  f->name);
	if (j->direct && !f->framework[1])
		return mlgen_fail(err, -EINVAL,
				  "direct: format=auto found %s files, which no framework reads "
				  "with O_DIRECT; use direct=0, or access=plain",
				  f->name);
	return 0;
}

/* Check or detect the format. Files of other kinds leave the scan. */
static int settle_format(struct dataset *ds, const struct job *j, struct mlgen_err *err)
{
	if (scan_has_listed(ds->scan)) {
		/* A list of byte ranges requires format=raw. */
		const char *list = j->file_list;

		if (!list || strcmp(list, "-") == 0)
			list = "stdin";
		if (ds->format && ds->format != &format_raw)
			return mlgen_fail(
				err, -EINVAL,
				"format: %s has OFFSET and LENGTH after each path, which are the "
				"bytes of a raw file; use format=raw, or a list of paths only, "
				"so that mlgen finds the samples in %s files",
				list, ds->format->name);
		ds->format = &format_raw;
		return check_access(ds->format, j, err);
	}
	if (ds->format) {
		if (ds->format != &format_raw)
			detect_drop_formats(ds->scan, ds->directory);
		return check_format(ds->format, j, err);
	}
	int r = detect_format(&ds->format, ds->scan, ds->directory, err);
	if (r == 0)
		r = check_format(ds->format, j, err);
	return r ? r : check_access(ds->format, j, err);
}

/* If the command line asks for a number of files, that many must exist, and the first ones are
 * used. A job file describes a dataset that would be made, so its number is ignored. */
static int choose_count(struct dataset *ds, const struct job *j, const char *option, uint64_t asked,
			const char *directory, struct mlgen_err *err)
{
	bool is_asked = job_is_on_command_line(j, option);
	uint64_t found = ds->files;

	if (is_asked && asked < found)
		ds->files = asked;
	if (is_asked && asked > found)
		return mlgen_fail(
			err, -EINVAL,
			"%s: %" PRIu64 ", but dataset=scan found %" PRIu64 " in %s; leave it out%s",
			option, asked, found, directory,
			strcmp(option, "num_files") == 0 ? " (scale= takes a part of them)"
							 : ", or lower it");
	if (!is_asked && job_is_changed(j, option) && asked != found)
		scan_note(ds->scan,
			  "%s: %" PRIu64 " is ignored; the %" PRIu64 " files in %s are used",
			  option, asked, found, directory);
	return 0;
}

bool dataset_uses_scan(const struct dataset *ds, const struct job *job)
{
	return job->dataset == DATASET_SCAN || dataset_dlio_exists(ds, job);
}

int dataset_scan_check(const struct job *job, struct mlgen_err *err)
{
	if (job_work(job)->only_prepares)
		return mlgen_fail(err, -EINVAL,
				  "phase: prepare writes files, but dataset=scan reads existing "
				  "files; use phase=train, or dataset=made");
	if (job->dataset_ratio > 0)
		return mlgen_fail(err, -EINVAL,
				  "dataset_ratio: %g x memory is for files that mlgen writes, but "
				  "dataset=scan reads existing files; leave it out",
				  job->dataset_ratio);
	/* A list may give the places of samples in raw files. */
	if (job->format == FORMAT_AUTO || (job->format == FORMAT_RAW && job->file_list))
		return 0;
	return check_format(format_of((enum job_format)job->format), job, err);
}

/* ---- parts: index files, pairs and labels ---- */

/* False for an index file next to a file of samples. A file whose name cannot be read back stays,
 * and fails when it is looked into. */
static bool has_samples(const void *arg, uint64_t file)
{
	const struct dataset *ds = arg;
	char name[PATH_MAX];

	if (scan_name(ds->scan, file, name, sizeof(name)) < 0)
		return true;
	size_t n = strlen(name);
	for (unsigned i = 1; i < FORMAT_PARTS; i++) {
		const char *suffix = ds->format->parts[i].sidecar_suffix;
		size_t m = suffix ? strlen(suffix) : 0;

		if (m && n > m && strcmp(name + n - m, suffix) == 0)
			return false;
	}
	return true;
}

struct pair_filter {
	const char *directory;
	struct namepair pair;
	uint64_t counts[NAMEPAIR_TWIN + 1];
};

static bool is_first_of_pair(void *arg, const char *name)
{
	struct pair_filter *p = arg;
	char path[2 * PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", p->directory, name);
	enum namepair_role role = namepair_role(&p->pair, path);
	p->counts[role]++;
	return role == NAMEPAIR_FIRST;
}

/* True if samples are pairs of npy files; a list may name only the first of each pair. */
static bool are_arrays(const struct dataset *ds)
{
	return ds->format == &format_npy &&
	       (labels_listed(ds->labels) == 0 || labels_have_suffix(ds->labels, ".npy"));
}

/* Shards contain their labels, and formats with index files have no label files. f NULL = the
 * format is not known yet. */
static bool may_have_labels(const struct format *f)
{
	return !f || (!f->is_forward && !f->at_start && !f->parts[1].sidecar_suffix);
}

/* Only the first file of each pair stays in the scan; the twins become part 1. */
static int split_pairs(struct dataset *ds, struct mlgen_err *err)
{
	const char *text = ds->options.scan_pair;
	struct pair_filter p = { .directory = ds->directory };

	if (!may_have_labels(ds->format))
		return mlgen_fail(err, -EINVAL,
				  "scan_pair: %s has %s files, which have no label files; leave "
				  "out scan_pair",
				  ds->directory, ds->format->name);

	namepair_parse(&p.pair, text); /* collect_labels has checked it */
	p.counts[NAMEPAIR_TWIN] = labels_listed(ds->labels);
	scan_filter_named(ds->scan, is_first_of_pair, &p);
	if (scan_files(ds->scan) == 0)
		return mlgen_fail(err, -EINVAL,
				  "scan_pair: no file in %s has '%.*s' in its path; FROM:TO are "
				  "parts of two paths, such as _x.npy:_y.npy",
				  ds->directory, (int)p.pair.from_bytes, p.pair.from);

	uint64_t firsts = p.counts[NAMEPAIR_FIRST];
	uint64_t twins = p.counts[NAMEPAIR_TWIN];
	char count[UNITS_TEXT_BYTES];

	if (p.counts[NAMEPAIR_NEITHER])
		scan_note(ds->scan,
			  "%s: left out: %s with neither part of scan_pair=%s in the path",
			  ds->directory, units_human_count(count, p.counts[NAMEPAIR_NEITHER]),
			  ds->options.scan_pair);
	if (twins > firsts && are_arrays(ds))
		scan_note(ds->scan,
			  "%s: left out: at least %s with %s in the path that are not the twin of "
			  "a file",
			  ds->directory, units_human_count(count, twins - firsts), p.pair.to);

	ds->parts = 2;
	if (are_arrays(ds)) {
		labels_free(ds->labels);
		ds->labels = NULL;
	} else {
		mem_replace(&ds->options.scan_pair, NULL);
	}
	return 0;
}

/* Remove label files from the scan before its format is detected. */
static int collect_labels(struct dataset *ds, const struct job *job, struct mlgen_err *err)
{
	struct namepair pair;
	bool is_asked = ds->options.scan_pair != NULL;

	if (job->dataset != DATASET_SCAN)
		return 0;
	if (is_asked && !namepair_parse(&pair, ds->options.scan_pair))
		return mlgen_fail(err, -EINVAL, "scan_pair: '%s' is not FROM:TO",
				  ds->options.scan_pair);
	if (is_asked && scan_has_listed(ds->scan))
		return mlgen_fail(err, -EINVAL,
				  "scan_pair: the list has OFFSET and LENGTH of each sample, but "
				  "no pairs of files; leave out scan_pair");
	if (!is_asked && !job->scan_pair && may_have_labels(ds->format) &&
	    !scan_has_listed(ds->scan) && labels_are_usual(ds->scan, ds->directory))
		mem_replace(&ds->options.scan_pair, LABELS_USUAL_PAIR);
	if (ds->options.scan_pair)
		ds->labels = labels_new(ds->scan, ds->directory, ds->options.scan_pair);
	return 0;
}

/* Index files and twins leave the scan and become parts of the dataset. */
static int split_parts(struct dataset *ds, struct mlgen_err *err)
{
	if (ds->options.scan_pair)
		return split_pairs(ds, err);
	while (ds->parts < FORMAT_PARTS && ds->format->parts[ds->parts].sidecar_suffix)
		ds->parts++;
	if (ds->parts == 1)
		return 0;
	scan_filter(ds->scan, has_samples, ds);
	if (scan_files(ds->scan))
		return 0;
	return mlgen_fail(err, -EINVAL, "%s: has indexes of %s files, but no file with samples",
			  ds->directory, ds->format->name);
}

/* mlgen would make a dataset here, but DLIO has already made one: use DLIO's files. */
static int keep_dlio(struct dataset *ds, enum scan_part part, struct mlgen_err *err)
{
	uint64_t named, files = dataset_dlio_keep(ds->scan, ds->format, &named);
	char of[40] = "";

	if (files == 0)
		return mlgen_fail(err, -EEXIST,
				  "%s: %s/ holds files that DLIO would name img_0_of_N.%s, and "
				  "other files; --dataset=scan reads all of them, --directory= "
				  "makes the dataset elsewhere",
				  ds->directory, part == SCAN_TRAINING ? "train" : "valid",
				  ds->format->name);
	if (part == SCAN_EVALUATION)
		return 0;
	if (files != named)
		snprintf(of, sizeof(of), " of the %" PRIu64, named);
	scan_note(ds->scan, "%s: %" PRIu64 "%s files made by DLIO exist and are used unchanged",
		  ds->directory, files, of);
	return 0;
}

/* ---- the scan itself ---- */

/* Later runs of the same command need not repeat the notes of this scan. */
static void mark_reported(const struct job *job, enum scan_part part)
{
	struct job_reuse *kept = job_reuse(job);

	if (kept)
		kept->has_told[part] = true;
}

/* Only dataset=scan uses the cache. */
static const char *cache_path(const struct job *job)
{
	return job->dataset == DATASET_SCAN ? job->scan_cache : NULL;
}

static int look_into_files(struct dataset *ds, const struct job *job, enum scan_part part,
			   struct mlgen_err *err)
{
	struct job_reuse *kept = job_reuse(job);
	const struct scan_cache_request keeps = { .path = cache_path(job),
						  .memory = kept && kept->finds ? kept : NULL,
						  .part = part,
						  .is_quiet = scan_is_quiet(ds->scan) };
	/* If DLIO's dataset replaces one that would be made, none of its files may be missing. */
	enum job_scan_errors errors =
		job->dataset == DATASET_SCAN ? (enum job_scan_errors)job->scan_errors : SCAN_REFUSE;

	if (scan_has_listed(ds->scan))
		return scan_index_new_listed(&ds->found, ds->scan, err);
	if (ds->format->look)
		return scan_index_new(&ds->found, ds->scan, ds, errors, &keeps, err);
	if (keeps.path)
		scan_note(ds->scan, "scan_cache: not used; a scan looks into no %s file",
			  ds->format->name);
	return 0;
}

/* Match labels to samples. Without any match, scan_pair= is an error; the assumed pair is
 * dropped. */
static int settle_labels(struct dataset *ds, const struct job *job, struct mlgen_err *err)
{
	const struct scan *scan = ds->scan;

	if (!ds->labels)
		return 0;
	int r = labels_settle(ds->labels, scan, ds->directory, err);
	if (r)
		return r;
	if (labels_count(ds->labels, scan_files(scan)) == 0 && job->scan_pair)
		return labels_refuse(ds->labels, scan, ds->directory, err);
	if (labels_count(ds->labels, scan_files(scan)) == 0) {
		scan_note(scan,
			  "%s: left out: the files in labels/, because none has the name of a file "
			  "in images/",
			  ds->directory);
		labels_free(ds->labels);
		ds->labels = NULL;
		ds->parts = 1;
		return 0;
	}
	if (!job->scan_pair)
		scan_note(scan,
			  "%s: images/ and labels/ are read in pairs; scan_pair=none reads the "
			  "images alone",
			  ds->directory);
	labels_note_unpaired(ds->labels, scan, ds->directory);
	return 0;
}

/* List the files and look into them. */
static int scan_and_look(struct dataset *ds, const struct job *job, enum scan_part part,
			 struct mlgen_err *err)
{
	bool has_directory = !job->file_list || job_is_given(job, "directory");
	const char *directory = job->directory ? job->directory : ".";
	char *except = scan_cache_path(cache_path(job));
	const struct job_reuse *kept = job_reuse(job);
	const struct scan_request req = {
		.directory = has_directory ? directory : NULL,
		.file_list = job->dataset == DATASET_SCAN ? job->file_list : NULL,
		.part = part,
		.is_laid_out = job->dataset == DATASET_MADE,
		.except = except,
		.errors = (enum job_scan_errors)job->scan_errors,
		.depth = job->scan_depth,
		.is_quiet = kept && kept->has_told[part],
	};
	int r = scan_new(&ds->scan, &req, err);

	mem_free(except);
	if (r)
		return r;
	mem_replace(&ds->directory, scan_base(ds->scan));
	r = collect_labels(ds, job, err);
	if (r == 0)
		r = job->dataset == DATASET_MADE ? keep_dlio(ds, part, err)
						 : settle_format(ds, job, err);
	if (r == 0)
		r = split_parts(ds, err);
	if (r == 0)
		r = look_into_files(ds, job, part, err);
	return r ? r : settle_labels(ds, job, err);
}

static int find_files(struct dataset *ds, const struct job *job, enum scan_part part,
		      struct dataset_received *given, struct mlgen_err *err)
{
	int r = 0;

	if (given) {
		/* Another process has scanned: take over its results. */
		mem_replace(&ds->directory, given->directory);
		ds->format = given->format;
		ds->parts = given->parts;
		ds->scan = given->scan;
		ds->found = given->found;
		ds->labels = given->labels;
		if (ds->labels)
			mem_replace(&ds->options.scan_pair, NULL);
		given->labels = NULL;
		given->scan = NULL;
		given->found = NULL;
	} else {
		r = scan_and_look(ds, job, part, err);
	}
	if (r)
		return r;
	ds->files = scan_files(ds->scan);
	return ds->format->scanned_init ? ds->format->scanned_init(ds, err) : 0;
}

int dataset_scan(struct dataset *ds, const struct job *job, struct dataset_received *given,
		 struct mlgen_err *err)
{
	int r = dataset_scan_check(job, err);

	if (r == 0)
		r = find_files(ds, job, SCAN_TRAINING, given, err);
	if (r)
		return r;
	if (job->dataset == DATASET_SCAN) {
		static const char *const options[] = { "samples_per_file", "sample_size",
						       "subfolders", "columns", "row_group_size" };

		for (size_t i = 0; i < ARRAY_LEN(options); i++)
			if (job_is_changed(job, options[i]))
				scan_note(ds->scan,
					  "%s: not used; dataset=scan takes the files as they are",
					  options[i]);
	}
	r = choose_count(ds, job, "num_files", job->num_files, ds->directory, err);
	mark_reported(job, SCAN_TRAINING);
	return r;
}

int dataset_scan_eval(struct dataset *eval, const struct dataset *train, const struct job *job,
		      struct dataset_received *given, struct mlgen_err *err)
{
	if (job->file_list && job->dataset == DATASET_SCAN)
		return mlgen_fail(err, -EINVAL,
				  "eval_files: file_list names the files to train with, but no "
				  "files to evaluate; use eval_files=0");
	eval->format = train->format;
	int r = find_files(eval, job, SCAN_EVALUATION, given, err);
	if (r == 0)
		r = choose_count(eval, job, "eval_files", job->eval_files, scan_place(eval->scan),
				 err);
	mark_reported(job, SCAN_EVALUATION);
	return r;
}

void dataset_scan_mean(struct dataset *ds)
{
	uint64_t samples = ds->found ? scan_index_first_sample(ds->found, ds->files) : ds->files;
	double bytes = 0;

	for (uint64_t i = 0; i < ds->files && !ds->found; i++)
		bytes += (double)scan_size(ds->scan, i);
	if (ds->found)
		bytes = (double)scan_index_sample_bytes(ds->found, ds->files);
	if (ds->labels)
		bytes += (double)labels_sum(ds->labels, ds->files);
	ds->samples_per_file = divide_up(samples, u64_max(ds->files, 1));
	if (dataset_equal_samples(ds) == 0)
		ds->uneven_samples = samples;
	dist_unref(&ds->sample_size);
	ds->sample_size = (struct dist){ .kind = DIST_CONST, .a = bytes / (double)samples };
}

const char *dataset_storage_path(const struct dataset *ds)
{
	return ds->scan ? scan_place(ds->scan) : ds->directory;
}
