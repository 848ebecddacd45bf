/* SPDX-License-Identifier: Apache-2.0 */
/* failure.c - see failure.h. */
#include "run/failure.h"

void failure_init(struct failure *f, void (*stop_all)(void *arg), void *arg)
{
	*f = (struct failure){ .stop_all = stop_all, .arg = arg };
	pthread_mutex_init(&f->lock, NULL);
}

void failure_fini(struct failure *f)
{
	pthread_mutex_destroy(&f->lock);
}

void failure_set(struct failure *f, const struct mlgen_err *err)
{
	pthread_mutex_lock(&f->lock);
	bool is_first = !atomic_load(&f->is_set);
	if (is_first) {
		f->err = *err;
		atomic_store(&f->is_set, true);
	}
	pthread_mutex_unlock(&f->lock);
	if (is_first)
		f->stop_all(f->arg);
}
