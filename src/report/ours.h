/* SPDX-License-Identifier: Apache-2.0 */
/* ours.h - which file an output may replace: an empty one, an earlier output of its kind, with
 * --force any. */
#pragma once

#include <stdbool.h>

#include <mlgen/err.h>

#include "report/place.h"

enum ours_kind {
	OURS_JSON,
	OURS_HTML,
	OURS_LOG, /* of a run, or of --describe */
	OURS_TRACE,
	OURS_IOLOG,
};

/*
 * 0, or -EEXIST or another -errno with err. What is no regular file holds nothing that could be
 * lost (place.h refuses devices); nor does a descriptor that was handed over, which is written
 * where it stands, but a trace replaces.
 */
int ours_check(const struct place *p, enum ours_kind kind, bool force, struct mlgen_err *err);

/* Open once more, to be read, what the place's descriptor has open, which may only be written
 * through it, or what `path` names (NULL = nothing): a descriptor, or -errno. */
int ours_open(int fd, const char *path);
