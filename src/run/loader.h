/* SPDX-License-Identifier: Apache-2.0 */
/* loader.h - a thread that reads samples ahead of its accelerator. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "run/train.h"

/*
 * What distinguishes the loader models (loader=): who reads which batch, in which order they are
 * delivered, and how far ahead. One row a model.
 */
struct loader_model {
	/* Read until the run ends; called on the loader's thread. NULL: it has none. */
	void (*work)(struct loader *l);
	/* Move tokens from the loaders' rings into rank->have until it holds `need` samples of
	 * batch `batch` of a stage or nothing has arrived. */
	void (*collect)(struct rank *r, const struct stage *at, uint64_t batch, uint64_t need);
	/* Batches of a pass that may be read ahead per rank. */
	uint64_t (*window)(const struct job *job, const struct pass *pass);
	/* Tokens that can be on one loader's ring then. */
	uint64_t (*tokens)(const struct job *job, const struct pass *pass);
	/* ... of the next epoch, too, while this one is not over. */
	bool runs_on;
};

const struct loader_model *loader_model(const struct job *job);

/* With read_threads=0 the accelerator's thread is the loader's, too: it opens the io (false: it
 * failed), drops the cache, and closes. Its model reads in `collect`. */
bool loader_open(struct loader *l);
void loader_drop(struct loader *l);
void loader_close(struct loader *l);

/* What loader_open made ready to decode with; zeroed is fine. */
void loader_close_decoding(struct loader *l);

/* Extents that an accelerator may have beyond the batches that may be read. */
uint64_t loader_extents_beyond(const struct job *job, const struct pass *pass);

/* Tokens that can be on one loader's ring: the accelerator drains rings only while it waits, so
 * everything that may be ahead has to fit. */
uint64_t loader_ring_tokens(const struct job *job, const struct stages *s);

void *loader_main(void *arg);
