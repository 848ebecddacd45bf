/* SPDX-License-Identifier: Apache-2.0 */
/* text_trace.h - what the report says of --trace. */
#pragma once

#include <stdio.h>

#include "run/results.h"

/* A line, or more; nothing where there is none. */
void text_trace(FILE *to, const struct trace_result *r);
