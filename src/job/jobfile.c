/* SPDX-License-Identifier: Apache-2.0 */
/* jobfile.c - a job file as written: its sections and their options. */
#include "job/job_internal.h"

#include <assert.h>
#include <ini.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"

/* ---- lists of options ---- */

static struct opt **slot_of(const struct optlist *list, const char *key)
{
	const struct mlgen_field *f = field_find(job_fields, key);

	for (size_t i = 0; i < list->count; i++) {
		const struct opt *o = list->opts[i];

		if (f ? o->field == f : field_name_equal(o->key, key))
			return &list->opts[i];
	}
	return NULL;
}

static void append(struct optlist *list, struct opt *o)
{
	list->opts = mem_realloc(list->opts, (list->count + 1) * sizeof(struct opt *));
	list->opts[list->count++] = o;
}

/* In the place of fini where the options are borrowed. */
static void optlist_forget(struct optlist *list)
{
	mem_free(list->opts);
	memset(list, 0, sizeof(*list));
}

void optlist_fini(struct optlist *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct opt *o = list->opts[i];

		field_forget(o->read_as, o->read);
		mem_free(o->key);
		mem_free(o->value);
		mem_free(o);
	}
	optlist_forget(list);
}

struct opt *optlist_add(struct optlist *list, const char *key, const char *value, bool is_bare,
			struct diag_place at)
{
	struct opt *o = NULL;

	if (list->count == OPTLIST_MAX)
		return NULL;
	o = mem_zalloc(sizeof(*o));
	*o = (struct opt){
		.key = mem_strdup(key),
		.value = mem_strdup(value),
		.field = field_find(job_fields, key),
		.at = at,
		.is_bare = is_bare,
	};
	append(list, o);
	return o;
}

struct opt *optlist_find(const struct optlist *list, const char *key)
{
	struct opt **slot = slot_of(list, key);

	return slot ? *slot : NULL;
}

void optlist_replace(struct opt *o, const char *value, bool is_bare, struct diag_place at)
{
	assert(!o->read_as);
	mem_replace(&o->value, value);
	o->is_bare = is_bare;
	o->at = at;
}

/* Borrow the options of `from`: each in the place of the one of that name, or behind the others. */
static void optlist_overlay(struct optlist *list, const struct optlist *from)
{
	for (size_t i = 0; i < from->count; i++) {
		struct opt **slot = slot_of(list, from->opts[i]->key);

		if (slot)
			*slot = from->opts[i];
		else
			append(list, from->opts[i]);
	}
}

/* ---- sections ---- */

/*
 * inih, as distributions build it, cuts long lines and names, joins indented lines, takes what
 * follows ';' for a comment, tells neither lines nor new sections and gives up on bare keys. So it
 * gets lines that leave it nothing to do but to tell what is a section and what a key: a header is
 * handed over as "[N]", N its index, and followed by this key, which no file can hold; the value of
 * a key goes beside it, so that a line may be longer than inih's.
 */
#define NEW_SECTION_KEY "\x01new"

/* Fits into a line of any inih, and no option has a longer name. */
#define KEY_MAX 100

struct parse {
	struct jobfile *file;
	struct jobreader reader;
	struct diag *d;
	bool has_header;   /* the key for a new section is due */
	bool is_full;      /* the section was told to be too long */
	bool is_over;      /* so was the file; nothing more of it is read */
	char *name;        /* of the header read last */
	const char *value; /* of the line read last; NULL: a bare key */
};

static struct section *current(const struct parse *p)
{
	return p->file->count ? &p->file->sections[p->file->count - 1] : NULL;
}

/* Names become parts of paths: mlgen-data/NAME. */
static void jobfile_check_name(struct parse *p, const char *name)
{
	struct diag_place at = p->reader.at;

	if (!*name)
		diag_add(p->d, DIAG_ERROR, at, "[]: the name is missing");
	else if (strlen(name) > JOBFILE_NAME_MAX)
		diag_add(p->d, DIAG_ERROR, at, "a name of %zu bytes; at most %d", strlen(name),
			 JOBFILE_NAME_MAX);
	else if (*name == '.' || strchr(name, '/'))
		diag_add(p->d, DIAG_ERROR, at,
			 "[%s]: a name is part of paths; it cannot begin with '.' or hold '/'",
			 name);
	else if (strchr(name, '$'))
		diag_add(p->d, DIAG_ERROR, at,
			 "[%s]: a name cannot hold '$'; variables are not replaced there", name);
}

static char *trimmed(const char *s, size_t len)
{
	while (len && (*s == ' ' || *s == '\t')) {
		s++;
		len--;
	}
	while (len && (s[len - 1] == ' ' || s[len - 1] == '\t'))
		len--;
	return mem_strndup(s, len);
}

