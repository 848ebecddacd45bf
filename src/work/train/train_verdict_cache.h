/* SPDX-License-Identifier: Apache-2.0 */
/* train_verdict_cache.h - is a training's cache tier its limit, and what would a larger one be
 * worth? */
#pragma once

#include "report/verdict_parts.h"

/*
 * A row of a training's verdicts: loaders are in I/O calls, and most of the time of samples is that
 * of hits, so that the disk of the tier is the limit.
 */
bool verdict_cache_holds(const struct verdict_findings *f);
void verdict_cache_headline(struct buf *out, const struct verdict_findings *f);
void verdict_cache_because(struct buf *out, const struct verdict_findings *f);
void verdict_cache_try(struct buf *out, const struct verdict_findings *f);

/*
 * The share of the data set that a tier of this policy has to hold for the AU asked for, by
 * arithmetic from what hits and misses of this run cost ("What the numbers mean" in DESIGN.md). NaN
 * = no share is enough, this one is, or its policy has no closed form.
 */
double verdict_cache_share(const struct verdict_findings *f, double au_percent);

/* "--cache_size=40% : a tier of 40% would reach 90% AU (estimate)"; false, and nothing, where that
 * cannot be said. */
bool verdict_put_larger_cache(struct buf *out, const struct verdict_findings *f);
