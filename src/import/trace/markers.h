/* SPDX-License-Identifier: Apache-2.0 */
/* markers.h - --markers: epochs, stages and checkpoints from the log of the application itself. */
#pragma once

#include "import/trace/importer.h"

/*
 * Lines of MLPerf (:::MLLOG), DLIO's output, or CSV of time,text; told apart by what is in it.
 * Their times are of day; m->clock_offset_ns is taken off. Before the log itself or behind it. 0 or
 * -errno with err.
 */
int import_markers(struct importing *m, const char *file, struct mlgen_err *err);
