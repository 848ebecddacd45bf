/* SPDX-License-Identifier: Apache-2.0 */
/* thread.c - threads, and what stack they and the program itself have. */
#include "base/thread.h"

#include <sched.h>
#include <stddef.h>
#include <sys/resource.h>

/* Reading the deepest JSON that jansson takes needs 192 KiB, all else less than 132 (VmStk). */
#define MAIN_STACK_BYTES (256u << 10)

int thread_start(pthread_t *thread, void *(*main)(void *), void *arg)
{
	pthread_attr_t attr;
	int rc;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, THREAD_STACK_BYTES);
	rc = pthread_create(thread, &attr, main, arg);
	pthread_attr_destroy(&attr);
	return -rc;
}

void thread_yield(void)
{
	sched_yield();
}

const char *thread_too_small_stack(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur >= MAIN_STACK_BYTES)
		return NULL;
	return "mlgen: ulimit -s: the stack may have less than the 256 KiB that mlgen takes; raise "
	       "it (ulimit -s 256)\n";
}
