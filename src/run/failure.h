/* SPDX-License-Identifier: Apache-2.0 */
/* failure.h - the first error of a run, from whichever thread, and what it stops. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <mlgen/err.h>

struct failure {
	pthread_mutex_t lock;
	_Atomic bool is_set;
	struct mlgen_err err;        /* stable once is_set */
	void (*stop_all)(void *arg); /* called once, by the failing thread */
	void *arg;
};

void failure_init(struct failure *f, void (*stop_all)(void *arg), void *arg);
void failure_fini(struct failure *f);

/* The first one wins and stops the run; later ones are dropped. Any thread. */
void failure_set(struct failure *f, const struct mlgen_err *err);
