/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_dataset.c - writes the dataset, evaluation and reader options of an imported workload. */
#include "import/dlio/dlio_writer.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* ---- columns of a Parquet file ---- */

/* The limit of columns=. */
#define COLUMNS_MAX 10000
#define NAME_MAX_BYTES 64
#define VALUES_MAX 1e9

static const struct dlio_dtype {
	const char *words; /* names in DLIO and NumPy */
	const char *name;  /* name in mlgen */
	unsigned bytes;
} types[] = {
	{ "float32 f32", "float32", 4 },
	{ "float64 f64 double", "float64", 8 },
	{ "float16 f16 int16 uint16", "float16", 2 },
	{ "int8 i8 uint8 bool", "int8", 1 },
	{ "int32 i32 uint32", "int32", 4 },
	{ "int64 i64 uint64", "int64", 8 },
};

struct col {
	char name[NAME_MAX_BYTES];
	size_t order; /* index of the first column with the same type and size */
	const struct dlio_dtype *type;
	double values; /* per row */
	bool is_read;
};

struct cols {
	struct col *list;
	size_t count, read_count;
	double row_bytes;
};

/* ---- columns: the YAML ---- */

static const struct dlio_dtype *find_type(const char *word)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++)
		if (dlio_has_word(types[i].words, word))
			return &types[i];
	return NULL;
}

static bool is_name(const char *s)
{
	size_t len = strlen(s);

	if (!len || len >= NAME_MAX_BYTES)
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '_')
			return false;
	return true;
}

static void fault(struct dlio_writer *w, const struct yaml_node *n, const char *what)
{
	dlio_fault(w->c, n, "dataset.parquet.columns", "%s", what);
}

static void read_column(struct dlio_writer *w, const struct yaml_node *n, size_t number,
			struct col *col)
{
	const struct yaml_node *name = yaml_find(n, "name");
	const struct yaml_node *dtype = yaml_find(n, "dtype");
	const struct yaml_node *size = yaml_find(n, "size");
	const struct yaml_node *read = yaml_find(n, "read");

	if (!name)
		snprintf(col->name, sizeof(col->name), "column_%zu", number);
	else if (name->kind == YAML_TEXT && is_name(name->text))
		snprintf(col->name, sizeof(col->name), "%s", name->text);
	else
		fault(w, name,
		      "name: must have letters, digits and '_' only, and at most 63 bytes");
	col->type = !dtype ? &types[0] : dtype->kind == YAML_TEXT ? find_type(dtype->text) : NULL;
	if (!col->type) {
		fault(w, dtype,
		      "dtype: must be one of float16 float32 float64 int8 int16 int32 int64");
		col->type = &types[0];
	}
	col->values = 1;
	if (size && (!dlio_number(size, &col->values) || col->values < 1 ||
		     col->values > VALUES_MAX || col->values != floor(col->values)))
		fault(w, size, "size: must be a whole number of at least 1");
	col->is_read = true;
	if (read && (read->kind != YAML_TEXT ||
		     !dlio_has_word("true True TRUE false False FALSE", read->text)))
		fault(w, read, "read: must be True or False");
	else if (read)
		col->is_read = tolower((unsigned char)*read->text) == 't';
}

/* ---- columns: the options ---- */

/* The offset of the number that a name ends with. */
static size_t digits_at(const char *name)
{
	size_t len = strlen(name);

	while (len && isdigit((unsigned char)name[len - 1]))
		len--;
	return len;
}

/* Is b the next name after a, as in f07 and f08? */
static bool follows(const struct col *a, const struct col *b)
{
	size_t at = digits_at(a->name);
	const char *x = a->name + at, *y = b->name + at;

	return at && *x && digits_at(b->name) == at && strncmp(a->name, b->name, at) == 0 &&
	       strlen(x) == strlen(y) && strlen(x) < 10 &&
	       strtoul(x, NULL, 10) + 1 == strtoul(y, NULL, 10);
}

static bool is_alike(const struct col *a, const struct col *b)
{
	return a->type == b->type && a->values == b->values;
}

