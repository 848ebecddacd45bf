/* SPDX-License-Identifier: Apache-2.0 */
/* saves.c - collect the files of each checkpoint, and the samples and steps before it. */
#include "tracing/distil/saves/saves_internal.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/files.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/util.h"
#include "trace/model/model.h"

enum {
	FILES_MOST = 65536,   /* limit over all checkpoints; later files are left out */
	CALLS_MOST = 65536,   /* recorded calls of a file */
	CALL_FILES_MOST = 64, /* files whose calls are recorded */
	RENAMES_MOST = 1 << 16,
	UNLINKED_MOST = 1 << 20,
	CONCURRENT_MOST = 64, /* checkpoints that are written at the same time */
};

/* ---- checkpoints by stage and folder ---- */

/* Files of one folder in one stage. */
struct folder_part {
	uint32_t stage, directory;
	uint64_t start_ns, end_ns;
};

struct stage_split {
	struct saves *s;
	const struct distil *d;
	uint32_t party;
	struct keyed parts; /* struct folder_part, by stage and directory */
	struct keyed names; /* uint32_t: the first directory with a file name in a stage */
	bool *is_several;   /* stages that have several checkpoints, each in its folder */
};

static bool is_save_stage(const struct stage_split *g, uint32_t stage)
{
	const struct distil_stage *t = &g->d->stages[stage];

	return t->kind == STAGE_SAVE && t->party == g->party && t->start_ns <= t->end_ns;
}

static void add_part(struct stage_split *g, const struct visit *x)
{
	const struct file_account *f = trace_files_at(&g->d->files, x->file);
	uint32_t directory = f ? f->directory : 0;
	bool is_new;
	struct folder_part *p =
		keyed_item(&g->parts, (uint64_t)x->stage << 32 | directory, sizeof(*p), &is_new);

	if (is_new)
		*p = (struct folder_part){ x->stage, directory, x->start_ns, x->end_ns };
	p->start_ns = u64_min(p->start_ns, x->start_ns);
	p->end_ns = u64_max(p->end_ns, x->end_ns);

	/* A name that recurs in another folder belongs to another checkpoint. */
	const char *name = distil_basename(distil_path(g->d, x->file));
	uint64_t hash =
		fnv1a((x->stage + UINT64_C(1)) * UINT64_C(0x9e3779b97f4a7c15), name, strlen(name));
	uint32_t *first = keyed_item(&g->names, hash, sizeof(*first), &is_new);
	if (is_new)
		*first = directory;
	g->is_several[x->stage] |= *first != directory;
}

static void add_save(struct saves *s, uint64_t start_ns, uint64_t end_ns, uint32_t directory)
{
	if (s->count == SAVES_MOST)
		s->left_out++;
	else
		s->at[s->count++] = (struct save){ .start_ns = start_ns,
						   .end_ns = end_ns,
						   .directory = directory };
}

COMPARE_BY(by_start, struct save, start_ns)

/* List checkpoints: one per stage, or one per folder if the stage has several checkpoints. */
static int find_saves(struct saves *s, const struct distil *d, uint32_t party,
		      struct mlgen_err *err)
{
	struct stage_split g = { .s = s, .d = d, .party = party };
	struct visits_cursor c = { 0 };
	const struct visit *x;
	int rc;

	g.is_several = mem_array((size_t)d->stage_count + 1, sizeof(*g.is_several));
	while ((rc = visits_next(d->visits, &c, &x, err)) > 0)
		if (x->stage < d->stage_count && is_save_stage(&g, x->stage) &&
		    x->flags & VISIT_WRITES)
			add_part(&g, x);
	if (rc == 0) {
		const struct folder_part *parts = g.parts.items.at;

		s->at = mem_array(SAVES_MOST, sizeof(*s->at));
		for (uint32_t i = 0; i < d->stage_count; i++)
			if (is_save_stage(&g, i) && !g.is_several[i])
				add_save(s, d->stages[i].start_ns, d->stages[i].end_ns, UINT32_MAX);
		for (uint32_t i = 0; i < g.parts.keys.count; i++)
			if (g.is_several[parts[i].stage])
				add_save(s, parts[i].start_ns, parts[i].end_ns, parts[i].directory);
		qsort(s->at, s->count, sizeof(*s->at), by_start);
	}
	keyed_fini(&g.parts);
	keyed_fini(&g.names);
	mem_free(g.is_several);
	return rc;
}

