/* SPDX-License-Identifier: Apache-2.0 */
/* view_terminal.c - a full screen of letters on the terminal, by ncurses. */
#include "report/live/live_internal.h"

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

#include "base/files.h"
#include "base/mem.h"
#include "base/util.h"
#include "config.h"

/* Fatal signals that no other part of mlgen handles. */
static const int killing[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSYS };

static struct {
	_Atomic bool is_on;
	bool has_exit; /* registered with atexit() */
	int fd;        /* the terminal */
	struct termios was;
	char leave[256];
	int messages; /* memfd; -1 = standard error is not a terminal */
	int error;    /* the original standard error */
	struct sigaction before[ARRAY_LEN(killing)];
} state;

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

/* Print the collected messages on the original standard error. */
static void print_messages(void)
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
	print_messages();
	for (size_t i = 0; i < ARRAY_LEN(killing); i++)
		sigaction(killing[i], &state.before[i], NULL);
}

#ifdef HAVE_NCURSES

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <term.h>
#undef columns /* term.h defines the name as a macro */

#define CTRL_L 12
#define CTRL_Z 26

/* newterm() installs handlers for these signals. The handlers would run on any thread of mlgen,
 * even inside calls, so start_screen() restores the old handlers. */
static const int curses_signals[] = { SIGINT, SIGTERM, SIGTSTP, SIGWINCH };

/* Restore the terminal before the signal kills the process, so that the shell's message is visible.
 */
static void on_killing(int sig)
{
	view_restore();
	for (size_t i = 0; i < ARRAY_LEN(killing); i++)
		if (killing[i] == sig)
			sigaction(sig, &state.before[i], NULL);
	raise(sig);
}

/* Save the state of the terminal `fd` before it is changed. 0 or -errno. */
static int begin_restore(int fd)
{
	struct sigaction act = { .sa_handler = on_killing };

	state.fd = fd;
	state.leave[0] = '\0';
	if (tcgetattr(fd, &state.was) < 0)
		return -errno;
	/* From here on, collect messages in memory if standard error is a terminal, which is then
	 * this one. */
	state.messages = state.error = -1;
	if (isatty(STDERR_FILENO)) {
		state.error = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
		state.messages = memfd_create("messages", MFD_CLOEXEC);
		if (state.error < 0 || state.messages < 0 ||
		    dup2(state.messages, STDERR_FILENO) < 0)
			return -errno;
	}
	if (!state.has_exit && atexit(view_restore) == 0)
		state.has_exit = true;
	sigemptyset(&act.sa_mask);
	for (size_t i = 0; i < ARRAY_LEN(killing); i++)
		sigaction(killing[i], &act, &state.before[i]);
	atomic_store(&state.is_on, true);
	return 0;
}

struct view_terminal {
	FILE *in, *out;
	SCREEN *screen;
	locale_t locale, before;
	bool is_utf8, has_color;
	unsigned rows, columns;
};

static int terminal_fd(void)
{
	return isatty(STDERR_FILENO) ? STDERR_FILENO : isatty(STDOUT_FILENO) ? STDOUT_FILENO : -1;
}

static int unknown_terminal(struct mlgen_err *err)
{
	return mlgen_fail(err, -ENOTTY,
			  "live: the terminal type TERM=%s is unknown; set another "
			  "type, or leave out --live",
			  getenv("TERM"));
}

int view_terminal_check(struct mlgen_err *err)
{
	const char *term = getenv("TERM");
	int fd = terminal_fd(), known;

	if (fd < 0)
		return mlgen_fail(err, -ENOTTY,
				  "live: neither standard error nor standard output is a terminal; "
				  "--status-interval=10s prints lines, --log=FILE writes them");
	if (!has_text(term) || !strcmp(term, "dumb"))
		return mlgen_fail(err, -ENOTTY,
				  "live: TERM is %s, so the terminal has no screen; set TERM, "
				  "or leave out --live for a status line",
				  has_text(term) ? term : "not set");
	if (setupterm(NULL, fd, &known) == ERR)
		return unknown_terminal(err);
	del_curterm(cur_term);
	pid_t group = tcgetpgrp(fd);
	if (group > 0 && group != getpgrp())
		return mlgen_fail(err, -ENOTTY,
				  "live: mlgen runs in the background and does not own the "
				  "terminal; leave out --live");
	return 0;
}

static void read_size(const struct view_terminal *t, unsigned *rows, unsigned *columns)
{
	struct winsize w;

	*rows = t->rows;
	*columns = t->columns;
	if (ioctl(fileno(t->out), TIOCGWINSZ, &w) < 0 || !w.ws_row || !w.ws_col)
		return;
	*rows = w.ws_row;
	*columns = w.ws_col;
}

/* Open the terminal again, so that flags and offset of the existing descriptors do not change. */
static int open_files(struct view_terminal *t, struct mlgen_err *err)
{
	char name[256];
	int fd = terminal_fd();
	int rc = ttyname_r(fd, name, sizeof(name));

	if (rc)
		return mlgen_fail(err, -rc, "live: the terminal: %s", strerror(rc));
	t->out = fopen(name, "we");
	t->in = fopen(name, "re");
	if (!t->out || !t->in)
		return mlgen_fail(err, -errno, "live: %s: %s", name, strerror(errno));
	return 0;
}