/* After a faulty header the file is read on, as if it were right. */
static char *header_name(struct parse *p, const char *line)
{
	const char *end = strrchr(line, ']');
	char *name = NULL;

	if (!end)
		diag_add(p->d, DIAG_ERROR, p->reader.at, "%.60s: ']' is missing after the name",
			 line);
	else if (end[1])
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "'%.60s' after the header; options stand on lines of their own", end + 1);
	else if (jobreader_is_included(&p->reader))
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "%.60s: an included file holds options only", line);
	name = trimmed(line + 1, end ? (size_t)(end - line) - 1 : strlen(line + 1));
	if (end && !end[1])
		jobfile_check_name(p, name);
	return name;
}

/* Only some options select; any other [x=y] is the name of a job. */
static void find_selector(struct section *s)
{
	size_t len = strcspn(s->name, "=");
	char *key = NULL;
	const struct mlgen_field *f = NULL;

	if (!s->name[len])
		return;
	key = trimmed(s->name, len);
	f = field_find(job_fields, key);
	if (f && (f->flags & MLGEN_SELECTS)) {
		s->kind = SECTION_VARIANT;
		s->selector = f;
		s->value = s->name + len + 1;
		s->value += strspn(s->value, " \t");
	}
	mem_free(key);
}

static void find_parent(struct parse *p, struct section *s)
{
	size_t at = p->file->count;

	while (at && p->file->sections[at - 1].kind == SECTION_VARIANT)
		at--;
	if (at)
		s->parent = at - 1;
	else
		diag_add(p->d, DIAG_ERROR, s->at,
			 "[%s]: belongs to the job above it; there is none", s->name);
}

static bool is_twin(const struct section *a, const struct section *b)
{
	if (a->kind != b->kind || a->kind == SECTION_GLOBAL)
		return false;
	if (a->kind == SECTION_VARIANT)
		return a->parent == b->parent && a->selector == b->selector &&
		       strcasecmp(a->value, b->value) == 0;
	return strcmp(a->name, b->name) == 0;
}

static void jobfile_check_twins(struct parse *p, const struct section *s)
{
	for (size_t i = 0; i < p->file->count; i++) {
		const struct section *other = &p->file->sections[i];

		if (is_twin(other, s)) {
			diag_add(p->d, DIAG_ERROR, s->at,
				 "[%s]: there is a section of that name in line %u already",
				 s->name, other->at.line);
			return;
		}
	}
}

static void add_section(struct parse *p)
{
	struct jobfile *f = p->file;
	struct section s = { .at = p->reader.at };

	if (f->count == JOBFILE_SECTIONS_MAX) {
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "more than %d sections; the file is read up to here",
			 JOBFILE_SECTIONS_MAX);
		p->is_over = true;
		return;
	}
	s.name = p->name;
	p->name = NULL;
	s.kind = strcmp(s.name, "global") == 0 ? SECTION_GLOBAL : SECTION_JOB;
	find_selector(&s);
	if (s.kind == SECTION_VARIANT)
		find_parent(p, &s);
	jobfile_check_twins(p, &s);
	f->sections = mem_realloc(f->sections, (f->count + 1) * sizeof(*f->sections));
	f->sections[f->count++] = s;
	p->is_full = false;
}

/* fio takes the last one silently; so do we, but aloud. */
static void set_again(struct parse *p, struct opt *o, const char *value, bool is_bare)
{
	struct diag_place at = p->reader.at;

	if (strcmp(o->at.file, at.file) == 0)
		diag_add(p->d, DIAG_WARNING, at, "%s: set in line %u already; this one counts",
			 o->key, o->at.line);
	optlist_replace(o, value, is_bare, at);
}

static void add_option(struct parse *p, const char *key, const char *value, bool is_bare)
{
	struct section *s = current(p);
	struct opt *o = s ? optlist_find(&s->opts, key) : NULL;

	if (!s)
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "%s: option before any section; a job starts with its name in brackets, "
			 "such as [train]",
			 key);
	else if (o)
		set_again(p, o, value, is_bare);
	else if (!optlist_add(&s->opts, key, value, is_bare, p->reader.at) && !p->is_full) {
		diag_add(p->d, DIAG_ERROR, p->reader.at, "more than %d options in a section",
			 OPTLIST_MAX);
		p->is_full = true;
	}
}

static int take_pair(void *user, const char *section, const char *name, const char *value)
{
	struct parse *p = user;

	(void)section; /* the table of headers knows more */
	(void)value;   /* as p->value does */
	if (strcmp(name, NEW_SECTION_KEY) == 0)
		add_section(p);
	else
		add_option(p, name, p->value ? p->value : "1", !p->value);
	return 1;
}

/* "key:" or "key: value" where no job has begun. */
static bool is_yaml(const struct parse *p, const char *line, size_t key_len)
{
	return !p->file->count && !p->has_header && key_len && line[key_len] == ':' &&
	       strchr(" \t", line[key_len + 1]); /* or its end */
}