/* Append names and ranges: all columns with their types if `typed`, otherwise the columns that are
 * read. */
static void add_list(struct buf *out, const struct cols *cols, bool typed)
{
	const struct col *list = cols->list;

	for (size_t i = 0, last; i < cols->count; i = last + 1) {
		for (last = i; last + 1 < cols->count; last++)
			if (!follows(&list[last], &list[last + 1]) ||
			    (typed ? !is_alike(&list[last], &list[last + 1])
				   : !list[last + 1].is_read))
				break;
		if (!typed && !list[i].is_read) {
			last = i;
			continue;
		}
		buf_addf(out, "%s%s", out->len ? "," : "", list[i].name);
		if (last > i)
			buf_addf(out, "..%s", list[last].name + digits_at(list[last].name));
		if (typed)
			buf_addf(out, ":%s", list[i].type->name);
		if (typed && list[i].values > 1)
			buf_addf(out, "[%.0f]", list[i].values);
	}
}

/* Order columns by type and size; within a type and size, columns that are read come first. */
static int dlio_columns_compare(const void *a, const void *b)
{
	const struct col *x = a, *y = b;
	int order = COMPARE(x->order, y->order);

	return order ? order : COMPARE(y->is_read, x->is_read);
}

static bool write_lists(struct dlio_writer *w, const struct cols *cols)
{
	size_t start = w->block.len;
	struct buf all = { 0 }, some = { 0 };
	bool fits;

	add_list(&all, cols, true);
	fits = dlio_option_text(w, "columns", buf_str(&all));
	if (fits && cols->read_count < cols->count) {
		add_list(&some, cols, false);
		fits = dlio_option_text(w, "read_columns", buf_str(&some));
	}
	if (!fits && w->block.len > start) {
		w->block.len = start;
		w->block.s[start] = '\0';
	}
	buf_fini(&all);
	buf_fini(&some);
	return fits;
}

static void write_columns(struct dlio_writer *w, struct cols *cols, const struct yaml_node *n)
{
	char letter = cols->list[0].name[0];
	int width = snprintf(NULL, 0, "%zu", cols->count - 1);

	if (cols->read_count == 0)
		fault(w, n, "read: no column is read");
	if (write_lists(w, cols))
		return;
	/* Sort the columns and give them new names, so that ranges can describe them. */
	for (size_t i = 0; i < cols->count; i++) {
		size_t first = 0;

		while (!is_alike(&cols->list[first], &cols->list[i]))
			first++;
		cols->list[i].order = first;
	}
	qsort(cols->list, cols->count, sizeof(*cols->list), dlio_columns_compare);
	for (size_t i = 0; i < cols->count; i++)
		snprintf(cols->list[i].name, sizeof(cols->list[i].name), "%c%0*zu", letter, width,
			 i);
	dlio_comment(
		w,
		"%zu columns in the YAML's order would make the line too long. Here columns of the "
		"same type stand next to each other, %zu columns are read, and mlgen names them.",
		cols->count, cols->read_count);
	if (!write_lists(w, cols))
		fault(w, n, "more kinds of columns than fit on a line of a job file");
}

/* The largest number up to `most` that divides `all`. */
static double divisor(double all, double most)
{
	double best = 1;

	for (double d = 1; d * d <= all; d++) {
		if (fmod(all, d) != 0)
			continue;
		if (d <= most)
			best = fmax(best, d);
		if (all / d <= most)
			best = fmax(best, all / d);
	}
	return best;
}

