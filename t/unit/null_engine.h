/* SPDX-License-Identifier: Apache-2.0 */
/* null_engine.h - an engine in name only: no files, and one option, as a model of storage has. */
#pragma once

#include <mlgen/engine.h>

struct null_opts {
	uint64_t delay_ns;
};

static const struct mlgen_field null_fields[] = {
	{ "delay", MLGEN_F_TIME(struct null_opts, delay_ns), .def = "0" },
	{ 0 },
};

static const struct mlgen_engine null_engine = {
	.abi = MLGEN_ENGINE_ABI,
	.size = sizeof(struct mlgen_engine),
	.name = "null",
	.caps = MLGEN_CAP_NO_FILES,
	.opts = null_fields,
	.opts_size = sizeof(struct null_opts),
};
