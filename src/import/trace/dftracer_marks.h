/* SPDX-License-Identifier: Apache-2.0 */
/* dftracer_marks.h - events of the application, such as epochs and steps of DLIO, as markers of a
 * trace. */
#pragma once

#include <jansson.h>

#include "base/vec.h"
#include "describe/keyed.h"
#include "import/trace/importer.h"

/* An event above files. */
struct dftracer_event {
	const char *name, *cat;
	uint32_t pid, tid;
	uint64_t start_ns, duration_ns;
	const json_t *args; /* NULL = none */
};

struct dftracer_span {
	uint64_t number, start_ns, end_ns;
};

/* A zeroed one is empty. */
struct dftracer_marks {
	struct keyed numbers;            /* of epochs that args name, and ... */
	VEC(struct dftracer_span) spans; /* ... from the first event to the last of each */
	bool has_epochs;                 /* that are events of their own */
	/* The first number met is 1: that application counts from 1. */
	struct dftracer_count {
		bool is_begun;
		uint64_t first;
	} epochs, steps;
	uint64_t left; /* events that stand for no marker */
};

/* 0 or -errno with err. */
int dftracer_marks_take(struct dftracer_marks *k, struct importing *m,
			const struct dftracer_event *e, struct mlgen_err *err);
/* Epochs that follow from the others. */
int dftracer_marks_end(struct dftracer_marks *k, struct importing *m, struct mlgen_err *err);
void dftracer_marks_fini(struct dftracer_marks *k);
