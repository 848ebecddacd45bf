/* SPDX-License-Identifier: Apache-2.0 */
/* metrics_trace.h - what --trace has written, as the top of the JSON document has it. */
#pragma once

#include <mlgen/field.h>

extern const struct mlgen_field metrics_trace_fields[]; /* trace_result */