/* The last checkpoint that began at or before `ns`; s->count = there is none. */
static uint32_t begun_by(const struct saves *s, uint64_t ns)
{
	uint32_t later = (uint32_t)BISECT(i, 0, s->count, s->at[i].start_ns > ns);

	return later ? later - 1 : s->count;
}

/* ---- samples ---- */

/* Spread a visit over its time, because a file of many samples is read in several steps. Here
 * `samples` is the number between two checkpoints; count_samples() makes running totals of it. */
static void spread_visit(struct saves *s, const struct visit *x)
{
	double span = (double)(x->end_ns - x->start_ns), before = 0;
	uint32_t i = begun_by(s, x->start_ns);

	if (i < s->count && x->start_ns < s->at[i].end_ns)
		s->at[i].samples_within++;
	for (i = i == s->count ? 0 : i + 1; i < s->count && s->at[i].start_ns < x->end_ns; i++) {
		double part = (double)(s->at[i].start_ns - x->start_ns) / span;

		s->at[i].samples += part - before;
		before = part;
	}
	if (i < s->count)
		s->at[i].samples += 1 - before;
}

/* Count the samples that are read before and during each checkpoint. */
static int count_samples(struct saves *s, const struct distil *d, uint32_t party,
			 struct mlgen_err *err)
{
	struct visits_cursor c = { 0 };
	const struct visit *x;
	int rc;

	if (party >= d->parties)
		return 0;
	while ((rc = visits_next(d->visits, &c, &x, err)) > 0)
		if (d->task[x->task].party == party && x->stage < d->stage_count &&
		    d->stages[x->stage].kind == STAGE_TRAIN &&
		    distil_class(d, x->file) == CLASS_SAMPLE)
			spread_visit(s, x);
	for (uint32_t i = 1; i < s->count; i++)
		s->at[i].samples += s->at[i - 1].samples;
	return rc;
}

/* ---- files ---- */

struct file_rename {
	uint32_t from, to; /* file ids */
};

struct save_reader {
	struct saves *s;
	struct distil *d;
	uint32_t party;
	struct map direct; /* files that were opened with O_DIRECT */
	VEC(struct file_rename) renames;
	uint32_t call_files;          /* files whose calls are recorded */
	uint32_t step_rank;           /* the only rank whose steps are counted */
	struct trace_names *unlinked; /* unlinked paths */
	VEC(uint64_t) unlinked_ns;    /* time of the first unlink of each path */
};

static struct saved_file *add_file(struct saves *s, uint32_t save, uint32_t file)
{
	bool is_new;

	if (s->files.count == FILES_MOST)
		return NULL;
	map_number(&s->keys, (uint64_t)save << 32 | file, &is_new);
	struct saved_file *f = vec_add(&s->files);
	*f = (struct saved_file){ .file = file, .save = save, .least_bytes = UINT64_MAX };
	s->at[save].files++;
	return f;
}

static bool in_folder_of(const struct save *save, const struct file_account *f)
{
	return save->directory == UINT32_MAX || (f && save->directory == f->directory);
}

/* The saved file of a record. If a newer checkpoint has begun in the meantime, a file that was
 * begun in an older checkpoint still belongs to the older one. NULL = none, and `may_add` is false.
 */
static struct saved_file *file_of_record(struct save_reader *g, const struct trace_record *r,
					 bool may_add)
{
	const struct file_account *account = trace_files_at(&g->d->files, r->file);
	struct saves *s = g->s;
	uint32_t first = begun_by(s, r->start_ns), in = s->count;

	if (first == s->count)
		return NULL;
	for (uint32_t i = first + 1; i-- > 0 && first - i < CONCURRENT_MOST;) {
		uint32_t n;

		if (!in_folder_of(&s->at[i], account))
			continue;
		if (in == s->count)
			in = i;
		if ((i == first || r->start_ns <= s->at[i].end_ns) &&
		    map_find(&s->keys, (uint64_t)i << 32 | r->file, &n))
			return &s->files.at[n];
	}
	return may_add && in < s->count ? add_file(s, in, r->file) : NULL;
}