static void write_row_groups(struct dlio_writer *w)
{
	double wanted = dlio_get(w, "dataset.parquet.row_group_size")->number;
	double all = dlio_value(w->c, "dataset.num_samples_per_file")->number;
	double rows = divisor(all, wanted);

	if (2 * rows < fmin(wanted, all))
		dlio_fault_of(w->c, "dataset.num_samples_per_file",
			      "%.0f rows do not divide into row groups of %.0f (row_group_size) or "
			      "slightly fewer; add ++workload.dataset.num_samples_per_file=%.0f",
			      all, wanted, fmax(floor(all / wanted), 1) * wanted);
	else if (wanted > all)
		dlio_comment(w, "A row group of %.0f rows holds all %.0f rows of a file.", wanted,
			     all);
	else if (rows != wanted)
		dlio_comment(w,
			     "%.0f does not divide the %.0f rows of a file, so DLIO's last row "
			     "group is shorter. Here all row groups have the same size.",
			     wanted, all);
	dlio_option_set(w, "dataset.parquet.row_group_size", "%.0f", rows);
}

/* Write the columns and row groups of Parquet files. Returns the bytes of a row, 0 if the YAML
 * names no columns. */
static double dlio_write_columns(struct dlio_writer *w)
{
	const struct yaml_node *n = dlio_get(w, "dataset.parquet.columns")->node;
	struct cols cols = { 0 };
	double bytes = 0;

	write_row_groups(w);
	if (!n || !n->count)
		return 0;
	if (n->count > COLUMNS_MAX) {
		fault(w, n, "more than 10,000 columns");
		return 0;
	}
	cols.list = mem_array(n->count, sizeof(*cols.list));
	for (size_t i = 0; i < n->count; i++) {
		struct col *col = &cols.list[cols.count++];

		read_column(w, n->at[i].value, i, col);
		cols.read_count += col->is_read;
		cols.row_bytes += col->type->bytes * col->values;
	}
	if (!w->c->fault_count) {
		const struct dlio_value *v;

		bytes = cols.row_bytes;
		write_columns(w, &cols, n);
		v = dlio_get(w, "dataset.record_length_bytes");
		dlio_get(w, "dataset.record_length_bytes_stdev");
		if (v->node && v->number != bytes)
			dlio_comment(w,
				     "The columns add up to %.0f bytes per row, not to the %.12g "
				     "of record_length_bytes.",
				     bytes, v->number);
	}
	mem_free(cols.list);
	return bytes;
}

/* ---- the loader ---- */

/* The default read size of TensorFlow, in bytes. */
#define TF_BUFFER 262144.0

static bool is_tfdata(struct dlio_writer *w)
{
	const struct dlio_value *loader = dlio_value(w->c, "reader.data_loader");
	bool is_tf;

	dlio_get(w, "framework");
	is_tf = dlio_is_word(w->c, "framework", "tensorflow");
	if (!loader->node)
		return is_tf;
	dlio_get(w, "reader.data_loader");
	if (dlio_has_word("tensorflow native_tensorflow", loader->text))
		return true;
	if (dlio_has_word("pytorch native_pytorch", loader->text))
		return false;
	if (strcmp(loader->text, "synthetic") == 0)
		dlio_comment(w, "The YAML says data_loader: synthetic, which reads no files. The "
				"null engine reads no files either.");
	else
		dlio_comment(w,
			     "The YAML says data_loader: %s. mlgen does not know its order of "
			     "reads; this job uses the framework's own loader.",
			     loader->text);
	return is_tf;
}

/* ---- the order ---- */

static void shuffle_pytorch(struct dlio_writer *w, bool samples, bool files)
{
	if (samples || files)
		dlio_comment(w, "A new random order in each epoch, as the YAML says. DLIO itself "
				"(except v1.0) reads each rank's files in name order, as "
				"shuffle=none with shard=contiguous does.");
	dlio_option_set(w, "reader.sample_shuffle", "%s",
			samples ? "sample"
			: files ? "file"
				: "none");
	dlio_option(w, "shard=%s", samples || files ? "strided" : "contiguous");
}

