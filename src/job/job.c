/* SPDX-License-Identifier: Apache-2.0 */
/* job.c - one job: made, freed, and what follows from its options. */
#include "job/job.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/mem.h"
#include "job/words.h"

/* The default directory carries the job's name. */
static void set_default_directory(struct job *j)
{
	struct buf path = { 0 };

	words_expand(&path, j->directory, j->name, NULL);
	mem_replace(&j->directory, buf_str(&path));
	buf_fini(&path);
}

static struct job_origin *origins_new(size_t count)
{
	struct job_origin *origins = mem_array(count, sizeof(*origins));

	for (size_t i = 0; i < count; i++)
		origins[i].how = mem_strdup("default");
	return origins;
}

static void origins_free(struct job_origin *origins, size_t count)
{
	for (size_t i = 0; origins && i < count; i++) {
		mem_free(origins[i].how);
		mem_free(origins[i].raw);
	}
	mem_free(origins);
}

static void free_engine_opts(struct job *j)
{
	if (!j->engine_opts)
		return;
	field_fini(j->engine->opts, j->engine_opts);
	mem_free(j->engine_opts);
	origins_free(j->engine_origins, field_count(j->engine->opts));
	j->engine_opts = NULL;
	j->engine_origins = NULL;
}

/*
 * What the text writers leave as 1m means 10^6 to a reader with kb_base=1000: write the binary
 * form, which means the same to both.
 */
static void add_binary_suffixes(struct buf *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		bool is_suffix = c > text && strchr("kmgtp", *c) && c[-1] >= '0' && c[-1] <= '9';

		buf_addc(out, *c);
		if (is_suffix)
			buf_add(out, "ib");
	}
}

struct job *job_new(const char *name)
{
	struct job *j = mem_zalloc(sizeof(*j));

	j->name = mem_strdup(name);
	field_defaults(job_fields, j);
	set_default_directory(j);
	j->origins = origins_new(field_count(job_fields));
	j->kept = mem_zalloc(sizeof(*j->kept));
	j->kept->scan_fd = -1;
	return j;
}

void job_free(struct job *j)
{
	if (!j)
		return;
	free_engine_opts(j);
	origins_free(j->origins, field_count(job_fields));
	field_fini(job_fields, j);
	if (j->kept->scan_fd >= 0)
		close(j->kept->scan_fd);
	mem_free(j->kept);
	mem_free(j->accelerators_known);
	mem_free(j->name);
	mem_free(j);
}

struct job_kept *job_kept(const struct job *j)
{
	return j->scaled_as ? j->scaled_as->kept : j->kept;
}

void job_set_engine(struct job *j, const struct mlgen_engine *engine)
{
	free_engine_opts(j);
	j->engine = engine;
	if (!engine || !engine->opts)
		return;
	j->engine_opts = mem_zalloc(engine->opts_size);
	j->engine_origins = origins_new(field_count(engine->opts));
	field_defaults(engine->opts, j->engine_opts);
}

bool job_reads(const struct job *j)
{
	return j->rw != RW_WRITE && j->rw != RW_RANDWRITE;
}

bool job_writes(const struct job *j)
{
	return j->rw != RW_READ && j->rw != RW_RANDREAD;
}

bool job_is_random(const struct job *j)
{
	return j->rw >= RW_RANDREAD;
}

unsigned job_depth(const struct job *j)
{
	return j->engine && j->engine->reap ? (unsigned)j->iodepth : 1;
}

unsigned job_samples_at_once(const struct job *j)
{
	return j->loader == LOADER_PLAIN ? job_depth(j) : 1;
}

uint64_t job_shuffle_buffer(const struct job *j)
{
	return j->shuffle.kind == SHUFFLE_BUFFER ? j->shuffle.number : 0;
}

bool job_interleaves(const struct job *j)
{
	return j->loader == LOADER_TFDATA && j->deterministic;
}

uint64_t job_all_accelerators(const struct job *j)
{
	return j->accelerators_all ? j->accelerators_all : j->accelerators;
}

uint64_t job_host_processes(const struct job *j)
{
	return j->place.hosts ? j->place.processes : 1;
}

uint64_t job_cache_parts(const struct job *j)
{
	return j->cache_scope == CACHE_OF_ALL && j->place.total > 1 ? j->place.total : 1;
}

uint64_t job_cache_part(const struct job *j)
{
	return job_cache_parts(j) > 1 ? j->place.rank : 0;
}

uint64_t job_read_threads(const struct job *j)
{
	return j->read_threads * (job_interleaves(j) ? JOB_INTERLEAVE_THREADS : 1);
}

uint64_t job_readers(const struct job *j)
{
	return j->read_threads ? job_read_threads(j) : 1;
}

struct diag_place job_place(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);
	const struct job_origin *origin = NULL;

	assert(f);
	origin = &j->origins[f - job_fields];
	if (!origin->raw)
		return j->at;
	return origin->at;
}

void job_field_text(const struct job *j, const struct mlgen_field *f, const void *base,
		    struct buf *out)
{
	struct buf text = { 0 };
	bool is_size = f->type == MLGEN_SIZE || f->type == MLGEN_SIZE_DIST ||
		       f->type == MLGEN_SIZE_PAIR || f->type == MLGEN_SIZE_SHARE ||
		       f->type == MLGEN_CACHE_SIZE;

	field_format(&text, f, base);
	if (is_size && j->kb_base == 1000 && !buf_str(&text)[field_path_at(f, buf_str(&text))])
		add_binary_suffixes(out, buf_str(&text));
	else
		buf_add(out, buf_str(&text));
	buf_fini(&text);
}

bool job_is_given(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);

	return j->origins && j->origins[f - job_fields].raw;
}

bool job_is_commanded(const struct job *j, const char *option)
{
	const struct mlgen_field *f = field_find(job_fields, option);

	return job_is_given(j, option) &&
	       strcmp(j->origins[f - job_fields].how, "command line") == 0;
}

bool job_is_changed(const struct job *j, const char *option)
{
	return job_is_given(j, option) && !field_is_default(field_find(job_fields, option), j);
}

void job_option_text(const struct job *j, const char *option, struct buf *out)
{
	const struct mlgen_field *f = field_find(job_fields, option);

	assert(f);
	job_field_text(j, f, j, out);
}
