/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_state.c - what the ranks of an imported workload save. */
#include "import/dlio/dlio_parts.h"

#include <math.h>
#include <string.h>

#define RANKS_MAX 1e6
#define ARRAY_LEN(a) (sizeof(a) / sizeof(*(a)))

static double number(const struct dlio_writer *w, enum dlio_id id)
{
	return w->c->values[id].number;
}

/* A place in the YAML for what several keys have made. */
static const struct yaml_node *first_of(const struct dlio_writer *w,
					const enum dlio_id *ids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (dlio_is_set(w->c, ids[i]))
			return w->c->values[ids[i]].node;
	return NULL;
}

static bool has_list(const struct dlio_writer *w, enum dlio_id id)
{
	const struct yaml_node *n = w->c->values[id].node;

	return n && n->count;
}

/* Older workloads count the elements of their tensors by hand. */
static bool is_counted(const struct dlio_writer *w)
{
	return has_list(w, DLIO_LAYER_PARAMETERS) || has_list(w, DLIO_GROUPS);
}

static bool is_typed_transformer(const struct dlio_writer *w)
{
	const char *type = w->c->values[DLIO_MODEL_TYPE].text;

	return type && strcmp(type, "transformer") == 0;
}

/* ---- a transformer ---- */

static unsigned datatype_bytes(struct dlio_writer *w, enum dlio_id id)
{
	const char *text = dlio_take(w, id)->text;

	if (!text || dlio_has_word("fp16 bf16", text))
		return 2;
	if (strcmp(text, "fp32") == 0)
		return 4;
	return strcmp(text, "fp64") == 0 ? 8 : 1;
}

static void write_transformer(struct dlio_writer *w)
{
	if (!is_typed_transformer(w))
		dlio_say(w,
			 "DLIO saves model_size_bytes, %s, too, because the "
			 "YAML does not say type: transformer.",
			 dlio_digits(dlio_take(w, DLIO_MODEL_BYTES)->number).s);
	dlio_take(w, DLIO_MODEL_TYPE);
	dlio_option_whole(w, "model_layers", DLIO_LAYERS);
	dlio_option_whole(w, "model_hidden", DLIO_HIDDEN);
	dlio_option_whole(w, "model_ffn", DLIO_FFN);
	dlio_option_whole(w, "model_heads", DLIO_HEADS);
	dlio_option_whole(w, "model_kv_heads", DLIO_KV_HEADS);
	dlio_option_whole(w, "model_vocabulary", DLIO_VOCABULARY);
	dlio_option(w, "model_bytes=%u",
		    datatype_bytes(w, DLIO_MODEL_DATATYPE));
	dlio_option(w, "optimizer_bytes=%u",
		    datatype_bytes(w, DLIO_OPTIMIZER_DATATYPE));
}

/* The ranks that MLPerf Storage's rules give to its models: mpirun has them,
 * and no YAML. */
static double known_ranks(const struct dlio_writer *w)
{
	static const struct {
		double layers, hidden, ranks;
	} models[] = {
		{ 32, 4096, 8 },
		{ 80, 8192, 64 },
		{ 126, 16384, 512 },
		{ 128, 25872, 1024 },
	};

	for (size_t i = 0; i < sizeof(models) / sizeof(*models); i++)
		if (number(w, DLIO_LAYERS) == models[i].layers &&
		    number(w, DLIO_HIDDEN) == models[i].hidden &&
		    number(w, DLIO_ZERO) > 0)
			return models[i].ranks;
	return 0;
}

static double find_ranks(struct dlio_writer *w, double one)
{
	double data = dlio_take(w, DLIO_DATA)->number;
	double known = known_ranks(w);

	if (data > 0)
		return one * data;
	if (known > 0 && fmod(known, one) == 0) {
		dlio_say(w,
			 "mpirun says how many ranks there are, and no YAML "
			 "does: %s are those of MLPerf Storage's rules for "
			 "a model of this shape.",
			 dlio_digits(known).s);
		return known;
	}
	dlio_say(w,
		 "mpirun says how many ranks there are, and no YAML does: "
		 "%.0f are one copy of the model. --ranks=%.0f would be "
		 "eight.",
		 one, 8 * one);
	return one;
}

