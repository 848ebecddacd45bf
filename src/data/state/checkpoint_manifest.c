/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_manifest.c - the JSON document in a checkpoint's directory: read, compare, replace;
 * and who writes it. */
#include "data/state/state_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "base/buf.h"
#include "base/files.h"
#include "base/mem.h"
#include "base/units.h"
#include "base/util.h"

/* ---- who writes a checkpoint, and whether somebody else still needs it ---- */

void checkpoint_sign(struct checkpoint *k, const struct process *self)
{
	k->writer = *self;
	k->begun_s = (uint64_t)time(NULL);
}

static json_t *checkpoint_writer_encode(const struct checkpoint *k)
{
	const struct process *w = &k->writer;

	/* clang-format off */
	return json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I}",
			 "host", w->host,
			 "machine_id", w->machine_id,
			 "boot_id", w->boot_id,
			 "pid_namespace", (json_int_t)w->pid_namespace,
			 "pid", (json_int_t)w->pid,
			 "start_ticks", (json_int_t)w->start_ticks,
			 "begun", (json_int_t)k->begun_s);
	/* clang-format on */
}

static void get_text(const json_t *from, const char *key, char *to, size_t bytes)
{
	const char *s = json_string_value(json_object_get(from, key));

	snprintf(to, bytes, "%s", s ? s : "");
}

static uint64_t get_count(const json_t *from, const char *key)
{
	json_int_t n = json_integer_value(json_object_get(from, key));

	return n > 0 ? (uint64_t)n : 0;
}

static void checkpoint_writer_decode(const json_t *from, struct checkpoint *k)
{
	struct process *w = &k->writer;

	get_text(from, "host", w->host, sizeof(w->host));
	get_text(from, "machine_id", w->machine_id, sizeof(w->machine_id));
	get_text(from, "boot_id", w->boot_id, sizeof(w->boot_id));
	w->pid_namespace = get_count(from, "pid_namespace");
	w->pid = get_count(from, "pid");
	w->start_ticks = get_count(from, "start_ticks");
	k->begun_s = get_count(from, "begun");
}

bool checkpoint_is_left(const struct checkpoints *c, const struct checkpoint *k)
{
	if (c->replaces)
		return false;
	if (k->is_complete && k->is_of_other_ranks)
		return true;
	if (process_is_same(&k->writer, &c->self))
		return false;
	/* Of those who did not say it nobody waits for a whole one. */
	if (k->is_complete && !k->writer.pid)
		return false;
	return process_look(&k->writer, &c->self) != PROCESS_GONE;
}

static void word_age(const struct checkpoint *k, char *to, size_t bytes)
{
	uint64_t now_s = (uint64_t)time(NULL);
	uint64_t age_s = now_s > k->begun_s ? now_s - k->begun_s : 0;
	char text[UNITS_TEXT_BYTES];

	units_human_time(text, age_s * NS_PER_S);
	snprintf(to, bytes, "began it %s ago", text);
}

const char *checkpoint_word_writer(const struct checkpoints *c, const struct checkpoint *k,
				   char *to, size_t bytes)
{
	const struct process *w = &k->writer;
	char age[64];

	if (k->is_complete && k->is_of_other_ranks) {
		snprintf(to, bytes, "has other ranks of the same state");
		return to;
	}
	if (!w->pid) {
		snprintf(to, bytes, "does not say which process writes it");
		return to;
	}
	word_age(k, age, sizeof(age));
	snprintf(to, bytes, "is that of pid %" PRIu64 " on host %.64s, which %s%s", w->pid, w->host,
		 age,
		 process_look(w, &c->self) == PROCESS_RUNS ? " and still runs"
							   : " and may still run");
	return to;
}

/* ---- the document ---- */

#define CHECKPOINT_VERSION 1
/* It names the files of a million ranks, if need be. */
#define BYTES_MAX (UINT64_C(1) << 30)
#define FILE_NAME_BYTES 256

