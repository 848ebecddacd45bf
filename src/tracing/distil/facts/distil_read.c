/* SPDX-License-Identifier: Apache-2.0 */
/* distil_read.c - reads a trace once, by time, and finds out the purpose of its files. */
#include "tracing/distil/facts/facts_internal.h"

#include <ctype.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"
#include "trace/model/model.h"

const char *distil_path(const struct distil *d, uint32_t file)
{
	size_t bytes;

	return trace_ordered_name(d->records, file, &bytes);
}

const char *distil_basename(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void add_entry(void *arg, const struct trace_entry *e, uint32_t id)
{
	struct distil *d = arg;
	struct trace_entry file = *e;

	if (e->kind == TRACE_FILE) {
		file.number[0] = id;
		trace_files_add_entry(&d->files, &file);
	} else if (e->kind == TRACE_FACT) {
		trace_scope_add_entry(&d->scope, e);
		buf_addn(&d->facts, e->text, e->text_bytes);
		buf_addn(&d->facts, "", 1);
	} else {
		trace_tasks_add_entry(&d->tasks, e);
	}
}

const char *distil_fact(const struct distil *d, const char *key)
{
	size_t n = strlen(key);

	for (size_t at = 0; at < d->facts.len;) {
		const char *text = d->facts.s + at;

		if (strncmp(text, key, n) == 0 && text[n] == '=')
			return text + n + 1;
		at += strlen(text) + 1;
	}
	return NULL;
}

/* Further renames are ignored. */
enum { RENAMES_MOST = 1 << 16 };

static int add_record(struct distil *d, struct visiting *visiting, const struct trace_record *r,
		      struct mlgen_err *err)
{
	unsigned kind = opkind_of(r->op);
	uint32_t task = 0;

	if (!r->op || !trace_op_name(r->op) || !opkind_has_time(r))
		return 0;
	d->calls += kind & OPKIND_CALL && !opkind_failed(r);
	d->faults += r->op == TRACE_FAULT;
	d->blocks += r->op == TRACE_BLOCK_ISSUE;
	d->has_cpu |= r->cpu_ns != TRACE_UNKNOWN && r->op != TRACE_EXIT;
	d->has_markers |= r->op == TRACE_EPOCH || r->op == TRACE_STAGE || r->op == TRACE_STEP ||
			  r->op == TRACE_CHECKPOINT;
	if (!trace_is_marker(r->op) || !(r->flags & TRACE_BEGINS)) {
		d->start_ns = u64_min(d->start_ns, r->start_ns);
		d->end_ns = u64_max(d->end_ns, opkind_end_ns(r));
	}
	if (r->op == TRACE_RENAME && !opkind_failed(r) && r->off < d->file_count &&
	    d->renames.count < RENAMES_MOST)
		vec_push(&d->renames, (struct distil_rename){ r->file, (uint32_t)r->off });
	trace_files_add_record(&d->files, r, kind);
	trace_tasks_add_record(&d->tasks, r, kind);
	if (trace_is_marker(r->op)) {
		trace_marks_add_marker(&d->marks, r);
		return 0;
	}
	if (!trace_tasks_find_thread(&d->tasks, r, &task))
		return 0;
	return visiting_add(visiting, r, task, trace_scope_has(&d->scope, r), err);
}

/* Set the sizes of files, which are known only after all records were read. */
static void set_file_sizes(const struct distil *d, struct specimens *s)
{
	for (uint32_t i = 0; i < s->count; i++) {
		const struct file_account *f = trace_files_at(&d->files, s->at[i].visit.file);

		s->at[i].file_bytes = f && f->size_bytes ? f->size_bytes - 1 : TRACE_UNKNOWN;
	}
}

int distil_read(struct distil *d, struct mlgen_err *err)
{
	struct trace_ordered_filter wants = { .told = add_entry, .arg = d };
	struct trace_reader *r = NULL;
	int rc = trace_reader_open(&r, d->paths, d->path_count, err);

	if (rc < 0)
		return rc;
	d->start_ns = UINT64_MAX;
	d->names = trace_names_new();
	d->visits = visits_new();
	trace_files_init(&d->files, d->names);
	d->tasks.names = d->names;
	rc = trace_ordered_read_filtered(&d->records, r, &wants, err);
	d->read = *trace_reader_totals(r);
	trace_reader_close(r);
	if (rc == 0) {
		struct visiting *visiting = visiting_new(d->visits, &d->specimens, &d->written);
		const struct trace_record *record;

		d->file_count = trace_ordered_names(d->records) + 1;
		trace_scope_start(&d->scope, d->records, false);
		while ((rc = trace_ordered_next(d->records, &record, err)) > 0) {
			rc = add_record(d, visiting, record, err);
			if (rc < 0)
				break;
		}
		visiting_end(visiting);
		visiting_free(visiting);
	}
	if (rc < 0)
		return rc;
	trace_tasks_finish(&d->tasks);
	trace_marks_finish(&d->marks, &d->files);
	set_file_sizes(d, &d->specimens);
	set_file_sizes(d, &d->written);
	return 0;
}

int distil_read_again(const struct distil *d, bool (*keeps)(void *, const struct trace_record *),
		      void (*take)(void *arg, const struct trace_record *r), void *arg,
		      struct mlgen_err *err)
{
	const struct trace_ordered_filter wants = { .keeps = keeps };
	struct trace_ordered *records = NULL;
	const struct trace_record *r;
	struct trace_reader *reader;
	int rc = trace_reader_open(&reader, d->paths, d->path_count, err);

	if (rc < 0)
		return rc;
	/* Names are added in the same order as in distil_read(), so their ids are the same. */
	rc = trace_ordered_read_filtered(&records, reader, &wants, err);
	trace_reader_close(reader);
	while (rc >= 0 && (rc = trace_ordered_next(records, &r, err)) > 0)
		take(arg, r);
	trace_ordered_free(records);
	return rc;
}

void distil_fini(struct distil *d)
{
	trace_files_fini(&d->files);
	trace_tasks_fini(&d->tasks);
	trace_marks_fini(&d->marks);
	trace_names_free(d->names);
	buf_fini(&d->facts);
	trace_scope_fini(&d->scope);
	mem_free(d->class);
	vec_fini(&d->renames);
	mem_free(d->task);
	visits_free(d->visits);
	specimens_fini(&d->specimens);
	specimens_fini(&d->written);
	mem_free(d->stages);
	mem_free(d->found);
	trace_ordered_free(d->records);
	jobtext_free(d->to);
}

/* A kind is all files with the same ending, in which digits do not matter, such as the files of a
 * data set. The last kind has the files of all further endings. */
enum { KINDS_MOST = 4096, KIND_BYTES = 32 };
/* Fewer files of an unknown kind are not a data set. */
#define FILES_LEAST 8
/* A kind is not samples if less than 1/OTHER_PART as many bytes are read from it as from
 * samples. */
#define OTHER_PART 5

struct file_kind {
	char ending[KIND_BYTES];
	uint32_t party;
	uint64_t files, read_bytes, written_bytes;
	enum file_class class;
};

struct classifier {
	struct distil *d;
	struct file_kind *kinds;
	uint32_t count;
	uint32_t *kind;  /* index of kinds + 1, by file */
	uint32_t *party; /* the first party that reads or writes a file; UINT32_MAX = none */
};

/* Endings of formats that hold samples. */
static const char *const data_endings[] = {
	"npz",
	"npy",
	"tfrecord",
	"tfrecords",
	"rec",
	"tar",
	"h#",
	"hdf#",
	"jpg",
	"jpeg",
	"png",
	"parquet",
	"csv",
	"arrow",
	"mdr",
	"lmdb",
	"mdb",
	"bin",
	"beton",
	"wds",
	/* DLIO's own formats. */
	"indexed_binary",
	"mmap_indexed_binary",
};

/* Words in paths of checkpoints, and their endings. */
static const char *const saved_words[] = { "checkpoint", "ckpt", "snapshot", "global_step" };
static const char *const saved_endings[] = { "pt", "pth", "safetensors", "distcp", "ckpt" };
static const char *const log_endings[] = { "log",      "txt",  "out", "err",  "jsonl",
					   "tfevents", "yaml", "mlt", "trace" };
static const char *const code_endings[] = { "py",   "pyc", "so",  "sh",  "yaml", "yml",
					    "toml", "cfg", "ini", "job", "pth" };

static bool is_one_of(const char *ending, const char *const *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(ending, of[i]) == 0)
			return true;
	return false;
}

