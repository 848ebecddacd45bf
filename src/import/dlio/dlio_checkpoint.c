/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_checkpoint.c - writes the checkpoint options of an imported workload. */
#include "import/dlio/dlio_writer.h"

#include <math.h>

#include "base/util.h"

/* ---- the state of a rank ---- */

#define RANKS_MAX 1e6

static double dlio_state_number(const struct dlio_writer *w, const char *path)
{
	return dlio_value(w->c, path)->number;
}

/* Return the value of the first key that is set: the place of a fault that concerns several keys.
 * NULL if no key is set. */
static const struct yaml_node *first_set(const struct dlio_writer *w, const char *const *paths)
{
	for (; *paths; paths++)
		if (dlio_is_set(w->c, *paths))
			return dlio_value(w->c, *paths)->node;
	return NULL;
}

static bool has_list(const struct dlio_writer *w, const char *path)
{
	const struct yaml_node *n = dlio_value(w->c, path)->node;

	return n && n->count;
}

/* Does the workload list the elements of its tensors? Older workloads do. */
static bool is_counted(const struct dlio_writer *w)
{
	return has_list(w, "model.layer_parameters") || has_list(w, "model.optimization_groups");
}

static bool is_typed_transformer(const struct dlio_writer *w)
{
	return dlio_is_word(w->c, "model.type", "transformer");
}

/* ---- a transformer ---- */

/* The number of ranks, which is an argument of mpirun and not in the YAML. `one` is that of a
 * single copy of the model. */
static double find_ranks(struct dlio_writer *w, double one)
{
	/* Models in MLPerf Storage's rules. */
	static const struct {
		double layers, hidden, ranks;
	} models[] = {
		{ 32, 4096, 8 },
		{ 80, 8192, 64 },
		{ 126, 16384, 512 },
		{ 128, 25872, 1024 },
	};
	double data = dlio_get(w, "model.parallelism.data")->number;
	double known = 0;

	if (data > 0)
		return one * data;
	for (size_t i = 0; i < ARRAY_LEN(models); i++)
		if (dlio_state_number(w, "model.num_layers") == models[i].layers &&
		    dlio_state_number(w, "model.transformer.hidden_size") == models[i].hidden &&
		    dlio_state_number(w, "model.parallelism.zero_stage") > 0)
			known = models[i].ranks;
	if (known > 0 && fmod(known, one) == 0) {
		dlio_comment(w,
			     "The number of ranks is an argument of mpirun and not in the YAML: %s "
			     "is the number in MLPerf Storage's rules for a model of this shape.",
			     dlio_digits(known).s);
		return known;
	}
	dlio_comment(w,
		     "The number of ranks is an argument of mpirun and not in the YAML: %.0f for "
		     "one copy of the model. --ranks=%.0f would be eight copies.",
		     one, 8 * one);
	return one;
}

static void write_transformer(struct dlio_writer *w, bool trains)
{
	static const char *const shape[] = { "model.parallelism.tensor",
					     "model.parallelism.pipeline", "model.parallelism.data",
					     NULL };
	double tensor, pipeline, zero, ranks;

	if (!is_typed_transformer(w))
		dlio_comment(w,
			     "DLIO also saves model_size_bytes (%s), because the YAML does not say "
			     "type: transformer.",
			     dlio_digits(dlio_get(w, "model.model_size_bytes")->number).s);
	dlio_get(w, "model.type");
	dlio_option_from(w, "model.num_layers");
	dlio_option_from(w, "model.transformer.hidden_size");
	dlio_option_from(w, "model.transformer.ffn_hidden_size");
	dlio_option_from(w, "model.transformer.num_attention_heads");
	dlio_option_from(w, "model.transformer.num_kv_heads");
	dlio_option_from(w, "model.transformer.vocab_size");
	dlio_option_from(w, "model.model_datatype");
	dlio_option_from(w, "model.optimizer_datatype");
	if (!trains)
		dlio_block(w, "the model: only its byte count matters to storage");

	tensor = dlio_get(w, "model.parallelism.tensor")->number;
	pipeline = dlio_get(w, "model.parallelism.pipeline")->number;
	zero = dlio_get(w, "model.parallelism.zero_stage")->number;
	ranks = find_ranks(w, tensor * pipeline);
	if (ranks > RANKS_MAX)
		dlio_fault(w->c, first_set(w, shape), "model.parallelism",
			   "%.0f ranks; at most %.0f", ranks, RANKS_MAX);
	if (zero == 3 && pipeline > 1)
		dlio_fault_of(w->c, "model.parallelism.zero_stage",
			      "3 does not work with a pipeline of %.0f; DLIO refuses it, too",
			      pipeline);
	dlio_option(w, "ranks=%.0f", ranks);
	dlio_option_from(w, "model.parallelism.tensor");
	dlio_option_from(w, "model.parallelism.pipeline");
	dlio_option_from(w, "model.parallelism.zero_stage");
	dlio_get(w, "checkpoint.mode");
	if (dlio_is_word(w->c, "checkpoint.mode", "subset") && !trains && ranks > 8) {
		dlio_comment(w, "mode: subset. The number of its ranks is an argument of mpirun; "
				"MLPerf Storage's rules have 8.");
		dlio_option_set(w, "checkpoint.mode", "0-7");
	}
	dlio_option(w, "checkpoint_layout=deepspeed");
}

