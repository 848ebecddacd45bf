/* SPDX-License-Identifier: Apache-2.0 */
/* engines.c - find, load and describe engines. */

#include "io/engines.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buf.h"
#include "base/log.h"
#include "config.h"
#include "field/fields.h"
#include "job/job.h"

/* The lists of engines are in config.h, which configure writes. */
/* clang-format off */
#define DECLARE(engine) extern const struct mlgen_engine mlgen_engine_##engine;
#define BUILT(engine)	&mlgen_engine_##engine,
#define ABSENT(engine, reason) { .name = #engine, .why = reason },

CONFIG_ENGINES(DECLARE)

const struct mlgen_engine *const engines_built[] = {
	CONFIG_ENGINES(BUILT)
	NULL
};

const struct engine_absent engines_absent[] = {
	CONFIG_ENGINES_ABSENT(ABSENT)
	{ .name = NULL }
};
/* clang-format on */

#define ENGINE_INDENT 12 /* columns before the help of an engine */
#define OPTION_INDENT 8  /* columns before the help of an option */

static void print_name(FILE *to, const char *name, const char *text)
{
	struct buf line = { 0 };

	buf_addf(&line, "%-10s", name);
	help_text_print(to, &line, text, ENGINE_INDENT, wrap_columns());
	buf_fini(&line);
}

static void print_engine(FILE *to, const struct mlgen_engine *e)
{
	print_name(to, e->name, e->help);
	for (const struct mlgen_field *f = e->opts; f && f->name; f++) {
		struct buf text = { 0 }, none = { 0 };

		buf_addf(&text, "    %s=", f->name);
		field_type_text(&text, f);
		buf_add(&text, "  (");
		field_range_text(&text, f);
		buf_add(&text, ")");
		fprintf(to, "%s\n", buf_str(&text));
		help_text_print(to, &none, f->help, OPTION_INDENT, wrap_columns());
		buf_fini(&none);
		buf_fini(&text);
	}
}

static int fail_unknown(const char *name, struct mlgen_err *err)
{
	struct buf names = { 0 };
	const char *why = engines_why_absent(name);

	if (why)
		return mlgen_fail(err, -ENOENT, "ioengine=%s: not built: %s", name, why);
	for (const struct mlgen_engine *const *e = engines_built; *e; e++)
		buf_addf(&names, " %s", (*e)->name);
	mlgen_fail(err, -ENOENT, "ioengine=%s: no such engine; the engines are%s", name,
		   buf_str(&names));
	buf_fini(&names);
	return -ENOENT;
}

static const char *without_prefix(const char *path)
{
	return strncmp(path, "external:", 9) == 0 ? path + 9 : path;
}

/* dlopen would look for a bare name in the system's folders, and would wait for a writer of a FIFO.
 */
static int check_path(const char *path, struct mlgen_err *err)
{
	struct stat st;

	if (!strchr(path, '/'))
		return mlgen_fail(err, -EINVAL, "ioengine=%s: a path needs a '/': write ./%s", path,
				  path);
	if (stat(path, &st) < 0)
		return mlgen_fail(err, -errno, "ioengine=%s: %s", path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return mlgen_fail(err, -EINVAL, "ioengine=%s: is not a regular file", path);
	return 0;
}

/* Members after `abi` are valid only for the same ABI, so `abi` is checked first. */
static int check_table(const struct mlgen_engine *e, const char *path, struct mlgen_err *err)
{
	if (e->abi != MLGEN_ENGINE_ABI)
		return mlgen_fail(err, -EINVAL,
				  "ioengine=%s: built for engine ABI %u, but this mlgen has ABI "
				  "%u; compile it with the headers of this mlgen",
				  path, e->abi, (unsigned)MLGEN_ENGINE_ABI);
	if (e->size != sizeof(*e))
		return mlgen_fail(err, -EINVAL,
				  "ioengine=%s: its table has %zu bytes, not %zu; compile it with "
				  "the headers of this mlgen",
				  path, e->size, sizeof(*e));
	if (!e->name || !e->help || !e->submit || (e->opts && !e->opts_size))
		return mlgen_fail(err, -EINVAL,
				  "ioengine=%s: its table must set name, help and submit, and "
				  "opts_size if it sets opts",
				  path);
	return 0;
}

const struct mlgen_engine *engines_find(const char *name)
{
	if (jobset_is_path(name))
		return engines_load(name, NULL);
	for (const struct mlgen_engine *const *e = engines_built; *e; e++)
		if (strcmp((*e)->name, name) == 0)
			return *e;
	return NULL;
}

const struct mlgen_engine *engines_load(const char *path, struct mlgen_err *err)
{
	const struct mlgen_engine *e = NULL;
	void *object = NULL;

	path = without_prefix(path);
	if (check_path(path, err) < 0)
		return NULL;
	object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!object) {
		mlgen_fail(err, -ENOEXEC, "ioengine=%s: cannot be loaded: %s", path, dlerror());
		return NULL;
	}
	e = dlsym(object, "mlgen_engine");
	if (!e)
		mlgen_fail(err, -ENOENT,
			   "ioengine=%s: has no symbol mlgen_engine; see mlgen-engine(7)", path);
	return e && check_table(e, path, err) == 0 ? e : NULL;
}

int engines_check_path(const char *path, struct mlgen_err *err)
{
	return check_path(without_prefix(path), err);
}

const char *engines_why_absent(const char *name)
{
	for (const struct engine_absent *a = engines_absent; a->name; a++)
		if (strcmp(a->name, name) == 0)
			return a->why;
	return NULL;
}

int engines_help(FILE *to, const char *name, struct mlgen_err *err)
{
	bool is_path = jobset_is_path(name);
	const struct mlgen_engine *e = is_path ? engines_load(name, err) : engines_find(name);

	if (is_path && !e)
		return err->code;
	if (name[0] && !e)
		return fail_unknown(name, err);
	if (e) {
		print_engine(to, e);
		return 0;
	}
	for (const struct mlgen_engine *const *all = engines_built; *all; all++)
		print_engine(to, *all);
	for (const struct engine_absent *a = engines_absent; a->name; a++) {
		struct buf why = { 0 };

		buf_addf(&why, "not built: %s", a->why);
		print_name(to, a->name, buf_str(&why));
		buf_fini(&why);
	}
	return 0;
}
