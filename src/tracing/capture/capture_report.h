/* SPDX-License-Identifier: Apache-2.0 */
/* capture_report.h - what is said of a recording when it is over, on standard error. */
#pragma once

#include <stdbool.h>

#include "base/buf.h"

/* What back ends could not see, a line each. */
void capture_tell_notes(const struct buf *notes);

/*
 * The short description of a trace, and how to see more of it; with `quiet` its first line. Says so
 * if much of what was read lies on the device that the trace lies on. What cannot be described is
 * told.
 */
void capture_describe(const char *path, bool quiet);