/* Keys are the options' names: differences are told by them. */

static int put_count(json_t *to, const char *key, uint64_t n)
{
	return json_object_set_new(to, key, json_integer((json_int_t)n));
}

static int put_transformer(json_t *to, const struct job *j)
{
	return put_count(to, "model_layers", j->model_layers) |
	       put_count(to, "model_hidden", j->model_hidden) |
	       put_count(to, "model_ffn", j->model_ffn) |
	       put_count(to, "model_heads", j->model_heads) |
	       put_count(to, "model_kv_heads", j->model_kv_heads) |
	       put_count(to, "model_vocabulary", j->model_vocabulary) |
	       put_count(to, "model_bytes", j->model_bytes) |
	       put_count(to, "optimizer_bytes", j->optimizer_bytes);
}

/* A list is as long as it likes: its bytes and a checksum stand for it. */
static int put_list(json_t *to, const struct state *s)
{
	char text[64];
	struct state_group g;
	struct state_tensor t;

	uLong crc = crc32(0, NULL, 0);

	state_group(s, state_local(s, 0), 0, &g);
	for (uint64_t i = 0; i < g.tensors; i++) {
		int n;

		state_tensor(s, &g, i, &t);
		n = snprintf(text, sizeof(text), " %" PRIu64, t.bytes);
		crc = crc32(crc, (const Bytef *)t.name, (uInt)strlen(t.name));
		crc = crc32(crc, (const Bytef *)text, (uInt)n);
	}
	snprintf(text, sizeof(text), "%" PRIu64 " tensors of %" PRIu64 " bytes (%08lx)", g.tensors,
		 g.bytes, crc);
	return json_object_set_new(to, "tensor_sizes", json_string(text));
}

static int put_pattern(json_t *to, const struct job *j)
{
	static const char *const names[] = {
		[PATTERN_UNET3D] = "unet3d", [PATTERN_BERT] = "bert", [PATTERN_DLRM] = "dlrm"
	};

	return json_object_set_new(to, "checkpoint_pattern",
				   json_string(names[j->checkpoint_pattern])) |
	       put_count(to, "checkpoint_size", j->checkpoint_size_bytes);
}

static int put_model(json_t *to, const struct state *s)
{
	switch (s->kind) {
	case STATE_TRANSFORMER:
		return put_transformer(to, s->job);
	case STATE_SIZE:
		return put_count(to, "checkpoint_size", s->job->checkpoint_size_bytes);
	case STATE_LIST:
		return put_list(to, s);
	case STATE_PATTERN:
		return put_pattern(to, s->job);
	}
	return -1;
}

/* What the files' names and sizes, and the order of calls, follow from. */
static json_t *structure_of(const struct shard_set *set)
{
	const struct state *s = set->state;
	json_t *to = json_object();
	int r = put_model(to, s) | put_count(to, "ranks", s->ranks) |
		put_count(to, "tensor_parallel", s->tensor_parallel) |
		put_count(to, "pipeline_parallel", s->pipeline_parallel) |
		put_count(to, "data_parallel", s->data_parallel) |
		put_count(to, "zero_stage", s->zero_stage) |
		json_object_set_new(to, "scale", json_real(s->job->scale)) |
		json_object_set_new(to, "checkpoint_layout", json_string(set->layout->name)) |
		json_object_set_new(to, "access",
				    json_string(set->is_plain ? "plain" : "framework"));

	/* As in manifests from before there was one. */
	if (s->job->checkpoint_archive && *s->job->checkpoint_archive)
		r |= json_object_set_new(to, "checkpoint_archive",
					 json_string(s->job->checkpoint_archive));
	if (r == 0)
		return to;
	json_decref(to);
	return NULL;
}