/* ---- one tensor per rank ---- */

static double dlio_state_sum(const struct dlio_writer *w, const char *path, double divisor)
{
	const struct yaml_node *n = dlio_value(w->c, path)->node;
	double total = 0, one;

	for (size_t i = 0; n && i < n->count; i++)
		if (dlio_number(n->at[i].value, &one))
			total += floor(one / divisor);
	return total;
}

static double counted_bytes(struct dlio_writer *w)
{
	double tensor = dlio_get(w, "model.parallelism.tensor")->number;
	double pipeline = dlio_get(w, "model.parallelism.pipeline")->number;
	double layers = fmax(dlio_get(w, "model.num_layers")->number, 0);
	double model =
		ceil(layers / pipeline) * dlio_state_sum(w, "model.layer_parameters", tensor);
	double optimizer = 3 * dlio_state_sum(w, "model.optimization_groups", 1);

	dlio_get(w, "model.layer_parameters");
	dlio_get(w, "model.optimization_groups");
	dlio_get(w, "model.parallelism.zero_stage");
	dlio_comment(
		w,
		"The size follows from layer_parameters and optimization_groups, as in DLIO: %.0f "
		"layers per rank with %s bytes each, and three times the groups, %s bytes. DLIO "
		"saves two files; this job saves one. --ranks=%.0f would be one copy of the model.",
		ceil(layers / pipeline),
		dlio_digits(dlio_state_sum(w, "model.layer_parameters", tensor)).s,
		dlio_digits(optimizer).s, tensor * pipeline);
	return model + optimizer;
}

static double model_bytes(struct dlio_writer *w)
{
	const struct dlio_value *size = dlio_value(w->c, "model.model_size");

	if (!size->node || dlio_is_set(w->c, "model.model_size_bytes"))
		return dlio_get(w, "model.model_size_bytes")->number;
	dlio_get(w, "model.model_size");
	dlio_comment(w,
		     "The YAML says model_size: %.0f. DLIO reads only model_size_bytes, and would "
		     "save its default of %s bytes.",
		     size->number, dlio_digits(dlio_state_number(w, "model.model_size_bytes")).s);
	return size->number;
}

static void write_tensor(struct dlio_writer *w)
{
	static const char *const sizes[] = { "model.model_size_bytes", "model.model_size",
					     "model.optimization_groups", "model.type", NULL };
	double bytes = is_counted(w) ? counted_bytes(w) : 0;
	bool is_all;

	if (!is_typed_transformer(w))
		bytes += model_bytes(w);
	dlio_get(w, "model.type");
	if (bytes < 1 || bytes > 1125899906842624.0)
		dlio_fault(w->c, first_set(w, sizes), "model",
			   "each rank would save %.0f bytes, and the limits are 1 byte and 1 PiB; "
			   "change %s",
			   bytes, is_typed_transformer(w) ? "num_layers" : "model_size_bytes");
	dlio_option(w, "checkpoint_size=%.0f", bytes);
	dlio_get(w, "checkpoint.type");
	is_all = dlio_is_word(w->c, "checkpoint.type", "all_ranks");
	if (is_all && !is_counted(w))
		dlio_comment(w, "The YAML says type: all_ranks. DLIO ignores this key and decides "
				"by itself which ranks save.");
	dlio_option_set(w, "checkpoint.type", is_all ? "all" : "zero");
	dlio_option(w, "checkpoint_layout=torch");
}

/* Write the options for the state of a rank and for the ranks that save. */
static void dlio_write_state(struct dlio_writer *w, bool trains)
{
	if (dlio_state_number(w, "model.num_layers") > 0 && !is_counted(w))
		write_transformer(w, trains);
	else
		write_tensor(w);
	dlio_get(w, "framework");
	if (dlio_is_word(w->c, "framework", "tensorflow"))
		dlio_comment(w, "mlgen does not know TensorFlow's checkpoint files; it writes "
				"files as PyTorch does.");
}

static void write_fsync(struct dlio_writer *w)
{
	if (dlio_get(w, "checkpoint.fsync")->is_true)
		dlio_comment(w, "The YAML says fsync: True. DLIO accepts the key but does not call "
				"fsync; mlgen does.");
	dlio_option_from(w, "checkpoint.fsync");
}

/* ---- checkpoints of a training job ---- */