/* The part of the name after the last dot, or the whole name if it has no dot. Letters become lower
 * case, and each run of digits "#". */
static void ending_of(const char *path, char to[KIND_BYTES])
{
	const char *name = distil_basename(path), *dot = strrchr(name, '.');
	size_t n = 0;

	for (const char *p = dot && dot > name ? dot + 1 : name; *p && n + 1 < KIND_BYTES; p++) {
		char c = (char)tolower((unsigned char)*p);

		if (isdigit((unsigned char)c))
			c = '#';
		if (c != '#' || n == 0 || to[n - 1] != '#')
			to[n++] = c;
	}
	to[n] = '\0';
}

static uint32_t kind_of(struct classifier *s, const char *ending, uint32_t party)
{
	uint32_t i = 0;

	while (i < s->count &&
	       (s->kinds[i].party != party || strcmp(s->kinds[i].ending, ending) != 0))
		i++;
	if (i == KINDS_MOST)
		return KINDS_MOST - 1;
	if (i == s->count) {
		s->kinds = mem_realloc(s->kinds, (i + 1) * sizeof(*s->kinds));
		s->kinds[i] = (struct file_kind){ .party = party };
		memcpy(s->kinds[i].ending, ending, KIND_BYTES);
		s->count++;
	}
	return i;
}

