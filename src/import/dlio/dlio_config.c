/* SPDX-License-Identifier: Apache-2.0 */
/* dlio_config.c - reads the values of a workload's YAML, and collects their faults. */
#include "import/dlio/dlio_config.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/util.h"

/* Bytes of a text that a message shows. */
#define SHOWN 60

/* ---- faults ---- */

void dlio_clean(struct buf *out, const char *text, size_t most)
{
	for (size_t i = 0; text[i]; i++) {
		unsigned char ch = (unsigned char)text[i];

		if (i == most) {
			buf_add(out, "...");
			return;
		}
		buf_addc(out, ch < 0x20 || ch == 0x7f ? '?' : (char)ch);
	}
}

void dlio_fault(struct dlio_config *c, const struct yaml_node *n, const char *path, const char *fmt,
		...)
{
	struct buf line = { 0 };
	char sentence[512];
	va_list ap;

	if (c->fault_count++ >= DLIO_FAULTS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(sentence, sizeof(sentence), fmt, ap);
	va_end(ap);
	if (n)
		yaml_place(&line, n);
	buf_addf(&line, "%s%.80s: %s", n ? ": " : "", path, sentence);
	dlio_clean(&c->faults, buf_str(&line), SIZE_MAX);
	buf_addc(&c->faults, '\n');
	buf_fini(&line);
}

/* ---- texts that are numbers ---- */

bool dlio_number(const struct yaml_node *n, double *number)
{
	char text[64], *end;
	size_t len = 0;
	const char *s;

	if (n->kind != YAML_TEXT || !n->is_plain)
		return false;
	for (s = n->text; *s; s++) {
		if (*s == '_')
			continue; /* YAML allows digit separators: 1_000 */
		if (len + 1 == sizeof(text))
			return false;
		text[len++] = *s;
	}
	text[len] = '\0';
	s = text + (*text == '-' || *text == '+');
	if (!len || s[strspn(s, "0123456789.eE+-")])
		return false;
	if (s[0] == '0' && s[1] && !s[strspn(s, "0123456789")])
		return false; /* 010 is octal */
	*number = strtod(text, &end);
	return end != text && !*end && isfinite(*number);
}

static bool boolean(const struct yaml_node *n, bool *is_true)
{
	if (n->kind != YAML_TEXT || !n->is_plain)
		return false;
	*is_true = dlio_has_word("true True TRUE yes Yes YES on On ON", n->text);
	return *is_true || dlio_has_word("false False FALSE no No NO off Off OFF", n->text);
}

/* ---- values by type ---- */

/* Add a fault with the value that is written and the values that are valid. */
static void dlio_config_wrong(struct dlio_config *c, const struct yaml_node *n, const char *path,
			      const char *wanted)
{
	const char *text = n->text ? n->text : "";
	struct yaml_node bare = *n;
	double number;
	bool is_true;

	bare.is_plain = true;
	if (n->kind != YAML_TEXT)
		dlio_fault(c, n, path, "this is a %s, but %s is needed",
			   n->kind == YAML_MAP ? "map" : "list", wanted);
	else if (strstr(text, "${"))
		dlio_fault(c, n, path,
			   "'%.*s' is for Hydra to resolve; write the value, or add "
			   "++workload.%.80s=VALUE",
			   SHOWN, text, path);
	else if (!n->is_plain && (dlio_number(&bare, &number) || boolean(&bare, &is_true)))
		dlio_fault(c, n, path, "'%.*s' in quotes is a string, but %s is needed", SHOWN,
			   text, wanted);
	else
		dlio_fault(c, n, path, "'%.*s' is not %s", SHOWN, text, wanted);
}

static void dlio_config_check_range(struct dlio_config *c, const struct dlio_key *k,
				    const struct yaml_node *n, double number)
{
	if (number < k->min)
		dlio_fault(c, n, k->path, "%.*s is less than %.10g", SHOWN, n->text, k->min);
	else if (number > k->max)
		dlio_fault(c, n, k->path,
			   "%.*s is more than %.16g, the most that mlgen accepts; add "
			   "++workload.%s=VALUE to change it",
			   SHOWN, n->text, k->max, k->path);
}

static void read_number(struct dlio_config *c, const struct dlio_key *k, const struct yaml_node *n,
			struct dlio_value *v)
{
	bool is_whole = k->type == DLIO_WHOLE || k->type == DLIO_WHOLES;

	if (dlio_number(n, &v->number) && (!is_whole || v->number == floor(v->number)))
		dlio_config_check_range(c, k, n, v->number);
	else
		dlio_config_wrong(c, n, k->path, is_whole ? "a whole number" : "a number");
}

static void read_boolean(struct dlio_config *c, const struct dlio_key *k, const struct yaml_node *n,
			 struct dlio_value *v)
{
	if (!boolean(n, &v->is_true))
		dlio_config_wrong(c, n, k->path, "True or False");
}

static void dlio_config_read_text(struct dlio_config *c, const struct dlio_key *k,
				  const struct yaml_node *n, struct dlio_value *v)
{
	if (n->kind == YAML_TEXT && !strstr(n->text, "${"))
		v->text = n->text;
	else
		dlio_config_wrong(c, n, k->path, "a string");
}

/* Drop a prefix of older names of formats and loaders: dlio_npz, dali_npz, dlio_pytorch. */
static const char *without_prefix(const char *word)
{
	if (strncmp(word, "dlio_", 5) == 0 || strncmp(word, "dali_", 5) == 0)
		return word + 5;
	return strncmp(word, "tf_", 3) == 0 ? word + 3 : word;
}

static void read_word(struct dlio_config *c, const struct dlio_key *k, const struct yaml_node *n,
		      struct dlio_value *v)
{
	bool is_true;

	if (n->kind != YAML_TEXT) {
		dlio_config_wrong(c, n, k->path, "a string");
	} else if (dlio_has_word(k->words, without_prefix(n->text))) {
		v->text = without_prefix(n->text);
	} else if (boolean(n, &is_true) && !is_true && dlio_has_word(k->words, "off")) {
		v->text = "off"; /* a boolean in YAML */
	} else {
		dlio_fault(c, n, k->path, "'%.*s' is not one of: %s", SHOWN, n->text, k->words);
	}
}

/* Read a parameter of a distribution. */
static double read_parameter(struct dlio_config *c, const struct dlio_key *k,
			     const struct yaml_node *map, const char *name)
{
	const struct yaml_node *n = yaml_find(map, name);
	struct dlio_value v = { 0 };

	if (n)
		read_number(c, k, n, &v);
	else
		dlio_fault(c, map, k->path, "%s is missing", name);
	return v.number;
}

static void read_distribution(struct dlio_config *c, const struct dlio_key *k,
			      const struct yaml_node *n, struct dlio_time *t)
{
	static const struct {
		const char *type;
		enum dlio_kind kind;
		const char *a, *b;
	} kinds[] = {
		{ "normal", DLIO_NORMAL, "mean", "stdev" },
		{ "uniform", DLIO_UNIFORM, "min", "max" },
		{ "gamma", DLIO_GAMMA, "shape", "scale" },
		{ "exponential", DLIO_EXPONENTIAL, "scale", NULL },
		{ "poisson", DLIO_POISSON, "lam", NULL },
	};
	const struct yaml_node *type = yaml_find(n, "type");

	if (!type) {
		t->kind = DLIO_NORMAL;
		t->a = n->count ? read_parameter(c, k, n, "mean") : 0;
		t->b = yaml_find(n, "stdev") ? read_parameter(c, k, n, "stdev") : 0;
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (type->kind != YAML_TEXT || strcmp(type->text, kinds[i].type) != 0)
			continue;
		t->kind = kinds[i].kind;
		t->a = read_parameter(c, k, n, kinds[i].a);
		t->b = kinds[i].b ? read_parameter(c, k, n, kinds[i].b) : 0;
		return;
	}
	dlio_config_wrong(c, type, k->path, "one of: normal uniform gamma exponential poisson");
}

static void read_time(struct dlio_config *c, const struct dlio_key *k, const struct yaml_node *n,
		      struct dlio_value *v)
{
	v->time = (struct dlio_time){ 0 };
	if (n->kind == YAML_MAP)
		read_distribution(c, k, n, &v->time);
	else if (dlio_number(n, &v->time.a))
		dlio_config_check_range(c, k, n, v->time.a);
	else
		dlio_config_wrong(c, n, k->path, "a number of seconds, or a map with mean or type");
}

/* Check the items of a list. They are not copied; later code reads them from the node. */
static void dlio_config_read_list(struct dlio_config *c, const struct dlio_key *k,
				  const struct yaml_node *n, struct dlio_value *v)
{
	if (n->kind != YAML_LIST)
		dlio_config_wrong(c, n, k->path, "a list");
	for (size_t i = 0; n->kind == YAML_LIST && i < n->count; i++) {
		if (k->type == DLIO_WHOLES)
			read_number(c, k, n->at[i].value, v);
		else if (n->at[i].value->kind != YAML_MAP)
			dlio_config_wrong(c, n->at[i].value, k->path, "a map");
	}
}

/* ---- values ---- */

static void read_value(struct dlio_config *c, const struct dlio_key *k, const struct yaml_node *n)
{
	static void (*const readers[])(struct dlio_config *, const struct dlio_key *,
				       const struct yaml_node *, struct dlio_value *) = {
		[DLIO_TEXT] = dlio_config_read_text,
		[DLIO_WORD] = read_word,
		[DLIO_BOOL] = read_boolean,
		[DLIO_WHOLE] = read_number,
		[DLIO_NUMBER] = read_number,
		[DLIO_TIME] = read_time,
		[DLIO_WHOLES] = dlio_config_read_list,
		[DLIO_MAPS] = dlio_config_read_list,
	};

	readers[k->type](c, k, n, &c->values[k - dlio_keys]);
}

/* ---- the tree ---- */

static void add_extra(struct dlio_config *c, const char *path, const struct yaml_node *n,
		      const char *why)
{
	vec_push(&c->extras,
		 (struct dlio_extra){ .path = mem_strdup(path), .node = n, .why = why });
}

/* Set the value of a key. If the YAML has both spellings, the newer spelling has precedence, as in
 * current DLIO. */
static void set_value(struct dlio_config *c, const struct dlio_key *k, const char *path,
		      const struct yaml_node *key, const struct yaml_node *n)
{
	struct dlio_value *v = &c->values[k - dlio_keys];
	bool is_newer = strcmp(path, k->path) == 0;

	if (v->node && !is_newer) {
		add_extra(c, path, n, "the newer spelling is also in the file");
		return;
	}
	if (v->node)
		add_extra(c, "(older spelling)", v->node, "the newer spelling is also in the file");
	read_value(c, k, n);
	v->node = n;
	v->key = key;
}

static void read_entry(struct dlio_config *c, const char *path, const struct yaml_node *key,
		       const struct yaml_node *n);

static void read_map(struct dlio_config *c, const char *prefix, const struct yaml_node *map)
{
	struct buf path = { 0 };

	for (size_t i = 0; i < map->count; i++) {
		buf_reset(&path);
		buf_addf(&path, "%s%s%s", prefix, *prefix ? "." : "", map->at[i].key->text);
		read_entry(c, buf_str(&path), map->at[i].key, map->at[i].value);
	}
	buf_fini(&path);
}

/* Read a key or a group of keys. The recursion is limited by the depth of the table of keys. */
static void read_entry(struct dlio_config *c, const char *path, const struct yaml_node *key,
		       const struct yaml_node *n)
{
	const struct dlio_key *k = dlio_key_find(path);
	bool is_group = dlio_is_group(path);

	/* In older YAML, model is a name, not a group. */
	if (k && !(is_group && n->kind == YAML_MAP)) {
		c->known += k->type != DLIO_NONE && strcmp(k->path, path) == 0;
		if (k->type == DLIO_NONE)
			add_extra(c, path, n, k->unused);
		else if (!yaml_is_null(n))
			set_value(c, k, path, key, n);
	} else if (is_group && n->kind == YAML_MAP) {
		read_map(c, path, n);
	} else if (is_group && !yaml_is_null(n)) {
		dlio_config_wrong(c, n, path, "a map of keys");
	} else if (!is_group) {
		add_extra(c, path, n, NULL);
	}
}

void dlio_config_read(struct dlio_config *c, const struct yaml_node *root)
{
	const struct yaml_node *workload = yaml_find(root, "workload");

	*c = (struct dlio_config){ 0 };
	for (const struct dlio_key *k = dlio_keys; k->path; k++) {
		struct yaml_node n = { .kind = YAML_TEXT, .is_plain = true };
		struct dlio_value *v = &c->values[k - dlio_keys];

		if (!k->def)
			continue;
		n.text = mem_strdup(k->def);
		read_value(c, k, &n);
		if (v->text)
			v->text = k->def;
		mem_free(n.text);
	}
	if (!workload || workload->kind != YAML_MAP) {
		read_map(c, "", root);
		return;
	}
	read_map(c, "", workload);
	for (size_t i = 0; i < root->count; i++)
		if (root->at[i].value != workload)
			add_extra(c, root->at[i].key->text, root->at[i].value,
				  "not part of the workload");
}

void dlio_config_fini(struct dlio_config *c)
{
	for (size_t i = 0; i < c->extras.count; i++)
		mem_free(c->extras.at[i].path);
	vec_fini(&c->extras);
	buf_fini(&c->faults);
}

const struct dlio_value *dlio_value(const struct dlio_config *c, const char *path)
{
	return &c->values[dlio_key_of(path) - dlio_keys];
}

bool dlio_is_set(const struct dlio_config *c, const char *path)
{
	return dlio_value(c, path)->node != NULL;
}

bool dlio_is_word(const struct dlio_config *c, const char *path, const char *words)
{
	const char *text = dlio_value(c, path)->text;

	return text && dlio_has_word(words, text);
}