static bool start_screen(struct view_terminal *t)
{
	struct sigaction before[ARRAY_LEN(curses_signals)];

	for (size_t i = 0; i < ARRAY_LEN(curses_signals); i++)
		sigaction(curses_signals[i], NULL, &before[i]);
	t->screen = newterm(NULL, t->out, t->in);
	for (size_t i = 0; i < ARRAY_LEN(curses_signals); i++)
		sigaction(curses_signals[i], &before[i], NULL);
	if (!t->screen)
		return false;
	/* Ncurses reads the locale of the process, which stays "C". */
	if (t->is_utf8)
		use_legacy_coding(0);

	/* Store the sequences that undo what ncurses does to the terminal. */
	static const char *const capabilities[] = { "sgr0", "op", "rmkx", "cnorm", "rmcup" };

	for (size_t i = 0; i < ARRAY_LEN(capabilities); i++) {
		const char *text = tigetstr(capabilities[i]);
		size_t len = strlen(state.leave);

		if (text && (intptr_t)text != -1)
			snprintf(state.leave + len, sizeof(state.leave) - len, "%s", text);
	}

	static const short colors[VIEW_STYLES] = {
		[VIEW_GOOD] = COLOR_GREEN, [VIEW_POOR] = COLOR_YELLOW, [VIEW_BAD] = COLOR_RED
	};

	t->has_color = has_colors() && start_color() == OK && use_default_colors() == OK;
	for (short i = 0; t->has_color && i < VIEW_STYLES; i++)
		if (colors[i])
			init_pair(i, colors[i], -1);

	/* Ctrl-Z arrives as a key; Ctrl-C still sends SIGINT. */
	struct termios mode;

	cbreak();
	noecho();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	set_escdelay(25);
	if (tcgetattr(fileno(t->in), &mode) == 0) {
		mode.c_cc[VSUSP] = _POSIX_VDISABLE;
		(void)tcsetattr(fileno(t->in), TCSANOW, &mode);
	}
	def_prog_mode();

	curs_set(0);
	t->rows = (unsigned)LINES;
	t->columns = (unsigned)COLS;
	return true;
}

int view_terminal_open(struct view_terminal **out, struct mlgen_err *err)
{
	struct view_terminal *t = *out = mem_zalloc(sizeof(*t));

	t->locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
	if (t->locale)
		t->before = uselocale(t->locale);
	t->is_utf8 = !strcmp(nl_langinfo(CODESET), "UTF-8");

	int rc = open_files(t, err);
	if (rc == 0 && (rc = begin_restore(fileno(t->out))) < 0)
		mlgen_fail(err, rc, "live: the terminal: %s", strerror(-rc));
	if (rc == 0 && !start_screen(t))
		rc = unknown_terminal(err);
	if (rc == 0)
		return 0;
	view_terminal_close(t);
	*out = NULL;
	return rc;
}

void view_terminal_close(struct view_terminal *t)
{
	if (!t)
		return;
	if (t->screen) {
		endwin();
		fflush(t->out);
	}
	view_restore();
	if (t->screen)
		delscreen(t->screen);
	if (t->in)
		fclose(t->in);
	if (t->out)
		fclose(t->out);
	if (t->locale) {
		uselocale(t->before);
		freelocale(t->locale);
	}
	mem_free(t);
}

/* Errors are also bold, for terminals without colours. */
static void put(void *to, unsigned row, unsigned column, enum view_style look, const char *text)
{
	static const attr_t attributes[VIEW_STYLES] = {
		[VIEW_TITLE] = A_REVERSE, [VIEW_HEAD] = A_BOLD, [VIEW_STRONG] = A_BOLD,
		[VIEW_BAD] = A_BOLD,      [VIEW_FAINT] = A_DIM,
	};
	const struct view_terminal *t = to;
	bool is_colored = look == VIEW_GOOD || look == VIEW_POOR || look == VIEW_BAD;

	attr_set(attributes[look], (short)(t->has_color && is_colored ? look : 0), NULL);
	mvaddstr((int)row, (int)column, text);
}

void view_terminal_begin(struct view_terminal *t, struct view_pen *pen)
{
	unsigned rows, columns;

	read_size(t, &rows, &columns);
	if (rows != t->rows || columns != t->columns) {
		resizeterm((int)rows, (int)columns);
		t->rows = rows;
		t->columns = columns;
		clearok(stdscr, TRUE);
	}
	erase();
	*pen = (struct view_pen){ put, t, rows, columns, t->is_utf8 };
}

void view_terminal_show(struct view_terminal *t)
{
	(void)t;
	refresh();
}

bool view_terminal_is_resized(const struct view_terminal *t)
{
	unsigned rows, columns;

	read_size(t, &rows, &columns);
	return rows != t->rows || columns != t->columns;
}

int view_terminal_key(struct view_terminal *t)
{
	int key = getch();

	(void)t;
	if (key == CTRL_L) {
		clearok(stdscr, TRUE);
	} else if (key == CTRL_Z) {
		endwin();
		kill(0, SIGTSTP); /* signal the process group, as the terminal does */
		refresh();
	}
	return key == ERR ? 0 : key;
}

#else

#include <stddef.h>

int view_terminal_check(struct mlgen_err *err)
{
	return mlgen_fail(err, -ENOTSUP,
			  "live: mlgen was built without ncurses; install it (%s) and build again, "
			  "or leave out --live for a status line",
			  PACKAGES_NCURSES);
}

int view_terminal_open(struct view_terminal **out, struct mlgen_err *err)
{
	*out = NULL;
	return view_terminal_check(err);
}

void view_terminal_close(struct view_terminal *t)
{
	(void)t;
}

void view_terminal_begin(struct view_terminal *t, struct view_pen *pen)
{
	(void)t;
	(void)pen;
}

void view_terminal_show(struct view_terminal *t)
{
	(void)t;
}

bool view_terminal_is_resized(const struct view_terminal *t)
{
	(void)t;
	return false;
}

int view_terminal_key(struct view_terminal *t)
{
	(void)t;
	return 0;
}

#endif
