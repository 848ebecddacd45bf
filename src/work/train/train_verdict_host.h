/* SPDX-License-Identifier: Apache-2.0 */
/* train_verdict_host.h - is this host the limit of a training? */
#pragma once

#include "report/verdict_parts.h"

/* "wake-ups on time", "oversleep 0.4% of accelerator time" */
void verdict_put_wakeups(struct buf *out, const struct verdict_findings *f);

/* "stall p99 0.412 ms in steps of 224.0 ms", as far as it was measured. */
void verdict_put_stall(struct buf *out, const struct verdict_findings *f);

/* Do accelerators hardly wait, but for the first steps of epochs? */
bool verdict_keeps_up(const struct verdict_findings *f);

/* ... and do they wait there so long that it has to be said? */
bool verdict_has_long_first_steps(const struct verdict_findings *f);

/* A row of a training's verdicts. */
bool verdict_host_holds(const struct verdict_findings *f);
void verdict_host_headline(struct buf *out, const struct verdict_findings *f);
void verdict_host_because(struct buf *out, const struct verdict_findings *f);
void verdict_host_try(struct buf *out, const struct verdict_findings *f);

/* The row behind it: the host seems to be the limit, and its ceiling says that it is not. */
bool verdict_disputed_holds(const struct verdict_findings *f);
void verdict_disputed_headline(struct buf *out, const struct verdict_findings *f);
void verdict_disputed_because(struct buf *out, const struct verdict_findings *f);
void verdict_disputed_try(struct buf *out, const struct verdict_findings *f);