/* What the bytes in them follow from besides. */
static json_t *content_of(const struct shard_set *set)
{
	json_t *to = json_object();
	int r = put_count(to, "randseed", set->state->job->randseed);

	if (set->is_plain)
		r |= put_count(to, "bs", set->bs);
	else
		r |= put_count(to, "direct", set->direct);
	r |= put_count(to, "span_bytes", content_span_bytes(set->content));
	if (r == 0)
		return to;
	json_decref(to);
	return NULL;
}

/* "0-7,64" */
static json_t *ranks_of(const struct state *s)
{
	struct buf text = { 0 };
	json_t *to;

	for (size_t i = 0; i < s->local.count; i++) {
		const struct range *r = &s->local.items[i];

		buf_addf(&text, "%s%" PRIu64, i ? "," : "", r->first);
		if (r->last > r->first)
			buf_addf(&text, "-%" PRIu64, r->last);
	}
	to = json_string(buf_str(&text));
	buf_fini(&text);
	return to;
}

static json_t *files_of(const struct shard_set *set, const struct checkpoint *k)
{
	json_t *list = json_array();
	char name[FILE_NAME_BYTES];
	struct shard f;

	for (uint64_t i = 0; i < state_locals(set->state); i++) {
		uint64_t rank = state_local(set->state, i);
		uint64_t n = shard_files(set, rank);

		for (uint64_t file = 0; file < n; file++) {
			shard_init(&f, set, rank, file, k->number);
			shard_name(&f, name, sizeof(name));
			json_array_append_new(list, json_string(name));
		}
	}
	return list;
}

static json_t *checkpoint_manifest_encode(const struct shard_set *set, const struct checkpoint *k,
					  bool is_complete)
{
	/* clang-format off */
	return json_pack("{s:i, s:b, s:I, s:I, s:o, s:o, s:o, s:o, s:o}",
			 "version", CHECKPOINT_VERSION,
			 "complete", (int)is_complete,
			 "number", (json_int_t)k->number,
			 "bytes", (json_int_t)k->bytes,
			 "writer", checkpoint_writer_encode(k),
			 "made_from", structure_of(set),
			 "content", content_of(set),
			 "ranks", ranks_of(set->state),
			 "files", files_of(set, k));
	/* clang-format on */
}

int checkpoint_manifest_store(int folder_fd, const struct shard_set *set,
			      const struct checkpoint *k, bool is_complete)
{
	json_t *root = checkpoint_manifest_encode(set, k, is_complete);
	int r = root ? jsonfile_replace(folder_fd, CHECKPOINT_MANIFEST, root, is_complete)
		     : -ENOMEM;

	json_decref(root);
	return r;
}

/* Reading */

static int checkpoint_manifest_fail(char *why, size_t why_bytes, int rc, const char *what)
{
	snprintf(why, why_bytes, "%s", what);
	return rc;
}

static bool read_count(const json_t *root, const char *key, uint64_t *out)
{
	const json_t *v = json_object_get(root, key);

	if (!json_is_integer(v) || json_integer_value(v) < 0)
		return false;
	*out = (uint64_t)json_integer_value(v);
	return true;
}

static bool has_all(const json_t *root)
{
	uint64_t n;

	return read_count(root, "number", &n) && read_count(root, "bytes", &n) &&
	       json_is_boolean(json_object_get(root, "complete")) &&
	       json_is_object(json_object_get(root, "made_from")) &&
	       json_is_object(json_object_get(root, "content")) &&
	       json_is_string(json_object_get(root, "ranks")) &&
	       json_is_array(json_object_get(root, "files"));
}

