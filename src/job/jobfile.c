/* SPDX-License-Identifier: Apache-2.0 */
/* jobfile.c - parses a job file into its sections and their options. */
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

/* Free a list, but not its options, which belong to another list. */
static void optlist_release(struct optlist *list)
{
	mem_free(list->opts);
	memset(list, 0, sizeof(*list));
}

void optlist_fini(struct optlist *list)
{
	for (size_t i = 0; i < list->count; i++) {
		struct opt *o = list->opts[i];

		field_free_value(o->read_as, o->read);
		mem_free(o->key);
		mem_free(o->value);
		mem_free(o);
	}
	optlist_release(list);
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

/* Borrow the options of `from`: each replaces the option of its name, or is appended. */
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
 * inih, as distributions build it, truncates long lines and names, joins indented lines, cuts lines
 * at ';', reports neither lines nor new sections, and stops at bare keys. It therefore gets lines
 * in a reduced form. A header becomes "[N]", N its index, followed by NEW_SECTION_KEY, which no
 * file can contain. A key gets a dummy value; the real value is in struct parse, so a line may be
 * longer than inih allows.
 */
#define NEW_SECTION_KEY "\x01new"

/* Bytes of a key. Fits into a line of any inih, and no option has a longer name. */
#define KEY_MAX 100

struct parse {
	struct jobfile *file;
	struct jobreader reader;
	struct diag *d;
	bool has_header;   /* NEW_SECTION_KEY is the next line for inih */
	bool is_full;      /* the section has too many options, which was reported */
	bool is_over;      /* the rest of the file is skipped */
	char *name;        /* name in the last header */
	const char *value; /* value in the last line; NULL: a bare key */
};

/* Check the name of a section, which becomes part of a path: mlgen-data/NAME. */
static void jobfile_check_name(struct parse *p, const char *name)
{
	struct diag_place at = p->reader.at;

	if (!*name)
		diag_add(p->d, DIAG_ERROR, at, "[]: the name is missing");
	else if (strlen(name) > JOBFILE_NAME_MAX)
		diag_add(p->d, DIAG_ERROR, at, "a name of %zu bytes; the limit is %d", strlen(name),
			 JOBFILE_NAME_MAX);
	else if (*name == '.' || strchr(name, '/'))
		diag_add(p->d, DIAG_ERROR, at,
			 "[%s]: a name is part of paths; it cannot begin with '.' or contain '/'",
			 name);
	else if (strchr(name, '$'))
		diag_add(p->d, DIAG_ERROR, at,
			 "[%s]: a name cannot contain '$'; variables are not replaced in names",
			 name);
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

/* The name in a header. Parsing continues after a faulty header as if it were valid. */
static char *header_name(struct parse *p, const char *line)
{
	const char *end = strrchr(line, ']');
	char *name = NULL;

	if (!end)
		diag_add(p->d, DIAG_ERROR, p->reader.at, "%.60s: ']' is missing after the name",
			 line);
	else if (end[1])
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "'%.60s' after the header; write options on separate lines", end + 1);
	else if (jobreader_is_included(&p->reader))
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "%.60s: an included file can contain only options", line);
	name = trimmed(line + 1, end ? (size_t)(end - line) - 1 : strlen(line + 1));
	if (end && !end[1])
		jobfile_check_name(p, name);
	return name;
}

/* Set kind, selector and value of a variant. Options without MLGEN_SELECTS do not select: [x=y] is
 * the name of a job then. */
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

static bool is_twin(const struct section *a, const struct section *b)
{
	if (a->kind != b->kind || a->kind == SECTION_GLOBAL)
		return false;
	if (a->kind == SECTION_VARIANT)
		return a->parent == b->parent && a->selector == b->selector &&
		       strcasecmp(a->value, b->value) == 0;
	return strcmp(a->name, b->name) == 0;
}

static void add_section(struct parse *p)
{
	struct jobfile *f = p->file;
	struct section s = { .at = p->reader.at };
	size_t parents = f->count;

	if (f->count == JOBFILE_SECTIONS_MAX) {
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "more than %d sections; the rest of the file is ignored",
			 JOBFILE_SECTIONS_MAX);
		p->is_over = true;
		return;
	}
	s.name = p->name;
	p->name = NULL;
	s.kind = strcmp(s.name, "global") == 0 ? SECTION_GLOBAL : SECTION_JOB;
	find_selector(&s);
	while (parents && f->sections[parents - 1].kind == SECTION_VARIANT)
		parents--;
	if (s.kind == SECTION_VARIANT && !parents)
		diag_add(p->d, DIAG_ERROR, s.at,
			 "[%s]: belongs to the job above it, but no job precedes it", s.name);
	else if (s.kind == SECTION_VARIANT)
		s.parent = parents - 1;
	for (size_t i = 0; i < f->count; i++) {
		if (!is_twin(&f->sections[i], &s))
			continue;
		diag_add(p->d, DIAG_ERROR, s.at, "[%s]: line %u already has a section of this name",
			 s.name, f->sections[i].at.line);
		break;
	}
	f->sections = mem_realloc(f->sections, (f->count + 1) * sizeof(*f->sections));
	f->sections[f->count++] = s;
	p->is_full = false;
}

