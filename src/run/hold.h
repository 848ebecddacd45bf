/* SPDX-License-Identifier: Apache-2.0 */
/* hold.h - memory in which loaders keep what they have read ahead (hold_samples=1). */
#pragma once

#include <stdint.h>

#include <mlgen/err.h>

#include "job/job.h"
#include "run/slot/slot.h"

/*
 * Every extent is read into memory of its own, which stays in use until the accelerator has taken
 * the batch that the extent belongs to, as with a framework that copies the batch to its device
 * then. An extent that straddles two batches leaves with the first.
 *
 * The loaders of an accelerator share one mapping, made before the clock starts, and slots in it,
 * each as large as the largest extent. Memory is in use once something was read into it: that
 * happens during the run, as with a framework, which allocates as it goes. What was let go last is
 * taken first, so that no more comes into use than is ahead at most; and a slot whose next extent
 * is smaller gives the rest back to the system. What is mapped and never written costs nothing.
 *
 * Nobody looks at what lies there. Any thread may take and keep.
 */
struct hold;

struct hold_config {
	uint64_t window;     /* batches of an accelerator */
	uint64_t slots;      /* extents at a time; 0 = nothing is held */
	uint64_t slot_bytes; /* the largest one, as it is read */
};

/*
 * What one accelerator may have ahead, batches that are being read included. Nothing without
 * hold_samples, or with an engine that moves no bytes. Looks at the sizes of up to a million files;
 * an extent that is larger than all of them has its last requests in the worker's buffer.
 */
void hold_plan(struct hold_config *c, const struct job *job, const struct stages *stages);

/* Samples that an accelerator may have ahead in a pass, held or not. */
double hold_samples(const struct job *job, const struct pass *pass);

/* What all accelerators of a job have ahead, when everything is, of the training or the evaluation,
 * whichever is more: of a sample the mean (1,024 extents, evenly spaced), as it is read. */
double hold_bytes(const struct job *job, const struct stages *stages);

/* With hold_samples, does that fit into this host's memory? 0, or -ENOMEM with err. */
int hold_check(const struct job *job, const struct stages *stages, uint64_t memory_bytes,
	       struct mlgen_err *err);

/* 0, or -ENOMEM with err. */
int hold_new(struct hold **out, const struct hold_config *c, struct mlgen_err *err);
void hold_free(struct hold *h); /* NULL is fine */

/*
 * A slot, of *bytes, for an extent of this batch that is to be read; or NULL, if there is none. The
 * accelerator has taken the batches below `taken`; few extents from taken + window on are read,
 * which are looked at whenever it has taken more.
 */
void *hold_take(struct hold *h, uint64_t batch, uint64_t taken, uint64_t *bytes);

/* It was read: so many bytes of the slot. */
void hold_keep(struct hold *h, void *at, uint64_t bytes);
