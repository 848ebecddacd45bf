/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_reader.c - loader, order and calls of an imported workload. */
#include "import/dlio/dlio_parts.h"

#include <math.h>
#include <string.h>

/* What TensorFlow reads at a time where it is not told. */
#define TF_BUFFER 262144.0

/* ---- the loader ---- */

static bool is_tfdata(struct dlio_writer *w)
{
	const struct dlio_value *loader = dlio_value(w->c, "reader.data_loader");
	bool is_tf;

	dlio_take(w, "framework");
	is_tf = dlio_is_word(w->c, "framework", "tensorflow");
	if (!loader->node)
		return is_tf;
	dlio_take(w, "reader.data_loader");
	if (dlio_has_word("tensorflow native_tensorflow", loader->text))
		return true;
	if (dlio_has_word("pytorch native_pytorch", loader->text))
		return false;
	if (strcmp(loader->text, "synthetic") == 0)
		dlio_say(w, "The YAML says data_loader: synthetic, which reads no files; nor does "
			    "the null engine.");
	else
		dlio_say(w,
			 "The YAML says data_loader: %s. Its order of reads is not known here; "
			 "this is the framework's own loader.",
			 loader->text);
	return is_tf;
}

static void write_tfdata(struct dlio_writer *w)
{
	dlio_option(w, "loader=tfdata");
	dlio_option_of(w, "reader.read_threads");
	dlio_option_of(w, "reader.computation_threads");
	dlio_option_of(w, "reader.prefetch_size");
}

/* DLIO shares its prefetch among the workers, and gives 2 to each for none. */
static void write_pytorch(struct dlio_writer *w)
{
	double threads = dlio_take(w, "reader.read_threads")->number;
	double ahead = dlio_take(w, "reader.prefetch_size")->number;
	double each = ceil(ahead / fmax(threads, 1));

	dlio_option(w, "loader=pytorch");
	dlio_option_as(w, "reader.read_threads", "%.0f", threads);
	if (threads > 1 && ahead > 0 && fmod(ahead, threads) != 0)
		dlio_say(w, "prefetch_size=%.0f is shared by %.0f workers, rounded up.", ahead,
			 threads);
	dlio_option_as(w, "reader.prefetch_size", "%.0f", threads == 0 ? 0 : each < 1 ? 2 : each);
}

/* ---- the order ---- */

static void say_seed(struct dlio_writer *w)
{
	if (dlio_is_word(w->c, "reader.sample_shuffle", "random") ||
	    dlio_is_word(w->c, "reader.file_shuffle", "random"))
		dlio_say(w, "random is without a seed in DLIO; here every order follows from "
			    "randseed.");
	if (!dlio_take(w, "train.seed_change_epoch")->yes)
		dlio_say(w, "The YAML says seed_change_epoch: False, the same order in every "
			    "epoch; here each has its own.");
}

static void shuffle_pytorch(struct dlio_writer *w, bool samples, bool files)
{
	if (samples || files)
		dlio_say(w, "A new random order each epoch, as the YAML says. DLIO itself reads "
			    "each rank's files in name order (but v1.0): shuffle=none with "
			    "shard=contiguous does that.");
	dlio_option_as(w, "reader.sample_shuffle", "%s",
		       samples ? "sample"
		       : files ? "file"
			       : "none");
	dlio_option(w, "shard=%s", samples || files ? "strided" : "contiguous");
}

static void shuffle_tfdata(struct dlio_writer *w, bool samples, bool files)
{
	double buffer = samples ? dlio_take(w, "reader.shuffle_size")->number : 0;

	if (files && buffer >= 1)
		dlio_say(w, "The YAML shuffles the list of files, too. DLIO does that once, before "
			    "the first epoch; here the files keep the order of their names.");
	else if (files)
		dlio_say(w, "Files in a new random order each epoch, as the YAML says. DLIO "
			    "shuffles their list once, before the first epoch.");
	else if (dlio_is_set(w->c, "reader.file_shuffle"))
		dlio_say(w, "The YAML says file_shuffle: off. DLIO takes any text there for a yes, "
			    "and shuffles the list of files once.");
	if (buffer >= 1)
		dlio_option_as(w, "reader.sample_shuffle", "buffer:%.0f", buffer);
	else
		dlio_option_as(w, "reader.sample_shuffle", "%s", files ? "file" : "none");
	dlio_option(w, "shard=file");
}

static bool shuffles(struct dlio_writer *w, const char *path)
{
	dlio_take(w, path);
	return !dlio_is_word(w->c, path, "off");
}

static void write_order(struct dlio_writer *w, bool is_tf)
{
	bool samples = shuffles(w, "reader.sample_shuffle");
	bool files = shuffles(w, "reader.file_shuffle");

	if (samples || files)
		say_seed(w);
	if (is_tf)
		shuffle_tfdata(w, samples, files);
	else
		shuffle_pytorch(w, samples, files);
	dlio_option(w, "drop_last=1");
	dlio_option_of(w, "train.seed");
}

/* ---- the calls ---- */

static const char *why_plain(struct dlio_writer *w, bool is_tf, bool saves)
{
	bool direct = dlio_value(w->c, "reader.odirect")->yes ||
		      dlio_is_word(w->c, "storage.storage_type", "direct_fs");

	if (dlio_is_word(w->c, "dataset.format", "bin dcm synthetic"))
		return "format=raw is read by no framework";
	if (dlio_is_word(w->c, "dataset.format", "tfrecord") && !is_tf)
		return "PyTorch has no reader of TFRecord files, and DLIO's native ones are not "
		       "known here";
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
	bool direct = dlio_take(w, "reader.odirect")->yes;

	if (is_tf && transfer->node) {
		dlio_take(w, "reader.transfer_size");
		if (transfer->number != TF_BUFFER)
			dlio_say(w,
				 "The YAML says transfer_size: %.0f; here TensorFlow's calls are "
				 "those of 256 KiB.",
				 transfer->number);
	}
	if (dlio_is_word(w->c, "dataset.format", "mmap_indexed_binary") && !plain)
		dlio_say(w, "DLIO maps the file and touches nothing of it: its indexes are read, "
			    "and no samples. access=plain reads them.");
	if (plain)
		dlio_say(w, "Not by a framework's calls: %s.", plain);
	dlio_option(w, "access=%s", plain ? "plain" : "framework");
	if (dlio_is_word(w->c, "storage.storage_type", "direct_fs")) {
		dlio_take(w, "storage.storage_type");
		direct = true;
	}
	dlio_option_as(w, "reader.odirect", "%d", direct);
	if (dlio_is_word(w->c, "dataset.format", "synthetic") ||
	    dlio_is_word(w->c, "reader.data_loader", "synthetic"))
		dlio_option(w, "ioengine=null");
}

static void write_preprocess(struct dlio_writer *w)
{
	if (dlio_is_set(w->c, "reader.preprocess_time") ||
	    dlio_is_set(w->c, "reader.preprocess_time_stdev"))
		dlio_option_of(w, "reader.preprocess_time");
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
