/* SPDX-License-Identifier: Apache-2.0 */
/* watch.h - the main thread while a run runs: signals, status line, log rows. */
#pragma once

#include <stdbool.h>

#include <mlgen/err.h>

#include "job/settings.h"
#include "run/run.h"

/*
 * Block the signals that watch_run takes. Before any thread is started, so
 * that all of them inherit it. SIGINT that was inherited as ignored (a shell's
 * background job) is taken all the same.
 */
void watch_signals(void);

/*
 * Run to the end on a thread of its own. The first SIGINT, SIGTERM or SIGHUP
 * stops at
 * the next step, the second leaves within a second, whatever threads hang in
 * the kernel: then *abandoned is set, and the caller reports and exits without
 * freeing what those threads may still touch. SIGUSR1 prints a status line.
 * 0, or -errno with err when the log could not be written.
 */
int watch_run(struct run *run, size_t jobs, const struct settings *set,
	      bool *abandoned, struct mlgen_err *err);