static int checkpoint_manifest_parse(FILE *from, json_t **out, char *why, size_t why_bytes)
{
	json_error_t error;
	json_t *root = json_loadf(from, JSON_REJECT_DUPLICATES, &error);
	uint64_t version;
	int rc = 0;

	if (!root)
		return checkpoint_manifest_fail(why, why_bytes, -EINVAL,
						CHECKPOINT_MANIFEST " is cut short or damaged");
	if (!read_count(root, "version", &version))
		rc = checkpoint_manifest_fail(why, why_bytes, -EINVAL,
					      CHECKPOINT_MANIFEST " is no manifest");
	else if (version != CHECKPOINT_VERSION)
		rc = checkpoint_manifest_fail(why, why_bytes, -EINVAL,
					      CHECKPOINT_MANIFEST " was written by another mlgen");
	else if (!has_all(root))
		rc = checkpoint_manifest_fail(why, why_bytes, -EINVAL,
					      CHECKPOINT_MANIFEST " lacks a value");
	if (rc < 0)
		json_decref(root);
	else
		*out = root;
	return rc;
}

/* With more flags for open(2). */
static int checkpoint_manifest_load(int folder_fd, int flags, json_t **out, char *why,
				    size_t why_bytes)
{
	const char *wrong;
	FILE *f;
	int rc = filekind_open(&f, folder_fd, CHECKPOINT_MANIFEST, flags, BYTES_MAX, &wrong);

	*out = NULL;
	if (rc == -ENOENT || rc == -ENOTDIR)
		return checkpoint_manifest_fail(why, why_bytes, -ENOENT,
						"it has no " CHECKPOINT_MANIFEST);
	if (rc < 0) {
		snprintf(why, why_bytes, "%s%s%s", CHECKPOINT_MANIFEST, wrong ? " " : ": ",
			 wrong ? wrong : strerror(-rc));
		return rc;
	}
	rc = checkpoint_manifest_parse(f, out, why, why_bytes);
	fclose(f);
	return rc;
}

