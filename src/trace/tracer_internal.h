/* SPDX-License-Identifier: Apache-2.0 */
/* tracer_internal.h - what the recorder of traces puts into a file. */
#pragma once

#include "trace/trace.h"
#include "trace/tracer.h"

/* ---- the rings that a tracer's thread reads, and what it knows of them; for src/trace/tracer*.c
 * alone ---- */
