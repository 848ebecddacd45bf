/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_reader.c - loader, order and calls of an imported workload. */
#include "import/dlio/dlio_parts.h"

#include <math.h>
#include <string.h>

/* What TensorFlow reads at a time where it is not told. */
#define TF_BUFFER 262144.0

static bool is_word(const struct dlio_writer *w, enum dlio_id id,
		    const char *words)
{
	const char *text = w->c->values[id].text;

	return text && dlio_has_word(words, text);
}

/* ---- the loader ---- */

static bool is_tfdata(struct dlio_writer *w)
{
	const char *framework = dlio_take(w, DLIO_FRAMEWORK)->text;
	const char *loader = w->c->values[DLIO_DATA_LOADER].text;

	if (!dlio_is_set(w->c, DLIO_DATA_LOADER))
		return strcmp(framework, "tensorflow") == 0;
	dlio_take(w, DLIO_DATA_LOADER);
	if (dlio_has_word("tensorflow native_tensorflow", loader))
		return true;
	if (dlio_has_word("pytorch native_pytorch", loader))
		return false;
	if (strcmp(loader, "synthetic") == 0)
		dlio_say(w, "The YAML says data_loader: synthetic, which reads "
			    "no files; nor does the null engine.");
	else
		dlio_say(w,
			 "The YAML says data_loader: %s. Its order of reads "
			 "is not known here; this is the framework's own "
			 "loader.",
			 loader);
	return strcmp(framework, "tensorflow") == 0;
}

static double at_least_one(double number)
{
	return fmax(number, 1);
}

static void write_tfdata(struct dlio_writer *w)
{
	dlio_option(w, "loader=tfdata");
	dlio_option(w, "read_threads=%.0f",
		    at_least_one(dlio_take(w, DLIO_READ_THREADS)->number));
	dlio_option(
		w, "decode_threads=%.0f",
		at_least_one(dlio_take(w, DLIO_COMPUTATION_THREADS)->number));
	dlio_option(w, "prefetch=%.0f",
		    at_least_one(dlio_take(w, DLIO_PREFETCH)->number));
}

/* DLIO shares its prefetch among the workers, and gives 2 to each for none. */
static void write_pytorch(struct dlio_writer *w)
{
	double threads = dlio_take(w, DLIO_READ_THREADS)->number;
	double ahead = dlio_take(w, DLIO_PREFETCH)->number;
	double each = ceil(ahead / at_least_one(threads));

	dlio_option(w, "loader=pytorch");
	dlio_option(w, "read_threads=%.0f", threads);
	if (threads > 1 && ahead > 0 && fmod(ahead, threads) != 0)
		dlio_say(w,
			 "prefetch_size=%.0f is shared by %.0f workers, "
			 "rounded up.",
			 ahead, threads);
	dlio_option(w, "prefetch=%.0f", threads == 0 ? 0 : each < 1 ? 2 : each);
}

/* ---- the order ---- */

static void say_seed(struct dlio_writer *w)
{
	if (is_word(w, DLIO_SAMPLE_SHUFFLE, "random") ||
	    is_word(w, DLIO_FILE_SHUFFLE, "random"))
		dlio_say(w, "random is without a seed in DLIO; here every "
			    "order follows from randseed.");
	if (!dlio_take(w, DLIO_SEED_CHANGE)->yes)
		dlio_say(w, "The YAML says seed_change_epoch: False, the same "
			    "order in every epoch; here each has its own.");
}

static void shuffle_pytorch(struct dlio_writer *w, bool samples, bool files)
{
	if (samples || files)
		dlio_say(w, "A new random order each epoch, as the YAML says. "
			    "DLIO itself reads each rank's files in name order "
			    "(but v1.0): shuffle=none with shard=contiguous "
			    "does that.");
	dlio_option(w, "shuffle=%s",
		    samples ? "sample"
		    : files ? "file"
			    : "none");
	dlio_option(w, "shard=%s", samples || files ? "strided" : "contiguous");
}

