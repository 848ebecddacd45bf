/* SPDX-License-Identifier: Apache-2.0 */
/* codefolders.c - see codefolders.h. */
#include "tracing/score/codefolders.h"

#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "base/vec.h"

static const char *const modules[] = { ".py", ".pyc", ".so" };
static const char *const compiled = "/__pycache__";

static bool codefolders_ends(const char *path, size_t length, const char *with)
{
	size_t n = strlen(with);

	return length >= n && strncmp(path + length - n, with, n) == 0;
}

static bool is_module(const char *path)
{
	for (size_t i = 0; i < ARRAY_LEN(modules); i++)
		if (codefolders_ends(path, strlen(path), modules[i]))
			return true;
	return false;
}

static bool has(const struct codefolders *f, const char *path, size_t length)
{
	for (size_t i = 0; i < f->count; i++)
		if (strncmp(f->at[i], path, length) == 0 && !f->at[i][length])
			return true;
	return false;
}

void codefolders_add(struct codefolders *f, const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t length = slash ? (size_t)(slash - path) : 0;

	if (!is_module(path))
		return;
	if (codefolders_ends(path, length, compiled))
		length -= strlen(compiled);
	if (!length || has(f, path, length))
		return;
	vec_push(f, mem_strndup(path, length));
}

bool codefolders_has(const struct codefolders *f, const char *path)
{
	size_t length = strlen(path);

	/* That of "/" is in it. */
	if (length && path[length - 1] == '/')
		length--;
	for (size_t i = 0; i < f->count; i++)
		if (strncmp(f->at[i], path, length) == 0 && strchr("/", f->at[i][length]))
			return true;
	return false;
}

void codefolders_fini(struct codefolders *f)
{
	for (size_t i = 0; i < f->count; i++)
		mem_free(f->at[i]);
	mem_free(f->at);
	*f = (struct codefolders){ 0 };
}
