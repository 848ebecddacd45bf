/* SPDX-License-Identifier: Apache-2.0 */
/* standin.c - tables in the place of those of shared objects that are not loaded. */
#include "job/standin.h"

#include <errno.h>
#include <string.h>

#include "base/mem.h"
#include "field/fields.h"

/* Noise is no options; what is beyond is told as unknown. */
#define OPTIONS_MAX 256

/* "1" makes a flag of it: the option may stand without a value. */
static const struct mlgen_choice may_stand_alone[] = { { "1", 1, "" }, { 0 } };

static int standin_submit(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned n)
{
	(void)ctx, (void)io, (void)n;
	return -ENOSYS;
}

/* Asynchronous, so that a plan shows the iodepth that was asked for. */
static int standin_reap(struct mlgen_ctx *ctx, struct mlgen_io **io, unsigned min, unsigned max,
			uint64_t timeout_ns)
{
	(void)ctx, (void)io, (void)min, (void)max, (void)timeout_ns;
	return -ENOSYS;
}

/* The options are an array of char *. */
static void share_options(struct standins *s)
{
	for (size_t i = 0; i < s->count; i++) {
		s->engines[i]->opts = s->fields;
		s->engines[i]->opts_size = s->field_count * sizeof(char *);
	}
}

const struct mlgen_engine *standins_add(struct standins *s, const char *path)
{
	struct mlgen_engine *e = mem_zalloc(sizeof(*e));

	s->paths = mem_realloc(s->paths, (s->count + 1) * sizeof(*s->paths));
	s->paths[s->count] = mem_strdup(path);
	*e = (struct mlgen_engine){
		.abi = MLGEN_ENGINE_ABI,
		.size = sizeof(*e),
		.name = s->paths[s->count],
		.help = "not loaded",
		.caps = (MLGEN_CAP(MLGEN_OPS) - 1) | MLGEN_CAP_DIRECT,
		.submit = standin_submit,
		.reap = standin_reap,
	};
	s->engines = mem_realloc(s->engines, (s->count + 1) * sizeof(*s->engines));
	s->engines[s->count++] = e;
	share_options(s);
	return e;
}

void standins_add_option(struct standins *s, const char *name)
{
	size_t n = s->field_count;

	if (field_find(s->fields, name) || n == OPTIONS_MAX)
		return;
	s->options = mem_realloc(s->options, (n + 1) * sizeof(*s->options));
	s->options[n] = mem_strdup(name);
	s->fields = mem_realloc(s->fields, (n + 2) * sizeof(*s->fields));
	s->fields[n] = (struct mlgen_field){
		.name = s->options[n],
		.type = MLGEN_STR,
		.off = n * sizeof(char *),
		.help = "An option of an engine that is not loaded.",
		.choices = may_stand_alone,
	};
	s->fields[n + 1] = (struct mlgen_field){ 0 };
	s->field_count++;
	share_options(s);
}

bool standins_have(const struct standins *s, const struct mlgen_engine *e)
{
	for (size_t i = 0; i < s->count; i++)
		if (s->engines[i] == e)
			return true;
	return false;
}

void standins_fini(struct standins *s)
{
	for (size_t i = 0; i < s->count; i++) {
		mem_free(s->paths[i]);
		mem_free(s->engines[i]);
	}
	for (size_t i = 0; i < s->field_count; i++)
		mem_free(s->options[i]);
	mem_free(s->engines);
	mem_free(s->paths);
	mem_free(s->fields);
	mem_free(s->options);
	memset(s, 0, sizeof(*s));
}