/* A value for a message. */
static void checkpoint_manifest_put_text(char *out, size_t bytes, const json_t *v)
{
	if (json_is_string(v))
		snprintf(out, bytes, "%s", json_string_value(v));
	else if (json_is_integer(v))
		snprintf(out, bytes, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	else if (json_is_real(v))
		snprintf(out, bytes, "%g", json_real_value(v));
	else
		snprintf(out, bytes, "none");
}

/* One that is missing in either is "none". */
static bool is_equal_at(const char *key, const json_t *ours, const json_t *theirs, char *how,
			size_t how_bytes)
{
	json_t *mine = json_object_get(ours, key);
	json_t *other = json_object_get(theirs, key);
	char here[128], there[128];

	if (mine && other && json_equal(mine, other))
		return true;
	checkpoint_manifest_put_text(here, sizeof(here), mine);
	checkpoint_manifest_put_text(there, sizeof(there), other);
	snprintf(how, how_bytes, "%s: %s there, %s in the job", key, there, here);
	return false;
}

static bool checkpoint_manifest_is_equal(json_t *ours, json_t *theirs, char *how, size_t how_bytes)
{
	const char *key;
	json_t *value;

	json_object_foreach(
		ours, key, value) if (!is_equal_at(key, ours, theirs, how, how_bytes)) return false;
	json_object_foreach(theirs, key, value) if (!is_equal_at(key, ours, theirs, how,
								 how_bytes)) return false;
	return true;
}

/* Takes `ours` over. */
static bool is_same(json_t *ours, json_t *theirs, char *how, size_t how_bytes)
{
	bool same = ours && checkpoint_manifest_is_equal(ours, theirs, how, how_bytes);

	json_decref(ours);
	return same;
}

static bool has_ranks(const char *list, const struct state *s, char *how, size_t how_bytes)
{
	struct ranges saved = { 0 };
	bool has = ranges_parse(&saved, list, s->ranks, "ranks", NULL) == 0;

	for (uint64_t i = 0; has && i < state_locals(s); i++)
		has = ranges_has(&saved, state_local(s, i));
	if (!has)
		snprintf(how, how_bytes, "checkpoint_ranks: %s there, others in the job", list);
	ranges_fini(&saved);
	return has;
}

/* Is none of the local ranks in a list that is of the same state? */
static bool is_of_others(const json_t *root, const struct shard_set *set)
{
	const char *list = json_string_value(json_object_get(root, "ranks"));
	const struct state *s = set->state;
	struct ranges saved = { 0 };
	char how[256];
	bool is_one;

	if (!is_same(structure_of(set), json_object_get(root, "made_from"), how, sizeof(how)) ||
	    ranges_parse(&saved, list, s->ranks, "ranks", NULL) < 0)
		return false;
	is_one = true;
	for (uint64_t i = 0; is_one && i < state_locals(s); i++)
		is_one = !ranges_has(&saved, state_local(s, i));
	ranges_fini(&saved);
	return is_one;
}

static void checkpoint_manifest_decode(const json_t *root, const struct shard_set *set,
				       struct checkpoint *k)
{
	read_count(root, "number", &k->number);
	read_count(root, "bytes", &k->bytes);
	k->is_complete = json_is_true(json_object_get(root, "complete"));
	k->is_of_other_ranks = set && is_of_others(root, set);
	checkpoint_writer_decode(json_object_get(root, "writer"), k);
}

int checkpoint_manifest_look(int folder_fd, const struct shard_set *set, struct checkpoint *k,
			     char *why, size_t why_bytes)
{
	json_t *root;
	int rc = checkpoint_manifest_load(folder_fd, 0, &root, why, why_bytes);

	if (rc < 0)
		return rc;
	checkpoint_manifest_decode(root, set, k);
	json_decref(root);
	return 0;
}

bool checkpoint_manifest_fits(int folder_fd, const struct shard_set *set, char *how,
			      size_t how_bytes)
{
	json_t *root;
	bool fits;

	if (checkpoint_manifest_load(folder_fd, 0, &root, how, how_bytes) < 0)
		return false;
	fits = is_same(structure_of(set), json_object_get(root, "made_from"), how, how_bytes) &&
	       has_ranks(json_string_value(json_object_get(root, "ranks")), set->state, how,
			 how_bytes);
	if (fits && set->state->job->verify != VERIFY_NONE)
		fits = is_same(content_of(set), json_object_get(root, "content"), how, how_bytes);
	json_decref(root);
	return fits;
}

int checkpoint_manifest_mark(int folder_fd, const struct process *by)
{
	struct checkpoint k = { 0 };
	char why[128];
	json_t *root;
	int rc = checkpoint_manifest_load(folder_fd, O_NOFOLLOW, &root, why, sizeof(why));

	if (rc < 0)
		return rc;
	checkpoint_sign(&k, by);
	rc = json_object_set_new(root, "complete", json_false()) |
	     json_object_set_new(root, "writer", checkpoint_writer_encode(&k));
	rc = rc ? -ENOMEM : jsonfile_replace(folder_fd, CHECKPOINT_MANIFEST, root, false);
	json_decref(root);
	return rc;
}

static int take_names(struct checkpoint_removal *r, const json_t *list, char *why, size_t why_bytes)
{
	r->names = mem_array(json_array_size(list), sizeof(char *));
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *s = json_string_value(json_array_get(list, i));

		if (!s || !shard_is_name(s)) {
			snprintf(why, why_bytes,
				 "%s names '%.60s', which is no file of a checkpoint",
				 CHECKPOINT_MANIFEST, s ? s : "");
			return -EPERM;
		}
		r->names[r->count++] = mem_strdup(s);
	}
	return 0;
}

int checkpoint_manifest_files(int folder_fd, const struct shard_set *set,
			      struct checkpoint_removal *r, char *why, size_t why_bytes)
{
	json_t *root;
	int rc = checkpoint_manifest_load(folder_fd, O_NOFOLLOW, &root, why, why_bytes);

	if (rc < 0)
		return rc == -ENOENT ? rc : -EPERM;
	checkpoint_manifest_decode(root, set, &r->now);
	rc = take_names(r, json_object_get(root, "files"), why, why_bytes);
	json_decref(root);
	return rc;
}