/* Pages of a mapping that were touched count as read. */
static uint64_t bytes_read(const struct classifier *s, const struct file_account *f)
{
	return f->read_bytes + (f->faulted ? extent_set_bytes(&s->d->files.pool, f->faulted) : 0);
}

static bool is_data(const struct file_kind *k)
{
	return is_one_of(k->ending, data_endings, ARRAY_LEN(data_endings));
}

/* At least as many bytes of samples are read as written: the program may also make its data. */
static bool may_be_samples(const struct file_kind *k)
{
	if (is_one_of(k->ending, code_endings, ARRAY_LEN(code_endings)) ||
	    is_one_of(k->ending, saved_endings, ARRAY_LEN(saved_endings)))
		return false;
	return k->read_bytes > 0 && k->written_bytes <= k->read_bytes &&
	       (k->files >= FILES_LEAST || is_data(k));
}

/* The kind of the samples of a training run: the kind with the most bytes read, with a preference
 * for known formats of data. NULL = the training run reads nothing like samples. */
static struct file_kind *samples_of(struct classifier *s, uint32_t party)
{
	struct file_kind *best = NULL;

	for (uint32_t i = 0; i < s->count; i++) {
		struct file_kind *k = &s->kinds[i];

		if (k->party != party || !may_be_samples(k))
			continue;
		if (!best ||
		    (is_data(k) == is_data(best)
			     ? k->read_bytes > best->read_bytes
			     : is_data(k) && k->read_bytes > best->read_bytes / OTHER_PART))
			best = k;
	}
	return best;
}

/* The class of a kind that a training run reads in addition to its samples. */
static enum file_class class_of_other(const struct file_kind *k, const struct file_kind *samples)
{
	if (is_one_of(k->ending, code_endings, ARRAY_LEN(code_endings)))
		return CLASS_CODE;
	if (k->files == samples->files && k->files >= FILES_LEAST)
		return CLASS_LABEL;
	if (k->read_bytes >= samples->read_bytes / OTHER_PART && is_data(k) == is_data(samples))
		return CLASS_SAMPLE;
	return CLASS_INDEX;
}

static void classify_kinds(struct classifier *s)
{
	for (uint32_t p = 0; p < s->d->parties; p++) {
		const struct file_kind *samples = samples_of(s, p);

		for (uint32_t i = 0; i < s->count; i++) {
			struct file_kind *k = &s->kinds[i];

			if (k->party != p)
				continue;
			k->class = !samples       ? CLASS_PLAIN
				   : k == samples ? CLASS_SAMPLE
						  : class_of_other(k, samples);
		}
	}
}

/* ---- each file ---- */

