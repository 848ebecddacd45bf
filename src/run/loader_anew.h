/* SPDX-License-Identifier: Apache-2.0 */
/* loader_anew.h - loaders that end with each epoch, for others that begin with the next
 * (worker_start). */
#pragma once

#include <stdbool.h>

#include "run/train.h"

/* Does each stage have threads of its own? */
bool loader_begins_anew(const struct job *job);

/*
 * On a loader's thread, which only waits meanwhile: `run` on one thread after the other, as long as
 * it sets l->goes_on. What is the loader's passes from one to the next; each has its engine, its
 * ring of the trace and its CPU time.
 */
void loader_anew(struct loader *l, void (*run)(struct loader *l));

/* On such a thread, before its first read: waits until its stage may be read, and for worker_start.
 * False: the run is over. */
bool loader_anew_begin(struct loader *l);