static void shuffle_tfdata(struct dlio_writer *w, bool samples, bool files)
{
	double buffer = samples ? dlio_get(w, "reader.shuffle_size")->number : 0;

	if (files && buffer >= 1)
		dlio_comment(w, "The YAML also shuffles the list of files. DLIO shuffles the list "
				"once, before the first epoch; here the files stay in name order.");
	else if (files)
		dlio_comment(w,
			     "The files are in a new random order in each epoch, as the YAML says. "
			     "DLIO shuffles the list of files once, before the first epoch.");
	else if (dlio_is_set(w->c, "reader.file_shuffle"))
		dlio_comment(w, "The YAML says file_shuffle: off. DLIO treats any text here as "
				"true, and shuffles the list of files once.");
	if (buffer >= 1)
		dlio_option_set(w, "reader.sample_shuffle", "buffer:%.0f", buffer);
	else
		dlio_option_set(w, "reader.sample_shuffle", "%s", files ? "file" : "none");
	dlio_option(w, "shard=file");
}

static bool shuffles(struct dlio_writer *w, const char *path)
{
	dlio_get(w, path);
	return !dlio_is_word(w->c, path, "off");
}

/* ---- the calls ---- */

/* The reason why no framework can read the dataset, or NULL. */
static const char *why_plain(struct dlio_writer *w, bool is_tf, bool saves)
{
	bool direct = dlio_value(w->c, "reader.odirect")->is_true ||
		      dlio_is_word(w->c, "storage.storage_type", "direct_fs");

	if (dlio_is_word(w->c, "dataset.format", "bin dcm synthetic"))
		return "no framework reads format=raw";
	if (dlio_is_word(w->c, "dataset.format", "tfrecord") && !is_tf)
		return "PyTorch has no reader of TFRecord files, and mlgen does not know DLIO's "
		       "native readers";
	if (direct && !dlio_is_word(w->c, "dataset.format", "npz npy tfrecord"))
		return "no framework reads this format with O_DIRECT";
	if (direct && saves)
		return "torch.save does not write with O_DIRECT";
	return NULL;
}

static void write_calls(struct dlio_writer *w, bool is_tf, bool saves)
{
	const char *plain = why_plain(w, is_tf, saves);
	const struct dlio_value *transfer = dlio_value(w->c, "reader.transfer_size");
	bool direct = dlio_get(w, "reader.odirect")->is_true;

	if (is_tf && transfer->node) {
		dlio_get(w, "reader.transfer_size");
		if (transfer->number != TF_BUFFER)
			dlio_comment(w,
				     "The YAML says transfer_size: %.0f; here TensorFlow reads 256 "
				     "KiB at a time.",
				     transfer->number);
	}
	if (dlio_is_word(w->c, "dataset.format", "mmap_indexed_binary") && !plain)
		dlio_comment(w, "DLIO maps the file but does not touch it: DLIO reads the indexes "
				"and no samples. access=plain reads the samples.");
	if (plain)
		dlio_comment(w, "Not read with a framework's calls: %s.", plain);
	dlio_option(w, "access=%s", plain ? "plain" : "framework");
	if (dlio_is_word(w->c, "storage.storage_type", "direct_fs")) {
		dlio_get(w, "storage.storage_type");
		direct = true;
	}
	dlio_option_set(w, "reader.odirect", "%d", direct);
	if (dlio_is_word(w->c, "dataset.format", "synthetic") ||
	    dlio_is_word(w->c, "reader.data_loader", "synthetic"))
		dlio_option(w, "ioengine=null");
}