static bool every_steps(struct dlio_writer *w, double steps)
{
	if (steps == 0) {
		dlio_comment(w, "steps_between_checkpoints is 0: no step is a multiple of 0, so no "
				"checkpoint is saved.");
		return false;
	}
	if (dlio_value(w->c, "train.epochs")->number > 1)
		dlio_comment(w, "DLIO counts the steps of each epoch from 0; this job counts the "
				"steps of all epochs.");
	dlio_option_set(w, "checkpoint.steps_between_checkpoints", "%.0f steps", steps);
	return true;
}

static bool every_epochs(struct dlio_writer *w)
{
	double epochs = dlio_value(w->c, "train.epochs")->number;
	double first = dlio_get(w, "checkpoint.checkpoint_after_epoch")->number;
	double every = dlio_get(w, "checkpoint.epochs_between_checkpoints")->number;
	double count, interval;

	if (first < 1 || first > epochs) {
		dlio_comment(w,
			     "The first checkpoint would be after epoch %.0f of %.0f: no "
			     "checkpoint is saved.",
			     first, epochs);
		return false;
	}
	count = every < 1 ? 1 : 1 + floor((epochs - first) / every);
	/* A single checkpoint must not be followed by another before the end. */
	interval = count > 1 ? every : fmax(first, floor(epochs / 2) + 1);
	if (first != interval)
		dlio_comment(w,
			     "The YAML saves after epoch %.0f, then every %.0f epochs, %.0f in "
			     "all. This job saves every %.0f epochs, %.0f in all.",
			     first, every, count, interval, floor(epochs / interval));
	dlio_option_set(w, "checkpoint.epochs_between_checkpoints", "%.0f epochs", interval);
	return true;
}

void dlio_write_saving(struct dlio_writer *w)
{
	double steps = dlio_get(w, "checkpoint.steps_between_checkpoints")->number;

	if (steps >= 0 ? every_steps(w, steps) : every_epochs(w)) {
		dlio_write_directory(w, "checkpoint_directory", "checkpoint.checkpoint_folder");
		dlio_write_state(w, true);
		write_fsync(w);
	}
	dlio_block(w, "checkpoints");
}

/* ---- checkpoints without a training job ---- */

static void write_pause(struct dlio_writer *w)
{
	if (dlio_get(w, "checkpoint.time_between_checkpoints")->number < 0)
		dlio_comment(w, "Without time_between_checkpoints DLIO waits for 1 s.");
	dlio_option_from(w, "checkpoint.time_between_checkpoints");
}

void dlio_write_checkpoints(struct dlio_writer *w)
{
	bool direct = dlio_is_word(w->c, "storage.storage_type", "direct_fs");
	double saves, restores;

	dlio_write_state(w, false);
	dlio_block(w, "who writes what");
	dlio_comment(w, "plain: every rank sends requests of bs. framework: one write for each "
			"tensor, as in torch.save, which DLIO calls.");
	dlio_option(w, "access=plain");
	dlio_option(w, "bs=1m");
	dlio_option(w, "direct=%d", direct);
	if (direct)
		dlio_get(w, "storage.storage_type");
	dlio_block(w, "how it is written and read");
	saves = dlio_get(w, "checkpoint.num_checkpoints_write")->number;
	restores = dlio_get(w, "checkpoint.num_checkpoints_read")->number;
	if (saves <= 0 && restores <= 0) {
		dlio_comment(
			w, "The YAML says neither num_checkpoints_write nor num_checkpoints_read. "
			   "DLIO then does nothing; this job saves one checkpoint.");
		saves = 1;
	}
	if (saves > 0) {
		buf_add(w->out, "\n[save]\n");
		dlio_option(w, "phase=checkpoint");
		dlio_option_set(w, "checkpoint.num_checkpoints_write", "%.0f", saves);
		write_pause(w);
		write_fsync(w);
		dlio_comment(
			w,
			"A second run deletes the checkpoints of the first; DLIO overwrites them.");
		dlio_option(w, "checkpoint_keep=%.0f", saves);
		dlio_block(w, NULL);
	}
	if (restores > 0) {
		buf_add(w->out, "\n");
		dlio_comment(w, "DLIO leaves the page cache as it is. This job drops its own files "
				"from the page cache of this host. MLPerf Storage's rules require "
				"an empty page cache, which needs root: --drop_caches=run.");
		dlio_block(w, NULL);
		buf_add(w->out, "[restore]\n");
		if (saves > 0)
			dlio_option(w, "stonewall");
		dlio_option(w, "phase=restore");
		dlio_option_from(w, "checkpoint.num_checkpoints_read");
		write_pause(w);
		if (dlio_get(w, "checkpoint.recovery_rank_shift")->is_true)
			dlio_comment(w,
				     "The YAML says recovery_rank_shift: True: each rank reads "
				     "what a rank of the next host has saved. DLIO looks for the "
				     "key under another name, so it does not shift. This job does "
				     "not shift either: its restore_shift goes around the ranks of "
				     "one host. To read what another host has saved, restore with "
				     "that host's checkpoint_ranks and checkpoint_directory.");
		dlio_block(w, NULL);
	}
}
