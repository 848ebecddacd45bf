/* SPDX-License-Identifier: Apache-2.0 */
/* elsewhere.c - see elsewhere.h. */
#include "job/elsewhere.h"

#include <ctype.h>
#include <string.h>

#include "base/util.h"
#include "field/fields.h"

/* Names that people use and no documentation has. */
static const struct {
	const char *name, *option;
} spoken[] = {
	{ "batch", "batch_size" },
	{ "workers", "read_threads (of a plain job: numjobs)" },
};

static bool is_word(char c)
{
	return c == '_' || isalnum((unsigned char)c);
}

/* Compare `len` characters by the rule of field_name_equal(): '-' is '_'. */
static bool is_same(const char *text, const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] != (name[i] == '-' ? '_' : name[i]))
			return false;
	return true;
}

/* Does `name` stand in the text, whole or behind the dots of a DLIO key? The text begins with a
 * line break. */
static bool has_name(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = text + 1; strlen(at) >= len; at++) {
		bool is_begin = (at[-1] == ' ' || at[-1] == '.') && is_same(at, name, len);

		if (is_begin && !is_word(at[len]) && !(at[len] == '.' && is_word(at[len + 1])))
			return true;
	}
	return false;
}

/* The sentences of a help text that name programs, from their line on. */
static const char *names_in(const char *help)
{
	const char *dlio = strstr(help, "\nDLIO: ");

	return dlio ? dlio : strstr(help, "\nPyTorch: ");
}

const char *elsewhere_option(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(spoken); i++)
		if (field_name_equal(spoken[i].name, name))
			return spoken[i].option;
	/* A single word may be an ordinary one of the sentence. */
	if (!strpbrk(name, "_-."))
		return NULL;
	for (const struct mlgen_field *f = job_fields; f->name; f++) {
		const char *names = f->help ? names_in(f->help) : NULL;

		if (names && has_name(names, name))
			return f->name;
	}
	return NULL;
}