static bool has_key(struct parse *p, const char *line, size_t key_len)
{
	if (is_yaml(p, line, key_len)) {
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "%.60s: YAML, and no job file; a workload of DLIO becomes one by "
			 "--import=dlio",
			 line);
		p->is_over = true;
		return false;
	}
	if (line[key_len] == ':') {
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "%.60s: ':' in the name; an option is written NAME=VALUE", line);
		return false;
	}
	if (key_len == 0)
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "%.60s: the option's name is missing before '='", line);
	else if (key_len > KEY_MAX)
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "%.60s...: a name of %zu bytes; no option's is longer than %d", line,
			 key_len, KEY_MAX);
	return key_len > 0 && key_len <= KEY_MAX;
}

/* What inih gets for one line; false when the line is refused. */
static bool write_line(struct parse *p, const char *line, char *to, int room)
{
	size_t size = (size_t)room;
	size_t key_len = strcspn(line, "=:");

	if (*line == '[') {
		mem_free(p->name);
		p->name = header_name(p, line);
		p->has_header = true;
		snprintf(to, size, "[%zu]\n", p->file->count);
		return true;
	}
	if (!has_key(p, line, key_len))
		return false;
	p->value = line[key_len] ? line + key_len + 1 : NULL;
	if (p->value)
		p->value += strspn(p->value, " \t");
	snprintf(to, size, "%.*s=1\n", (int)key_len, line);
	return true;
}

static char *read_line(char *to, int room, void *stream)
{
	struct parse *p = stream;
	const char *line = NULL;

	if (p->has_header) {
		p->has_header = false;
		snprintf(to, (size_t)room, "%s=1\n", NEW_SECTION_KEY);
		return to;
	}
	do {
		line = p->is_over ? NULL : jobreader_next(&p->reader);
		if (!line)
			return NULL;
	} while (!write_line(p, line, to, room));
	return to;
}

/*
 * One stream serves as inih's reader and as its user pointer; both want the parse. Nothing may be
 * left for inih to complain of.
 */
static void jobfile_parse(struct parse *p, const char *path)
{
	size_t errors = p->d->errors;
	int rc = ini_parse_stream(read_line, p, take_pair, p);

	if (rc && p->d->errors == errors)
		diag_add(p->d, DIAG_ERROR, (struct diag_place){ path, 0 }, "libinih gives up (%d)",
			 rc);
}

/* A later [global] adds to and overrides those above it. */
static void share_globals(struct jobfile *f)
{
	struct optlist *above = NULL;

	for (size_t i = 0; i < f->count; i++) {
		struct section *s = &f->sections[i];

		if (s->kind == SECTION_GLOBAL) {
			s->globals = mem_zalloc(sizeof(*s->globals));
			if (above)
				optlist_overlay(s->globals, above);
			optlist_overlay(s->globals, &s->opts);
			above = s->globals;
		}
		s->globals = above;
	}
}

static bool has_job(const struct jobfile *f)
{
	for (size_t i = 0; i < f->count; i++) {
		if (f->sections[i].kind == SECTION_JOB)
			return true;
	}
	return false;
}

bool jobfile_is_job_name(const char *name)
{
	struct section s = { .name = mem_strdup(name) };
	bool is_global = strcmp(name, "global") == 0;

	find_selector(&s);
	mem_free(s.name);
	return !is_global && s.kind != SECTION_VARIANT;
}

void jobfile_read(struct jobfile *f, const char *path, struct diag *d)
{
	struct parse p = { .file = f, .d = d };
	size_t errors = d->errors;

	memset(f, 0, sizeof(*f));
	if (jobreader_open(&p.reader, path, d) == 0)
		jobfile_parse(&p, p.reader.paths[0]);
	share_globals(f);
	if (!has_job(f) && d->errors == errors)
		diag_add(d, DIAG_ERROR, (struct diag_place){ p.reader.paths[0], 0 },
			 "no job; a job starts with its name in brackets, such as [train]");
	f->paths = p.reader.paths;
	f->path_count = p.reader.path_count;
	p.reader.paths = NULL;
	p.reader.path_count = 0;
	jobreader_close(&p.reader);
	mem_free(p.name);
}

void jobfile_fini(struct jobfile *f)
{
	for (size_t i = 0; i < f->count; i++) {
		struct section *s = &f->sections[i];

		if (s->kind == SECTION_GLOBAL) {
			optlist_forget(s->globals);
			mem_free(s->globals);
		}
		mem_free(s->name);
		optlist_fini(&s->opts);
	}
	mem_free(f->sections);
	for (size_t i = 0; i < f->path_count; i++)
		mem_free(f->paths[i]);
	mem_free(f->paths);
	memset(f, 0, sizeof(*f));
}
