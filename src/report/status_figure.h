/* SPDX-License-Identifier: Apache-2.0 */
/* status_figure.h - a figure of a running job as a person reads it. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "run/watch/watch.h"

#define STATUS_FIGURE_BYTES 96

/*
 * The figure of live_fields that this name stands for, which ends at `len`, as its row says it is
 * shown: "118/500", "14.9 GiB/s". False where it has no value. `scratch` is for percentiles, and
 * may be NULL where none is asked for.
 */
bool status_figure(const char *name, size_t len, const struct live_span *span, struct hist *scratch,
		   char out[STATUS_FIGURE_BYTES]);

/* "14.9 GiB/s", in UNITS_TEXT_BYTES: three digits are enough for something that changes every
 * second. */
char *status_figure_rate(char *out, double bytes_per_sec);

/* A text with figures in braces, "epoch {epoch}"; false where one of them has no value. */
bool status_figures(const char *text, const struct live_span *span, struct hist *scratch,
		    char out[STATUS_FIGURE_BYTES]);