/* Does the name end like the name of a file of a plain job, such as ".7.0"? */
static bool is_of_plain_job(const char *path)
{
	const char *at = path + strlen(path);

	for (unsigned numbers = 0; numbers < 2; numbers++) {
		const char *end = at;

		while (at > path && isdigit((unsigned char)at[-1]))
			at--;
		if (at == end || at == path || *--at != '.')
			return false;
	}
	return true;
}

/* Does the path contain a word for a checkpoint? */
static bool is_named_checkpoint(const char *path)
{
	if (is_of_plain_job(path))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(saved_words); i++)
		if (strcasestr(path, saved_words[i]))
			return true;
	return false;
}

static enum file_class class_of(const struct classifier *s, uint32_t i)
{
	const struct file_account *f = trace_files_at(&s->d->files, i);
	const char *path = distil_path(s->d, i);
	bool trains = s->party[i] != UINT32_MAX;

	if (!s->kind[i])
		return CLASS_OTHER;
	const struct file_kind *k = &s->kinds[s->kind[i] - 1];
	/* The pages of a program are mapped at its start, without an open in the trace. */
	if (!f->opens && !f->reads && !f->writes && !is_data(k))
		return CLASS_CODE;
	if (trains && k->class == CLASS_SAMPLE && bytes_read(s, f))
		return f->written_bytes ? CLASS_MADE : CLASS_SAMPLE;
	if (f->writes) {
		if (is_named_checkpoint(path) ||
		    is_one_of(k->ending, saved_endings, ARRAY_LEN(saved_endings)))
			return CLASS_CHECKPOINT;
		if (is_one_of(k->ending, log_endings, ARRAY_LEN(log_endings)) &&
		    f->written_bytes < (UINT64_C(1) << 20))
			return CLASS_LOG;
		return trains ? CLASS_CHECKPOINT : CLASS_PLAIN;
	}
	if (is_named_checkpoint(path) && !(trains && k->class == CLASS_SAMPLE))
		return CLASS_CHECKPOINT;
	return trains ? k->class : CLASS_PLAIN;
}

int distil_classes(struct distil *d, struct mlgen_err *err)
{
	struct classifier s = { .d = d };
	int rc;

	s.kind = mem_array(d->file_count, sizeof(*s.kind));
	s.party = mem_array(d->file_count, sizeof(*s.party));
	d->class = mem_array(d->file_count, sizeof(*d->class));

	/* Find the party of each file. */
	struct visits_cursor c = { 0 };
	const struct visit *x;
	for (uint32_t i = 0; i < d->file_count; i++)
		s.party[i] = UINT32_MAX;
	while ((rc = visits_next(d->visits, &c, &x, err)) > 0) {
		uint32_t party = d->task[x->task].party;

		if (x->flags & (VISIT_READS | VISIT_WRITES | VISIT_MAPS) &&
		    s.party[x->file] == UINT32_MAX)
			s.party[x->file] = party;
	}

	if (rc == 0) {
		char ending[KIND_BYTES];

		for (uint32_t i = 1; i < d->file_count; i++) {
			const struct file_account *f = trace_files_at(&d->files, i);
			const char *path = distil_path(d, i);

			if (!f || !file_account_is_used(f) || !trace_scope_has_file(&d->scope, i) ||
			    (!bytes_read(&s, f) && !f->writes))
				continue;
			ending_of(path, ending);
			s.kind[i] = kind_of(&s, ending, s.party[i]) + 1;
			struct file_kind *k = &s.kinds[s.kind[i] - 1];
			k->files++;
			k->read_bytes += bytes_read(&s, f);
			k->written_bytes += f->written_bytes;
		}

		classify_kinds(&s);
		for (uint32_t i = 1; i < d->file_count; i++)
			d->class[i] = (uint8_t)class_of(&s, i);
	}
	/* A renamed checkpoint is a checkpoint, and is restored by its new name. */
	for (size_t i = 0; rc == 0 && i < d->renames.count; i++) {
		const struct distil_rename *r = &d->renames.at[i];

		if (d->class[r->from] == CLASS_CHECKPOINT && d->class[r->to] != CLASS_SAMPLE &&
		    d->class[r->to] != CLASS_MADE)
			d->class[r->to] = CLASS_CHECKPOINT;
	}
	mem_free(s.kinds);
	mem_free(s.kind);
	mem_free(s.party);
	return rc;
}
