/* SPDX-License-Identifier: Apache-2.0 */
/* mltrace.c - main() of mltrace: signals, then the command. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ask/ask.h"
#include "base/files.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/thread.h"
#include "build/commit.h"
#include "config.h"
#include "tracing/tracing.h"

/* Handle a signal that no command handled. */
static void leave(void *arg)
{
	(void)arg;
	tracing_discard_outputs();
	log_error("interrupted");
	_exit(EXIT_INTERRUPTED);
}

/* Separate from main(), so that the stack is checked before this frame is used. */
static __attribute__((noinline)) int run_main(int argc, char **argv)
{
	if (!standard_files_fill())
		return EXIT_USAGE;
	mem_share_heap();
	signals_begin(leave, NULL);
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("mltrace %s%s%s\n", MLGEN_VERSION, *MLGEN_COMMIT ? " " : "", MLGEN_COMMIT);
		return fflush(stdout) == 0 ? EXIT_RAN : EXIT_FAILED;
	}
	int status = tracing_main(argc, argv, stdout, stderr);
	/* Threads that hang in the kernel may still use memory that exit() would free. */
	if (status == EXIT_INTERRUPTED) {
		fflush(stdout);
		_exit(status);
	}
	signals_set_mode(SIGNALS_IGNORED);
	return status;
}

int main(int argc, char **argv)
{
	const char *line = thread_too_small_stack();

	if (!line)
		return run_main(argc, argv);
	return write(STDERR_FILENO, line, strlen(line)) < 0 ? EXIT_FAILED : EXIT_USAGE;
}