static void shuffle_tfdata(struct dlio_writer *w, bool samples, bool files)
{
	double buffer = samples ? dlio_take(w, DLIO_SHUFFLE_SIZE)->number : 0;

	if (files && buffer >= 1)
		dlio_say(w, "The YAML shuffles the list of files, too. DLIO "
			    "does that once, before the first epoch; here the "
			    "files keep the order of their names.");
	else if (files)
		dlio_say(w, "Files in a new random order each epoch, as the "
			    "YAML says. DLIO shuffles their list once, before "
			    "the first epoch.");
	else if (dlio_is_set(w->c, DLIO_FILE_SHUFFLE))
		dlio_say(w, "The YAML says file_shuffle: off. DLIO takes any "
			    "text there for a yes, and shuffles the list of "
			    "files once.");
	if (buffer >= 1)
		dlio_option(w, "shuffle=buffer:%.0f", buffer);
	else
		dlio_option(w, "shuffle=%s", files ? "file" : "none");
	dlio_option(w, "shard=file");
}

static void write_order(struct dlio_writer *w, bool is_tf)
{
	const char *sample = dlio_take(w, DLIO_SAMPLE_SHUFFLE)->text;
	const char *file = dlio_take(w, DLIO_FILE_SHUFFLE)->text;
	bool samples = sample && strcmp(sample, "off") != 0;
	bool files = file && strcmp(file, "off") != 0;

	if (samples || files)
		say_seed(w);
	if (is_tf)
		shuffle_tfdata(w, samples, files);
	else
		shuffle_pytorch(w, samples, files);
	dlio_option(w, "drop_last=1");
	dlio_option_whole(w, "randseed", DLIO_SEED);
}

/* ---- the calls ---- */

static const char *why_plain(struct dlio_writer *w, bool is_tf, bool saves)
{
	bool direct = w->c->values[DLIO_ODIRECT].yes ||
		      is_word(w, DLIO_STORAGE_TYPE, "direct_fs");

	if (is_word(w, DLIO_FORMAT, "csv bin dcm synthetic"))
		return "format=raw is read by no framework";
	if (is_word(w, DLIO_FORMAT, "tfrecord") && !is_tf)
		return "PyTorch has no reader of TFRecord files, and DLIO's "
		       "native ones are not known here";
	if (direct && !is_word(w, DLIO_FORMAT, "npz npy tfrecord"))
		return "no framework reads this format with O_DIRECT";
	if (direct && saves)
		return "torch.save does not write with O_DIRECT";
	return NULL;
}

static void write_calls(struct dlio_writer *w, bool is_tf, bool saves)
{
	const char *plain = why_plain(w, is_tf, saves);
	const struct dlio_value *transfer = &w->c->values[DLIO_TRANSFER_SIZE];
	bool direct = dlio_take(w, DLIO_ODIRECT)->yes;

	if (is_tf && transfer->node) {
		dlio_take(w, DLIO_TRANSFER_SIZE);
		if (transfer->number != TF_BUFFER)
			dlio_say(w,
				 "The YAML says transfer_size: %.0f; here "
				 "TensorFlow's calls are those of 256 KiB.",
				 transfer->number);
	}
	if (is_word(w, DLIO_FORMAT, "mmap_indexed_binary") && !plain)
		dlio_say(w, "DLIO maps the file and touches nothing of it: its "
			    "indexes are read, and no samples. access=plain "
			    "reads them.");
	if (plain)
		dlio_say(w, "Not by a framework's calls: %s.", plain);
	dlio_option(w, "access=%s", plain ? "plain" : "framework");
	if (is_word(w, DLIO_STORAGE_TYPE, "direct_fs")) {
		dlio_take(w, DLIO_STORAGE_TYPE);
		direct = true;
	}
	dlio_option(w, "direct=%d", direct);
	if (is_word(w, DLIO_FORMAT, "synthetic") ||
	    is_word(w, DLIO_DATA_LOADER, "synthetic"))
		dlio_option(w, "ioengine=null");
}

static void write_preprocess(struct dlio_writer *w)
{
	if (dlio_is_set(w->c, DLIO_PREPROCESS) ||
	    dlio_is_set(w->c, DLIO_PREPROCESS_STDEV))
		dlio_option_time(w, "preprocess_time", DLIO_PREPROCESS,
				 DLIO_PREPROCESS_STDEV);
}

void dlio_write_reader(struct dlio_writer *w, bool saves)
{
	bool is_tf = is_tfdata(w);

	if (is_tf)
		write_tfdata(w);
	else
		write_pytorch(w);
	write_preprocess(w);
	write_order(w, is_tf);
	write_calls(w, is_tf, saves);
	dlio_block(w, "how it is read");
}
