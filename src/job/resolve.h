/* SPDX-License-Identifier: Apache-2.0 */
/* resolve.h - one job from its layers of options. */
#pragma once

#include "job/job.h"
#include "job/layers.h"
#include "job/resolver.h"

/*
 * Read each option, once, by itself, also where no job will use it; its faults are told. `selector`
 * is that of a variant's section, which cannot be set inside it, or NULL. Of every list, and before
 * the jobs that it is a layer of.
 */
void resolve_read(const struct resolver *r, const struct optlist *list,
		  const struct mlgen_field *selector);

/* Defaults < layers. Always gives a job; `*is_whole` says whether all of it was understood. */
struct job *resolve_job(struct resolver *r, const struct layers *layers, bool *is_whole);
