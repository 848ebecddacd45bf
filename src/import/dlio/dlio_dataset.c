/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_dataset.c - files, samples and evaluation of an imported workload. */
#include "import/dlio/dlio_parts.h"

#include <math.h>
#include <string.h>

#include "base/util.h"

static bool is_format(const struct dlio_writer *w, const char *words)
{
	return dlio_is_word(w->c, "dataset.format", words);
}

/* Formats that mlgen has not by their name, or not at all. */
static const struct {
	const char *dlio, *mlgen, *why;
} formats[] = {
	{ "hdf5_opt", "hdf5", "The YAML says hdf5_opt, which DLIO itself has no reader for." },
	{ "bin", "raw",
	  "The YAML says bin, which mlgen has not: files of the same bytes, without a header." },
	{ "dcm", "raw",
	  "The YAML says dcm, which mlgen has not: files of the same bytes, without a header." },
	{ "synthetic", "raw",
	  "The YAML says synthetic: no files are read. The null engine reads none either." },
};

static void write_format(struct dlio_writer *w)
{
	const char *format = dlio_take(w, "dataset.format")->text;

	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (!is_format(w, formats[i].dlio))
			continue;
		dlio_say(w, "%s", formats[i].why);
		format = formats[i].mlgen;
	}
	dlio_option_as(w, "dataset.format", "%s", format);
}

/* ---- the size of a sample ---- */

static double element_bytes(struct dlio_writer *w)
{
	static const struct {
		const char *types;
		double bytes;
	} sizes[] = {
		{ "uint8 int8 bool", 1 },
		{ "uint16 int16 float16", 2 },
		{ "uint32 int32 float32", 4 },
		{ "uint64 int64 float64", 8 },
	};
	const char *type = dlio_take(w, "dataset.record_element_type")->text;

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (dlio_has_word(sizes[i].types, type))
			return sizes[i].bytes;
	dlio_fault_of(w->c, "dataset.record_element_type",
		      "'%.40s' is none of: uint8 int8 uint16 int16 uint32 int32 uint64 int64 "
		      "float16 float32 float64",
		      type);
	return 1;
}

/* A record of these sides; 0 = the YAML has none. */
static double record_bytes(struct dlio_writer *w)
{
	const struct dlio_value *dims = dlio_take(w, "dataset.record_dims");
	double bytes = 1, side;

	if (!dims->node || !dims->node->count)
		return 0;
	for (size_t i = 0; i < dims->node->count; i++) {
		if (!dlio_number(dims->node->at[i].value, &side))
			return 0;
		bytes *= side;
	}
	return bytes * element_bytes(w);
}

static void write_bytes(struct dlio_writer *w, double bytes)
{
	if (bytes < 1 || bytes > 1099511627776.0)
		dlio_fault_of(w->c, "dataset.record_dims",
			      "a sample of %.0f bytes; 1 to 1 TiB can be", bytes);
	dlio_option(w, "sample_size=%.0f", floor(bytes));
}

/* DLIO makes squares of numbers that are none. */
static bool is_square(double bytes)
{
	double side = floor(sqrt(bytes));

	return side * side == bytes;
}

static void write_law(struct dlio_writer *w, double mean, double stdev)
{
	double side = floor(sqrt(mean));

	if (stdev > 0)
		dlio_say(w, "Mean and stdev as in the YAML. DLIO draws the two sides of a sample, "
			    "so that its files have less of a stdev; dlio: follows the same law.");
	else
		dlio_say(w,
			 "The YAML says %.12g bytes; DLIO makes a square of it, %.0f x %.0f = %s "
			 "bytes, and dlio: does, too.",
			 mean, side, side, dlio_digits(side * side).s);
	dlio_option(w, "sample_size=dlio:%.12g:%.12g", mean, stdev);
}

static void write_sample_size(struct dlio_writer *w, double row_bytes)
{
	double dims = record_bytes(w);
	double mean, stdev;

	if (row_bytes > 0 || dims > 0) {
		write_bytes(w, row_bytes > 0 ? row_bytes : dims);
		return;
	}
	mean = dlio_take(w, "dataset.record_length_bytes")->number;
	stdev = dlio_take(w, "dataset.record_length_bytes_stdev")->number;
	if (stdev > 0 && is_format(w, "parquet")) {
		dlio_say(w,
			 "The YAML says a stdev of %.12g; the rows of a Parquet file are all of "
			 "one size.",
			 stdev);
		stdev = 0;
	}
	if (stdev > 0) {
		write_law(w, mean, stdev);
	} else if (is_format(w, "jpeg png")) {
		dlio_say(w,
			 "The number is that of the decoded image in DLIO; here the file has it.");
		dlio_option(w, "sample_size=%.0f", floor(mean));
	} else if (is_square(mean) || is_format(w, "parquet")) {
		dlio_option(w, "sample_size=%.0f", floor(mean));
	} else {
		write_law(w, mean, 0);
	}
}

/* ---- files ---- */

static void write_files(struct dlio_writer *w)
{
	double files = dlio_take(w, "dataset.num_files_train")->number;
	double folders = dlio_take(w, "dataset.num_subfolders_train")->number;

	dlio_option_of(w, "dataset.num_files_train");
	if (folders > files) {
		dlio_say(w, "%.0f subfolders for %.0f files: the others would be empty.", folders,
			 files);
		folders = files;
	}
	if (folders > 1)
		dlio_option_as(w, "dataset.num_subfolders_train", "%.0f", folders);
}

static void write_samples(struct dlio_writer *w)
{
	double samples = dlio_take(w, "dataset.num_samples_per_file")->number;

	if (samples > 1 && is_format(w, "jpeg png"))
		dlio_fault_of(w->c, "dataset.num_samples_per_file",
			      "%.0f in a file that is one image; add "
			      "++workload.dataset.num_samples_per_file=1",
			      samples);
	dlio_option_of(w, "dataset.num_samples_per_file");
}

void dlio_write_dataset(struct dlio_writer *w)
{
	double row_bytes = 0;

	write_format(w);
	write_files(w);
	write_samples(w);
	if (is_format(w, "parquet"))
		row_bytes = dlio_write_columns(w);
	write_sample_size(w, row_bytes);
	dlio_block(w, "what lies on storage");
}

void dlio_write_evaluation(struct dlio_writer *w)
{
	double files = dlio_take(w, "dataset.num_files_eval")->number;

	/* An evaluation is asked for, so the key is there. */
	if (strcmp(dlio_value(w->c, "workflow.evaluation")->key->text, "do_eval") == 0)
		dlio_say(w,
			 "The YAML says do_eval, which DLIO does not read: it would not evaluate.");
	if (files == 0) {
		dlio_say(
			w,
			"The YAML evaluates, and has no files to do it with: num_files_eval is 0.");
		dlio_block(w, "evaluation");
		return;
	}
	dlio_say(w, "Accelerators do not wait for each other meanwhile.");
	dlio_option_of(w, "dataset.num_files_eval");
	dlio_option_of(w, "reader.batch_size_eval");
	dlio_option_of(w, "evaluation.eval_time");
	/* To DLIO 0 is every epoch, and from the first on. */
	dlio_option_of(w, "evaluation.epochs_between_evals");
	dlio_option_of(w, "evaluation.eval_after_epoch");
	dlio_block(w, "evaluation");
}