static void add_write(struct save_reader *g, struct saved_file *f, const struct trace_record *r,
		      uint32_t task)
{
	uint64_t bytes = opkind_bytes(r);
	uint64_t off = r->off == TRACE_UNKNOWN ? f->bytes : r->off;
	uint32_t n;

	if (f->writes++ == 0) {
		f->start_ns = r->start_ns;
		f->task = task;
		f->first_bytes = bytes;
		f->is_direct = map_find(&g->direct, r->file, &n);
	}
	f->is_synced_last = false;
	f->least_bytes = u64_min(f->least_bytes, bytes);
	f->most_bytes = u64_max(f->most_bytes, bytes);
	f->bytes = u64_max(f->bytes, off + bytes);
	f->end_ns = u64_max(f->end_ns, opkind_end_ns(r));
	if (f->save == 0 && f->calls.count < CALLS_MOST &&
	    (f->calls.count || g->call_files < CALL_FILES_MOST)) {
		g->call_files += !f->calls.count;
		vec_push(&f->calls, (struct saved_call){ off, bytes });
	}
	f->depth = r->start_ns < f->busy_until_ns ? f->depth + 1 : 1;
	f->busy_until_ns = u64_max(f->busy_until_ns, opkind_end_ns(r));
}

/* ---- records ---- */

static bool is_wanted(void *arg, const struct trace_record *r)
{
	(void)arg;
	switch (r->op) {
	case TRACE_WRITE:
	case TRACE_FSYNC:
	case TRACE_FDATASYNC:
	case TRACE_RENAME:
	case TRACE_UNLINK:
	case TRACE_ADVISE:
	case TRACE_STEP:
		return !opkind_failed(r);
	case TRACE_OPEN:
		return r->result >= 0 && r->len_bytes != TRACE_UNKNOWN &&
		       (r->len_bytes & O_ACCMODE) != O_RDONLY;
	default:
		return false;
	}
}

static void add_step(struct save_reader *g, const struct trace_record *r)
{
	uint32_t rank = r->result < 0 ? 0 : (uint32_t)r->result;
	uint64_t end = opkind_end_ns(r);
	struct saves *s = g->s;

	if (r->flags & TRACE_BEGINS)
		return;
	if (!s->has_steps)
		g->step_rank = rank;
	s->has_steps = true;
	if (rank != g->step_rank)
		return;
	uint32_t begun = begun_by(s, end - (end > 0));
	uint32_t next = begun == s->count ? 0 : begun + 1;
	/* Here `steps` is the number between two checkpoints; saves_read() makes running totals. */
	if (next < s->count)
		s->at[next].steps++;
	if (begun < s->count && end < s->at[begun].end_ns)
		s->at[begun].steps_within++;
}

/* A save lasts until the renames and deletions that follow its writes. */
static void extend_save(struct save_reader *g, const struct trace_record *r)
{
	uint32_t save = begun_by(g->s, r->start_ns);

	if (save < g->s->count)
		g->s->at[save].finished_ns = u64_max(g->s->at[save].finished_ns, opkind_end_ns(r));
}

static void add_unlink(struct save_reader *g, const struct trace_record *r)
{
	const char *path = distil_path(g->d, r->file);
	bool is_new;

	if (trace_names_count(g->unlinked) >= UNLINKED_MOST)
		return;
	trace_names_id(g->unlinked, path, strlen(path), &is_new);
	if (is_new)
		vec_push(&g->unlinked_ns, r->start_ns);
}

/* Add a write, fsync or fadvise. */
static void add_call(struct save_reader *g, const struct trace_record *r)
{
	bool has_bytes = r->op == TRACE_WRITE && opkind_bytes(r);
	uint32_t task = UINT32_MAX;

	if (!r->file || r->file >= g->d->file_count ||
	    distil_class(g->d, r->file) != CLASS_CHECKPOINT)
		return;
	(void)trace_tasks_find_thread(&g->d->tasks, r, &task);
	/* Does the task belong to another training? */
	uint32_t party = task < g->d->task_count ? g->d->task[task].party : UINT32_MAX;
	if (g->party != UINT32_MAX && party != UINT32_MAX && party != g->party)
		return;
	struct saved_file *f = file_of_record(g, r, has_bytes);
	if (!f)
		return;
	if (r->op == TRACE_ADVISE) {
		f->is_dropped = true;
	} else if (r->op == TRACE_WRITE) {
		add_write(g, f, r, task);
	} else {
		f->syncs++;
		f->is_synced_last = true;
		f->end_ns = u64_max(f->end_ns, opkind_end_ns(r));
	}
}

