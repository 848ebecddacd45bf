/* SPDX-License-Identifier: Apache-2.0 */
/* view_restore.c - see view_restore.h. */
#include "report/view_restore.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include "base/util.h"
#include "base/writeall.h"

/* They kill, and nobody here waits for them. */
static const int killing[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSYS };

static struct {
	_Atomic bool is_on;
	bool has_exit; /* exit() knows of it */
	int fd;        /* the terminal */
	struct termios was;
	char leave[256];
	int messages; /* in memory; -1 = standard error is another file */
	int error;    /* what standard error was */
	struct sigaction before[ARRAY_LEN(killing)];
} state;

/* Restored first, the terminal shows what the signal does. */
static void on_killing(int sig)
{
	view_restore();
	for (size_t i = 0; i < ARRAY_LEN(killing); i++)
		if (killing[i] == sig)
			sigaction(sig, &state.before[i], NULL);
	raise(sig);
}

static void attend_to_killing(void)
{
	struct sigaction act = { .sa_handler = on_killing };

	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(killing); i++)
		sigaction(killing[i], &act, &state.before[i]);
}

/* Messages are kept from here on, if they would come to a terminal. */
static int divert(void)
{
	state.messages = state.error = -1;
	if (!isatty(STDERR_FILENO))
		return 0;
	state.error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
	state.messages = memfd_create("messages", MFD_CLOEXEC);
	if (state.error < 0 || state.messages < 0 || dup2(state.messages, STDERR_FILENO) < 0)
		return -errno;
	return 0;
}

int view_restore_begin(int fd)
{
	int rc;

	state.fd = fd;
	state.leave[0] = '\0';
	if (tcgetattr(fd, &state.was) < 0)
		return -errno;
	rc = divert();
	if (rc < 0)
		return rc;
	if (!state.has_exit && atexit(view_restore) == 0)
		state.has_exit = true;
	attend_to_killing();
	atomic_store(&state.is_on, true);
	return 0;
}

void view_restore_text(const char *leave)
{
	size_t len = strlen(state.leave);

	snprintf(state.leave + len, sizeof(state.leave) - len, "%s", leave);
}

void view_restore_messages(char *out, size_t size)
{
	struct stat st;
	off_t from;
	ssize_t n = 0;

	if (state.messages >= 0 && fstat(state.messages, &st) == 0) {
		from = st.st_size > (off_t)size - 1 ? st.st_size - (off_t)size + 1 : 0;
		n = pread(state.messages, out, size - 1, from);
	}
	out[n > 0 ? n : 0] = '\0';
}

/* To whom they were meant for. */
static void give_messages_back(void)
{
	char part[4096];
	off_t at = 0;
	ssize_t n;

	if (state.messages < 0)
		return;
	(void)dup2(state.error, STDERR_FILENO);
	while ((n = pread(state.messages, part, sizeof(part), at)) > 0) {
		if (writeall(STDERR_FILENO, part, (size_t)n) < 0)
			break;
		at += n;
	}
	close(state.messages);
	close(state.error);
	state.messages = state.error = -1;
}

void view_restore(void)
{
	if (!atomic_exchange(&state.is_on, false))
		return;
	(void)writeall(state.fd, state.leave, strlen(state.leave));
	(void)tcsetattr(state.fd, TCSADRAIN, &state.was);
	give_messages_back();
	for (size_t i = 0; i < ARRAY_LEN(killing); i++)
		sigaction(killing[i], &state.before[i], NULL);
}
