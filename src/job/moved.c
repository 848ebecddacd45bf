/* SPDX-License-Identifier: Apache-2.0 */
/* moved.c - reports options that have become commands of mltrace. */
#include "job/job_internal.h"

#include <string.h>

#include "base/buf.h"
#include "base/log.h"
#include "base/util.h"

/* Characters of a command line that a message shows. */
#define COMMAND_SHOWN 1000

/* Options of older versions, each with the command that replaces it. The value of --export and
 * --import is a format. */
static const struct {
	const char *option, *command;
} commands[] = {
	{ "capture", "record" },    { "import", "import" }, { "export", "export" },
	{ "describe", "describe" }, { "score", "score" },   { "distil", "distil" },
};

/* Options that were renamed in mltrace. */
static const struct {
	const char *option, *name;
} renamed[] = {
	{ "capture-user", "user" },
	{ "capture-backend", "backend" },
	{ "capture_user", "user" },
	{ "capture_backend", "backend" },
};

/* The row of the command that an argument asks for, or -1. --import=dlio and --import=none are
 * still options of mlgen. */
static int moved_command(const char *arg, size_t name_bytes)
{
	const char *value = arg[name_bytes] ? arg + name_bytes + 1 : NULL;

	for (size_t i = 0; i < ARRAY_LEN(commands); i++) {
		if (strlen(commands[i].option) != name_bytes - 2 ||
		    strncmp(arg + 2, commands[i].option, name_bytes - 2) != 0)
			continue;
		if (strcmp(commands[i].option, "import") == 0 &&
		    (!value || strcmp(value, "dlio") == 0 || strcmp(value, "none") == 0))
			return -1;
		return (int)i;
	}
	return -1;
}

/* Append an argument in the form that mltrace expects. */
static void add_argument(struct buf *line, const char *arg, const char *command)
{
	size_t name_bytes = strncmp(arg, "--", 2) == 0 ? strcspn(arg, "=") : 0;
	const char *value = name_bytes && arg[name_bytes] ? arg + name_bytes + 1 : NULL;
	bool makes_trace = strcmp(command, "record") == 0 || strcmp(command, "import") == 0;
	bool is_output = (name_bytes == 9 && strncmp(arg, "--capture", 9) == 0) ||
			 (makes_trace && name_bytes == 7 && strncmp(arg, "--trace", 7) == 0);
	struct buf text = { 0 };
	int moved = name_bytes ? moved_command(arg, name_bytes) : -1;

	if (is_output && value) {
		buf_add(line, " -o");
		buf_add(&text, value);
	} else if (moved >= 0 && (!value || strcmp(commands[moved].command, command) != 0)) {
		return;
	} else if (moved >= 0) {
		/* --describe=1 is a flag, and --export=csv a format. */
		if (command[0] != 'i' && command[0] != 'e')
			return;
		buf_addf(&text, "--format=%s", value);
	} else {
		for (size_t i = 0; i < ARRAY_LEN(renamed); i++)
			if (name_bytes && strlen(renamed[i].option) == name_bytes - 2 &&
			    strncmp(arg + 2, renamed[i].option, name_bytes - 2) == 0)
				buf_addf(&text, "--%s%s", renamed[i].name, arg + name_bytes);
		if (!text.len)
			buf_add(&text, arg);
	}
	shellword_add(line, buf_str(&text));
	buf_fini(&text);
}

bool moved_check(int argc, char *const argv[], struct diag *d)
{
	int moved = -1;

	for (int i = 1; i < argc && moved < 0 && strcmp(argv[i], "--") != 0; i++)
		if (strncmp(argv[i], "--", 2) == 0)
			moved = moved_command(argv[i], strcspn(argv[i], "="));
	if (moved < 0)
		return false;
	struct buf line = { 0 };
	const char *command = commands[moved].command;
	bool is_after_dashes = false;

	buf_addf(&line, "mltrace %s", command);
	for (int i = 1; i < argc && line.len < COMMAND_SHOWN; i++) {
		is_after_dashes = is_after_dashes || strcmp(argv[i], "--") == 0;
		if (is_after_dashes)
			shellword_add(&line, argv[i]);
		else
			add_argument(&line, argv[i], command);
	}
	diag_fail(d, "%s: is now a command of mltrace: %.*s%s", commands[moved].option,
		  COMMAND_SHOWN, buf_str(&line), line.len > COMMAND_SHOWN ? "..." : "");
	buf_fini(&line);
	return true;
}