static void add_option(struct parse *p, const char *key)
{
	struct jobfile *f = p->file;
	struct section *s = f->count ? &f->sections[f->count - 1] : NULL;
	struct opt *o = s ? optlist_find(&s->opts, key) : NULL;
	struct diag_place at = p->reader.at;
	const char *value = p->value ? p->value : "1";

	if (!s) {
		diag_add(p->d, DIAG_ERROR, at,
			 "%s: option before any section; a job starts with its name in brackets, "
			 "such as [train]",
			 key);
	} else if (o) {
		/* The last value wins, as in fio, which does not warn. */
		if (strcmp(o->at.file, at.file) == 0)
			diag_add(p->d, DIAG_WARNING, at,
				 "%s: already set in line %u; this line takes effect", o->key,
				 o->at.line);
		optlist_replace(o, value, !p->value, at);
	} else if (!optlist_add(&s->opts, key, value, !p->value, at) && !p->is_full) {
		diag_add(p->d, DIAG_ERROR, at, "more than %d options in a section", OPTLIST_MAX);
		p->is_full = true;
	}
}

/* inih's handler. The section and the value are those of the reduced form, and unused. */
static int handle_pair(void *user, const char *section, const char *name, const char *value)
{
	struct parse *p = user;

	(void)section, (void)value;
	if (strcmp(name, NEW_SECTION_KEY) == 0)
		add_section(p);
	else
		add_option(p, name);
	return 1;
}

static bool has_key(struct parse *p, const char *line, size_t key_len)
{
	/* "key:" or "key: value", before any section; strchr() also finds the end of the line. */
	if (!p->file->count && !p->has_header && key_len && line[key_len] == ':' &&
	    strchr(" \t", line[key_len + 1])) {
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "%.60s: YAML, not a job file; --import=dlio converts a DLIO workload",
			 line);
		p->is_over = true;
		return false;
	}
	if (line[key_len] == ':') {
		diag_add(p->d, DIAG_ERROR, p->reader.at, "%.60s: ':' in the name; write NAME=VALUE",
			 line);
		return false;
	}
	if (key_len == 0)
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "%.60s: the option's name is missing before '='", line);
	else if (key_len > KEY_MAX)
		diag_add(p->d, DIAG_ERROR, p->reader.at,
			 "%.60s...: a name of %zu bytes; option names have at most %d", line,
			 key_len, KEY_MAX);
	return key_len > 0 && key_len <= KEY_MAX;
}

/* inih's reader, like fgets(): print the reduced form of the next line that has no fault. */
static char *read_line(char *to, int room, void *stream)
{
	struct parse *p = stream;
	size_t size = (size_t)room, key_len;
	const char *line = NULL;

	if (p->has_header) {
		p->has_header = false;
		snprintf(to, size, "%s=1\n", NEW_SECTION_KEY);
		return to;
	}
	do {
		line = p->is_over ? NULL : jobreader_next(&p->reader);
		if (!line)
			return NULL;
		key_len = strcspn(line, "=:");
	} while (*line != '[' && !has_key(p, line, key_len));
	if (*line == '[') {
		mem_free(p->name);
		p->name = header_name(p, line);
		p->has_header = true;
		snprintf(to, size, "[%zu]\n", p->file->count);
		return to;
	}
	p->value = line[key_len] ? line + key_len + 1 : NULL;
	if (p->value)
		p->value += strspn(p->value, " \t");
	snprintf(to, size, "%.*s=1\n", (int)key_len, line);
	return to;
}

/* Set the globals of each section. A [global] adds to and overrides the [global]s above. */
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
	bool has_job = false;
	int rc = 0;

	memset(f, 0, sizeof(*f));
	if (jobreader_open(&p.reader, path, d) == 0)
		rc = ini_parse_stream(read_line, &p, handle_pair, &p);
	/* inih finds no faults of its own in reduced lines. */
	if (rc && d->errors == errors)
		diag_add(d, DIAG_ERROR, (struct diag_place){ p.reader.paths[0], 0 },
			 "libinih failed (%d)", rc);
	share_globals(f);
	for (size_t i = 0; i < f->count; i++)
		has_job |= f->sections[i].kind == SECTION_JOB;
	if (!has_job && d->errors == errors)
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
			optlist_release(s->globals);
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
