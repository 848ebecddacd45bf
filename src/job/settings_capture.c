/* SPDX-License-Identifier: Apache-2.0 */
/* settings_capture.c - what --capture takes: a command behind --, a process or a control group, and
 * no job. */
#include "job/settings_capture.h"

#include <string.h>

#include "base/units.h"
#include "base/util.h"
#include "field/fields.h"
#include "job/pathname.h"

static const struct diag_place on_command_line;

/* Options that ask for what is had in another way. */
static const struct {
	const char *option, *way;
} ways[] = {
	{ "trace", "--capture=FILE is the trace of a command" },
	{ "json", "record first; --describe --json=FILE has the figures" },
	{ "html", "record first; --describe --html=FILE has the page" },
	{ "log", "record first; --describe --log=FILE has a row each second" },
	{ "output",
	  "standard output is the command's; record first, then --describe --output=FILE" },
	{ "output-format", "record first; --describe has text and JSON" },
	{ "require", "record first, then ask for figures with --describe" },
};

/* All that is no option of a capture, but for what any command line may have. */
static bool goes_with_capture(const struct mlgen_field *f)
{
	static const char *const also[] = { "eta", "quiet" };

	for (size_t i = 0; i < ARRAY_LEN(also); i++)
		if (strcmp(f->name, also[i]) == 0)
			return true;
	return strcmp(f->group, "Capture") == 0 || strcmp(f->group, "Help") == 0;
}

static const char *way_of(const char *option)
{
	for (size_t i = 0; i < ARRAY_LEN(ways); i++)
		if (strcmp(ways[i].option, option) == 0)
			return ways[i].way;
	return "leave it out";
}

static void refuse_others(const struct settings *s, struct diag *d)
{
	for (const struct mlgen_field *f = settings_fields; f->name; f++)
		if (!goes_with_capture(f) && !field_is_default(f, s))
			diag_add(d, DIAG_ERROR, on_command_line,
				 "%s: is of a run, and --capture records a program; %s", f->name,
				 way_of(f->name));
}

static void check_whom(const struct settings *s, char *const *command, struct diag *d)
{
	const char *running = s->pid ? "pid" : "cgroup";

	if (s->pid && s->cgroup)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "pid: and cgroup name what is recorded, each of them; leave out one");
	if (command && (s->pid || s->cgroup))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "%s: records what runs already, and behind -- stands a command; leave out "
			 "one of them",
			 running);
	else if (s->capture_user && (s->pid || s->cgroup))
		diag_add(d, DIAG_ERROR, on_command_line,
			 "capture-user: is of a command, and --%s records what runs already",
			 running);
	else if (command && !*command)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "capture: nothing stands behind --; write --capture=%s -- COMMAND "
			 "ARGUMENTS...",
			 s->capture);
	else if (!command && !s->pid && !s->cgroup)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "capture: of what? Write --capture=%s -- COMMAND ARGUMENTS..., or "
			 "--pid=PID or --cgroup=PATH of what runs already",
			 s->capture);
}

static void check_buffer(const struct settings *s, struct diag *d)
{
	uint64_t n = s->buffer_bytes, below = 1;
	char given[UNITS_TEXT_BYTES], one[UNITS_TEXT_BYTES];
	char other[UNITS_TEXT_BYTES];

	while (below <= n / 2)
		below *= 2;
	if (n != below)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "buffer: %s is no power of two; the next are %s and %s",
			 units_put_size(given, n), units_put_size(one, below),
			 units_put_size(other, 2 * below));
}

void settings_check_capture(const struct settings *s, char *const *command, struct diag *d)
{
	/* A command without -- is told once, and what it made of the rest is not. */
	if (d->errors)
		return;
	pathname_check("capture", s->capture, on_command_line, d);
	if (strcmp(s->capture, "-") == 0)
		diag_add(d, DIAG_ERROR, on_command_line,
			 "capture=-: name a file; standard output is the command's");
	check_whom(s, command, d);
	check_buffer(s, d);
	refuse_others(s, d);
}
