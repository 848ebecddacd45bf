/* SPDX-License-Identifier: Apache-2.0 */
/* version.c - see version.h. */
#include "report/version.h"

#include "base/wrap.h"
#include "config.h"
#include "io/engines.h"

#define WIDTH 80
#define INDENT 11

static const struct {
	const char *name, *version;
} libraries[] = {
#define X(name, version) { #name, version },
	CONFIG_LIBRARIES(X)
#undef X
		{ NULL, NULL },
};

/* "engines    fault io_uring ..." */
static void print_line(FILE *to, const char *label, const char *words)
{
	struct buf line = { 0 };

	buf_addf(&line, "%-*s", INDENT, label);
	wrap_words(&line, INDENT, WIDTH, words);
	fprintf(to, "%s\n", buf_str(&line));
	buf_fini(&line);
}

static void print_engines(FILE *to)
{
	struct buf names = { 0 };

	for (size_t i = 0; engines_built[i]; i++)
		buf_addf(&names, "%s%s", i ? " " : "", engines_built[i]->name);
	for (size_t i = 0; engines_absent[i].name; i++)
		buf_addf(&names, "%s%s", i ? " " : "; not built: ", engines_absent[i].name);
	print_line(to, "engines", buf_str(&names));
	buf_fini(&names);
}

static void print_libraries(FILE *to)
{
	struct buf names = { 0 };

	for (size_t i = 0; libraries[i].name; i++)
		buf_addf(&names, "%s%s%s%s", i ? ", " : "", libraries[i].name,
			 *libraries[i].version ? " " : "", libraries[i].version);
	print_line(to, "libraries", buf_str(&names));
	buf_fini(&names);
}

void version_print(FILE *to, const char *commit)
{
	fprintf(to, "mlgen %s", MLGEN_VERSION);
	if (*commit)
		fprintf(to, " (commit %s)", commit);
	fputc('\n', to);
	print_engines(to);
	print_libraries(to);
}