static void write_parallelism(struct dlio_writer *w, bool trains)
{
	static const enum dlio_id shape[] = { DLIO_TENSOR, DLIO_PIPELINE,
					      DLIO_DATA };
	double tensor = dlio_take(w, DLIO_TENSOR)->number;
	double pipeline = dlio_take(w, DLIO_PIPELINE)->number;
	const struct dlio_value *zero = dlio_take(w, DLIO_ZERO);
	double ranks = find_ranks(w, tensor * pipeline);

	if (ranks > RANKS_MAX)
		dlio_fault(w->c, first_of(w, shape, ARRAY_LEN(shape)),
			   "model.parallelism", "%.0f ranks; at most %.0f",
			   ranks, RANKS_MAX);
	if (zero->number == 3 && pipeline > 1)
		dlio_fault(w->c, zero->node, "model.parallelism.zero_stage",
			   "3 has no pipeline of %.0f; DLIO refuses it, too",
			   pipeline);
	dlio_option(w, "ranks=%.0f", ranks);
	dlio_option(w, "tensor_parallel=%.0f", tensor);
	dlio_option(w, "pipeline_parallel=%.0f", pipeline);
	dlio_option(w, "zero_stage=%.0f", zero->number);
	if (strcmp(dlio_take(w, DLIO_MODE)->text, "subset") == 0 && !trains &&
	    ranks > 8) {
		dlio_say(w, "mode: subset, of which mpirun says how many; 8 "
			    "are those of MLPerf Storage's rules.");
		dlio_option(w, "checkpoint_ranks=0-7");
	}
	dlio_option(w, "checkpoint_layout=deepspeed");
}

/* ---- one tensor a rank ---- */

static double sum(const struct dlio_writer *w, enum dlio_id id, double divisor)
{
	const struct yaml_node *n = w->c->values[id].node;
	double total = 0, one;

	for (size_t i = 0; n && i < n->count; i++)
		if (dlio_number(n->items[i], &one))
			total += floor(one / divisor);
	return total;
}

static double counted_bytes(struct dlio_writer *w)
{
	double tensor = dlio_take(w, DLIO_TENSOR)->number;
	double pipeline = dlio_take(w, DLIO_PIPELINE)->number;
	double layers = fmax(dlio_take(w, DLIO_LAYERS)->number, 0);
	double model =
		ceil(layers / pipeline) * sum(w, DLIO_LAYER_PARAMETERS, tensor);
	double optimizer = 3 * sum(w, DLIO_GROUPS, 1);

	dlio_take(w, DLIO_LAYER_PARAMETERS);
	dlio_take(w, DLIO_GROUPS);
	dlio_take(w, DLIO_ZERO);
	dlio_say(w,
		 "layer_parameters and optimization_groups, as DLIO makes "
		 "bytes of them: %.0f layers of a rank with %s bytes "
		 "each, and three times the groups, %s bytes. It saves "
		 "them in two files, here they are one. "
		 "--ranks=%.0f would be one copy of the model.",
		 ceil(layers / pipeline),
		 dlio_digits(sum(w, DLIO_LAYER_PARAMETERS, tensor)).s,
		 dlio_digits(optimizer).s, tensor * pipeline);
	return model + optimizer;
}

static double model_bytes(struct dlio_writer *w)
{
	const struct dlio_value *size = &w->c->values[DLIO_MODEL_SIZE];

	if (!size->node || dlio_is_set(w->c, DLIO_MODEL_BYTES))
		return dlio_take(w, DLIO_MODEL_BYTES)->number;
	dlio_take(w, DLIO_MODEL_SIZE);
	dlio_say(w,
		 "The YAML says model_size: %.0f. DLIO reads "
		 "model_size_bytes only, and saves its default instead, "
		 "%s bytes.",
		 size->number, dlio_digits(number(w, DLIO_MODEL_BYTES)).s);
	return size->number;
}

static void write_tensor(struct dlio_writer *w)
{
	static const enum dlio_id sizes[] = { DLIO_MODEL_BYTES, DLIO_MODEL_SIZE,
					      DLIO_GROUPS, DLIO_MODEL_TYPE };
	double bytes = is_counted(w) ? counted_bytes(w) : 0;

	if (!is_typed_transformer(w))
		bytes += model_bytes(w);
	dlio_take(w, DLIO_MODEL_TYPE);
	if (bytes < 1 || bytes > 1125899906842624.0)
		dlio_fault(w->c, first_of(w, sizes, ARRAY_LEN(sizes)), "model",
			   "%.0f bytes would be saved of a rank; 1 to 1 PiB "
			   "can be: %s says how many",
			   bytes,
			   is_typed_transformer(w) ? "num_layers"
						   : "model_size_bytes");
	dlio_option(w, "checkpoint_size=%.0f", bytes);
	if (strcmp(dlio_take(w, DLIO_LOCATION)->text, "all_ranks") == 0) {
		if (!is_counted(w))
			dlio_say(w, "The YAML says type: all_ranks, which DLIO "
				    "ignores; its ranks save as it pleases.");
		dlio_option(w, "checkpoint_ranks=all");
	} else {
		dlio_option(w, "checkpoint_ranks=zero");
	}
	dlio_option(w, "checkpoint_layout=torch");
}

void dlio_write_state(struct dlio_writer *w, bool trains)
{
	if (number(w, DLIO_LAYERS) > 0 && !is_counted(w)) {
		write_transformer(w);
		if (!trains)
			dlio_block(w, "the model: only its byte count matters "
				      "to storage");
		write_parallelism(w, trains);
	} else {
		write_tensor(w);
	}
	if (strcmp(dlio_take(w, DLIO_FRAMEWORK)->text, "tensorflow") == 0)
		dlio_say(w, "TensorFlow's own files are not known here; they "
			    "are written as PyTorch does.");
}
