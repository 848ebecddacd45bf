/* SPDX-License-Identifier: Apache-2.0 */
/* state_rig.h - jobs whose state has a size, and the models of MLPerf Storage. */
#pragma once

#include "job_options.h"

#include "work/workloads.h"

static inline struct job *make_job(const char *options)
{
	struct job *j = job_new("x");

	j->phase = PHASE_CHECKPOINT;
	set_options(j, options);
	return j;
}

/* ---- the models of MLPerf Storage ---- */

#define LLAMA_8B                                                                                   \
	"model_layers=32 model_hidden=4096 model_ffn=14336 model_heads=32 "                        \
	"model_kv_heads=8 model_vocabulary=128256 "

#define LLAMA_70B                                                                                  \
	"model_layers=80 model_hidden=8192 model_ffn=28672 model_heads=128 "                       \
	"model_kv_heads=8 model_vocabulary=128256 "

#define LLAMA_405B                                                                                 \
	"model_layers=126 model_hidden=16384 model_ffn=53248 "                                     \
	"model_heads=128 model_kv_heads=8 model_vocabulary=128256 "

#define LLAMA_1T                                                                                   \
	"model_layers=128 model_hidden=25872 model_ffn=98304 "                                     \
	"model_heads=192 model_kv_heads=32 model_vocabulary=128256 "

/* clang-format off */
static const struct model {
	const char *options;
	uint64_t ranks, parameters;
	/* of a rank that saves model; how many do */
	uint64_t model_least, model_most, model_ranks, optimizer;
	const char *model_gib, *optimizer_gib, *total_gib, *total_gb, *worst_gib;
	uint64_t block[6], embedding, norm;
	uint64_t model_groups; /* of all ranks: DLIO's files, layer by layer */
} models[] = {
	{ LLAMA_8B "ranks=8 zero_stage=3", 8, 8030261248,
	  2007565312, 2007565312, 8, 12045637632,
	  "14.958", "89.747", "104.705", "112.43", "13.088",
	  { 1024, 6291456, 4194304, 1024, 29360128, 14680064 }, 131334144, 1024,
	  35 * 8 },
	{ LLAMA_70B "ranks=64 tensor_parallel=8 zero_stage=3", 64, 69882617856,
	  2184120320, 2184120320, 64, 13103482368,
	  "130.184", "781.028", "911.212", "978.41", "14.238",
	  { 2048, 2359296, 2097152, 2048, 14680064, 7340032 }, 32833536, 2048,
	  83 * 64 },
	{ LLAMA_405B "ranks=512 tensor_parallel=8 pipeline_parallel=32 zero_stage=1",
	  512, 405853388800,
	  2390949888, 3713269760, 256, 9513171840,
	  "756.015", "4536.234", "5292.249", "5682.51", "12.318",
	  { 32768, 75497472, 67108864, 32768, 436207616, 218103808 }, 525336576, 32768,
	  129 * 8 },
	{ LLAMA_1T "ranks=1024 tensor_parallel=8 pipeline_parallel=64 zero_stage=1",
	  1024, 1183035102480,
	  4595488128, 5425099680, 512, 13865244924,
	  "2203.661", "13222.928", "15426.589", "16564.17", "17.966",
	  { 51744, 222809664, 167340096, 51744, 1271660544, 635830272 }, 829559808, 51744,
	  131 * 8 },
};
/* clang-format on */

/* ---- who saves what ---- */

/* A small model, where every rank can be looked at. */
#define SMALL                                                                                      \
	"model_layers=7 model_hidden=64 model_ffn=128 model_heads=8 "                              \
	"model_kv_heads=4 model_vocabulary=1000 "

/* Layers are those of DLIO; "o" is the optimizer. */
static const struct {
	const char *options;
	uint64_t rank;
	const char *groups;
} shares[] = {
	{ SMALL, 0, "0 1 2 3 4 5 6 7 8 9 o" },
	{ SMALL "optimizer_bytes=0", 0, "0 1 2 3 4 5 6 7 8 9" },
	/* the remainder goes to the first stages */
	{ SMALL "pipeline_parallel=3", 0, "0 1 2 3 o" },
	{ SMALL "pipeline_parallel=3", 1, "4 5 o" },
	{ SMALL "pipeline_parallel=3", 2, "6 7 8 9 o" },
	{ SMALL "pipeline_parallel=7", 3, "4 o" },
	{ SMALL "pipeline_parallel=7", 6, "7 8 9 o" },
	/* tensor-parallel ranks are neighbours, stages come next */
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12", 1, "0 1 2 3 o" },
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12", 2, "4 5 o" },
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12", 5, "6 7 8 9 o" },
	/* copies: ZeRO 0 saves nothing, 1 and 2 the optimizer, 3 a part */
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12", 6, "" },
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12 zero_stage=1", 6, "o" },
	{ SMALL "tensor_parallel=2 pipeline_parallel=3 ranks=12 zero_stage=2", 11, "o" },
	{ SMALL "ranks=4 zero_stage=3", 3, "0 1 2 3 4 5 6 7 8 9 o" },
	{ SMALL "data_parallel=4 zero_stage=3", 3, "0 1 2 3 4 5 6 7 8 9 o" },
	{ SMALL "ranks=2 zero_stage=1 optimizer_bytes=0", 1, "" },
	{ "checkpoint_size=1m ranks=3", 2, "0" },
	{ "checkpoint_layout=pattern ranks=2", 0, "0" },
	{ "checkpoint_layout=pattern ranks=2", 1, "" },
	{ "checkpoint_layout=pattern checkpoint_pattern=bert ranks=2", 1, "0" },
	{ "checkpoint_layout=pattern checkpoint_pattern=dlrm ranks=2", 1, "" },
};

/* ---- what does not fit ---- */

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))