static void add_record(void *arg, const struct trace_record *r)
{
	struct save_reader *g = arg;
	bool is_new;

	switch (r->op) {
	case TRACE_STEP:
		add_step(g, r);
		break;
	case TRACE_RENAME:
		extend_save(g, r);
		if (g->renames.count < RENAMES_MOST && r->off != TRACE_UNKNOWN)
			vec_push(&g->renames, (struct file_rename){ r->file, (uint32_t)r->off });
		break;
	case TRACE_UNLINK:
		extend_save(g, r);
		add_unlink(g, r);
		break;
	case TRACE_OPEN:
		if (r->len_bytes & O_DIRECT)
			map_number(&g->direct, r->file, &is_new);
		break;
	default:
		add_call(g, r);
	}
}

/* ---- names ---- */

/* Is `path` equal to `folder`, or below it? */
static bool is_below(const char *path, const char *folder)
{
	size_t n = strlen(folder);

	return n && strncmp(path, folder, n) == 0 && (path[n] == '/' || path[n] == '\0');
}

/* The file's path after all renames; free it with mem_free. */
static char *final_path(const struct save_reader *g, uint32_t file, bool *is_renamed)
{
	char *path = mem_strdup(distil_path(g->d, file));

	for (uint32_t i = 0; i < g->renames.count; i++) {
		const struct file_rename *n = &g->renames.at[i];
		const char *from = distil_path(g->d, n->from);
		size_t bytes = strlen(from);

		if (!is_below(path, from))
			continue;
		const char *to = distil_path(g->d, n->to);
		size_t room = strlen(to) + strlen(path + bytes) + 1;
		char *next = mem_array(room, 1);

		memcpy(next, to, strlen(to));
		memcpy(next + strlen(to), path + bytes, strlen(path + bytes) + 1);
		mem_free(path);
		path = next;
		*is_renamed = true;
	}
	return path;
}

/* ---- public ---- */

uint32_t saves_rank_of(const char *path)
{
	const char *name = distil_basename(path), *at;

	at = strstr(name, "rank");
	if (!at)
		at = strstr(name, "model_states-");
	/* torch.distributed.checkpoint has __0_0.distcp. */
	if (!at && strncmp(name, "__", 2) == 0)
		at = name;
	if (!at)
		return UINT32_MAX;
	at += strcspn(at, "0123456789");
	return isdigit((unsigned char)*at) ? (uint32_t)strtoul(at, NULL, 10) : UINT32_MAX;
}

int saves_read(struct saves *s, struct distil *d, uint32_t party, struct mlgen_err *err)
{
	struct save_reader g = { .s = s, .d = d, .party = party };

	*s = (struct saves){ 0 };
	int rc = find_saves(s, d, party, err);
	if (rc < 0 || s->count == 0)
		return rc;
	g.unlinked = trace_names_new();
	rc = distil_read_again(d, is_wanted, add_record, &g, err);
	if (rc == 0)
		rc = count_samples(s, d, party, err);
	if (rc == 0) {
		for (uint32_t i = 1; i < s->count; i++)
			s->at[i].steps += s->at[i - 1].steps;

		uint32_t id;
		for (uint32_t i = 0; i < s->files.count; i++) {
			struct saved_file *f = &s->files.at[i];
			struct save *save = &s->at[f->save];
			char *path = final_path(&g, f->file, &save->is_renamed);

			id = trace_names_find(g.unlinked, path, strlen(path));
			if (id && g.unlinked_ns.at[id - 1] >= f->end_ns &&
			    (!save->unlinked_ns || g.unlinked_ns.at[id - 1] < save->unlinked_ns))
				save->unlinked_ns = g.unlinked_ns.at[id - 1];
			save->bytes += f->bytes;
			mem_free(path);
		}

		/* Drop stages in which no checkpoint file was written. */
		uint32_t *number = mem_array(s->count + 1, sizeof(*number));
		uint32_t n = 0;
		for (uint32_t i = 0; i < s->count; i++) {
			number[i] = n;
			if (s->at[i].files)
				s->at[n++] = s->at[i];
		}
		for (uint32_t i = 0; i < s->files.count; i++)
			s->files.at[i].save = number[s->files.at[i].save];
		s->count = n;
		mem_free(number);
	}
	trace_names_free(g.unlinked);
	vec_fini(&g.unlinked_ns);
	vec_fini(&g.renames);
	map_fini(&g.direct);
	return rc;
}

void saves_fini(struct saves *s)
{
	for (uint32_t i = 0; i < s->files.count; i++)
		vec_fini(&s->files.at[i].calls);
	vec_fini(&s->files);
	mem_free(s->at);
	map_fini(&s->keys);
	*s = (struct saves){ 0 };
}