void dlio_write_reader(struct dlio_writer *w, bool saves)
{
	bool is_tf = is_tfdata(w), samples, files;
	double threads, ahead, each;

	if (is_tf) {
		dlio_option(w, "loader=tfdata");
		dlio_option_from(w, "reader.read_threads");
		dlio_option_from(w, "reader.computation_threads");
		dlio_option_from(w, "reader.prefetch_size");
	} else {
		/* DLIO divides prefetch_size among the workers. Each gets 2 if it is 0. */
		threads = dlio_get(w, "reader.read_threads")->number;
		ahead = dlio_get(w, "reader.prefetch_size")->number;
		each = ceil(ahead / fmax(threads, 1));
		dlio_option(w, "loader=pytorch");
		dlio_option_set(w, "reader.read_threads", "%.0f", threads);
		if (threads > 1 && ahead > 0 && fmod(ahead, threads) != 0)
			dlio_comment(
				w,
				"prefetch_size=%.0f is divided among %.0f workers and rounded up.",
				ahead, threads);
		dlio_option_set(w, "reader.prefetch_size", "%.0f",
				threads == 0 ? 0
				: each < 1   ? 2
					     : each);
	}
	if (dlio_is_set(w->c, "reader.preprocess_time") ||
	    dlio_is_set(w->c, "reader.preprocess_time_stdev"))
		dlio_option_from(w, "reader.preprocess_time");

	samples = shuffles(w, "reader.sample_shuffle");
	files = shuffles(w, "reader.file_shuffle");
	if ((samples || files) && (dlio_is_word(w->c, "reader.sample_shuffle", "random") ||
				   dlio_is_word(w->c, "reader.file_shuffle", "random")))
		dlio_comment(
			w, "In DLIO, random has no seed; here every order follows from randseed.");
	if ((samples || files) && !dlio_get(w, "train.seed_change_epoch")->is_true)
		dlio_comment(w, "The YAML says seed_change_epoch: False, which is the same order "
				"in every epoch. Here each epoch has its own order.");
	if (is_tf)
		shuffle_tfdata(w, samples, files);
	else
		shuffle_pytorch(w, samples, files);
	dlio_option(w, "drop_last=1");
	dlio_option_from(w, "train.seed");

	write_calls(w, is_tf, saves);
	dlio_block(w, "how it is read");
}

static bool is_format(const struct dlio_writer *w, const char *words)
{
	return dlio_is_word(w->c, "dataset.format", words);
}

/* Formats of DLIO that mlgen does not have, each with its replacement. */
static const struct {
	const char *dlio, *mlgen, *why;
} formats[] = {
	{ "hdf5_opt", "hdf5", "The YAML says hdf5_opt, which DLIO itself has no reader for." },
	{ "bin", "raw",
	  "The YAML says bin, which mlgen does not have. Files of format=raw are as large and have "
	  "no header." },
	{ "dcm", "raw",
	  "The YAML says dcm, which mlgen does not have. Files of format=raw are as large and have "
	  "no header." },
	{ "synthetic", "raw",
	  "The YAML says synthetic: no files are read. The null engine reads no files either." },
};

/* ---- the size of a sample ---- */

/* The bytes of a record with record_dims; 0 = the YAML has no record_dims. */
static double record_bytes(struct dlio_writer *w)
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
	const struct dlio_value *dims = dlio_get(w, "dataset.record_dims");
	double elements = 1, side;
	const char *type;

	if (!dims->node || !dims->node->count)
		return 0;
	for (size_t i = 0; i < dims->node->count; i++) {
		if (!dlio_number(dims->node->at[i].value, &side))
			return 0;
		elements *= side;
	}
	type = dlio_get(w, "dataset.record_element_type")->text;
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++)
		if (dlio_has_word(sizes[i].types, type))
			return elements * sizes[i].bytes;
	dlio_fault_of(w->c, "dataset.record_element_type",
		      "'%.40s' is not one of: uint8 int8 uint16 int16 uint32 int32 uint64 int64 "
		      "float16 float32 float64",
		      type);
	return elements;
}

/* Write the distribution dlio:, which has the sizes that DLIO makes. */
static void write_law(struct dlio_writer *w, double mean, double stdev)
{
	double side = floor(sqrt(mean));

	if (stdev > 0)
		dlio_comment(w, "Mean and stdev are those of the YAML. DLIO draws the two sides of "
				"a sample, so the stdev of its files is smaller; dlio: follows the "
				"same law.");
	else
		dlio_comment(w,
			     "The YAML says %.12g bytes; DLIO makes a square of %.0f x %.0f = %s "
			     "bytes, and dlio: does the same.",
			     mean, side, side, dlio_digits(side * side).s);
	dlio_option(w, "sample_size=dlio:%.12g:%.12g", mean, stdev);
}

static void write_sample_size(struct dlio_writer *w, double row_bytes)
{
	double dims = record_bytes(w);
	double bytes = row_bytes > 0 ? row_bytes : dims;
	double mean, stdev, side;

	if (bytes > 0) {
		if (bytes < 1 || bytes > 1099511627776.0)
			dlio_fault_of(w->c, "dataset.record_dims",
				      "a sample of %.0f bytes; a sample has 1 byte to 1 TiB",
				      bytes);
		dlio_option(w, "sample_size=%.0f", floor(bytes));
		return;
	}
	mean = dlio_get(w, "dataset.record_length_bytes")->number;
	stdev = dlio_get(w, "dataset.record_length_bytes_stdev")->number;
	side = floor(sqrt(mean));
	if (stdev > 0 && is_format(w, "parquet")) {
		dlio_comment(w,
			     "The YAML says a stdev of %.12g; all rows of a Parquet file have the "
			     "same size.",
			     stdev);
		stdev = 0;
	}
	if (stdev > 0) {
		write_law(w, mean, stdev);
	} else if (is_format(w, "jpeg png")) {
		dlio_comment(w, "In DLIO, the number is the size of the decoded image; here it is "
				"the size of the file.");
		dlio_option(w, "sample_size=%.0f", floor(mean));
	} else if (side * side == mean || is_format(w, "parquet")) {
		dlio_option(w, "sample_size=%.0f", floor(mean));
	} else {
		write_law(w, mean, 0);
	}
}

void dlio_write_dataset(struct dlio_writer *w)
{
	const char *format = dlio_get(w, "dataset.format")->text;
	double files, folders, samples, row_bytes = 0;

	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		if (!is_format(w, formats[i].dlio))
			continue;
		dlio_comment(w, "%s", formats[i].why);
		format = formats[i].mlgen;
	}
	dlio_option_set(w, "dataset.format", "%s", format);
	files = dlio_get(w, "dataset.num_files_train")->number;
	folders = dlio_get(w, "dataset.num_subfolders_train")->number;
	dlio_option_from(w, "dataset.num_files_train");
	if (folders > files) {
		dlio_comment(w, "%.0f subfolders for %.0f files: the other folders would be empty.",
			     folders, files);
		folders = files;
	}
	if (folders > 1)
		dlio_option_set(w, "dataset.num_subfolders_train", "%.0f", folders);
	samples = dlio_get(w, "dataset.num_samples_per_file")->number;
	if (samples > 1 && is_format(w, "jpeg png"))
		dlio_fault_of(w->c, "dataset.num_samples_per_file",
			      "a file is one image, so it cannot hold %.0f samples; add "
			      "++workload.dataset.num_samples_per_file=1",
			      samples);
	dlio_option_from(w, "dataset.num_samples_per_file");
	if (is_format(w, "parquet"))
		row_bytes = dlio_write_columns(w);
	write_sample_size(w, row_bytes);
	dlio_block(w, "what lies on storage");
}

void dlio_write_evaluation(struct dlio_writer *w)
{
	double files = dlio_get(w, "dataset.num_files_eval")->number;

	/* Only a key in the YAML turns the evaluation on, so the key is not NULL. */
	if (strcmp(dlio_value(w->c, "workflow.evaluation")->key->text, "do_eval") == 0)
		dlio_comment(w, "The YAML says do_eval. DLIO does not read this key, so it would "
				"not evaluate.");
	if (files == 0) {
		dlio_comment(w,
			     "The YAML evaluates, but has no files for it: num_files_eval is 0.");
		dlio_block(w, "evaluation");
		return;
	}
	dlio_comment(w, "Accelerators do not wait for each other during an evaluation.");
	dlio_option_from(w, "dataset.num_files_eval");
	dlio_option_from(w, "reader.batch_size_eval");
	dlio_option_from(w, "evaluation.eval_time");
	/* To DLIO, 0 means every epoch and from the first epoch on. */
	dlio_option_from(w, "evaluation.epochs_between_evals");
	dlio_option_from(w, "evaluation.eval_after_epoch");
	dlio_block(w, "evaluation");
}
