/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_manifest.c - read, compare and write the manifest of a checkpoint, and its writer. */
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

/* ---- the process that writes a checkpoint, and whether another run still needs it ---- */

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

bool checkpoint_is_protected(const struct checkpoints *c, const struct checkpoint *k)
{
	if (c->replaces)
		return false;
	if (k->is_complete && k->is_of_other_ranks)
		return true;
	if (process_is_same(&k->writer, &c->self))
		return false;
	/* A complete checkpoint without a writer no longer needs one. */
	if (k->is_complete && !k->writer.pid)
		return false;
	return process_check(&k->writer, &c->self) != PROCESS_GONE;
}

const char *checkpoint_print_writer(const struct checkpoints *c, const struct checkpoint *k,
				    char *to, size_t bytes)
{
	const struct process *w = &k->writer;
	uint64_t now_s = (uint64_t)time(NULL);
	uint64_t age_s = now_s > k->begun_s ? now_s - k->begun_s : 0;
	char age[UNITS_TEXT_BYTES];

	if (k->is_complete && k->is_of_other_ranks) {
		snprintf(to, bytes, "has other ranks of the same state");
		return to;
	}
	if (!w->pid) {
		snprintf(to, bytes, "does not say which process is writing it");
		return to;
	}
	units_human_time(age, age_s * NS_PER_S);
	snprintf(to, bytes, "belongs to pid %" PRIu64 " on host %.64s, which began it %s ago%s",
		 w->pid, w->host, age,
		 process_check(w, &c->self) == PROCESS_RUNS ? " and still runs"
							    : " and may still run");
	return to;
}

/* ---- writing ---- */

#define CHECKPOINT_VERSION 1
/* Largest manifest: room for the files of a million ranks. */
#define BYTES_MAX (UINT64_C(1) << 30)
#define FILE_NAME_BYTES 256

/* Keys are names of options, because messages name differences by their key. */

static int add_count(json_t *to, const char *key, uint64_t n)
{
	return json_object_set_new(to, key, json_integer((json_int_t)n));
}

/* A list may be long: its size and a checksum stand for it. */
static int add_list(json_t *to, const struct state *s)
{
	char text[64];
	struct state_group g;
	struct state_tensor t;

	uLong crc = crc32(0, NULL, 0);

	state_group(s, state_local_rank(s, 0), 0, &g);
	for (uint64_t i = 0; i < g.tensors; i++) {
		state_tensor(s, &g, i, &t);
		int n = snprintf(text, sizeof(text), " %" PRIu64, t.bytes);
		crc = crc32(crc, (const Bytef *)t.name, (uInt)strlen(t.name));
		crc = crc32(crc, (const Bytef *)text, (uInt)n);
	}
	snprintf(text, sizeof(text), "%" PRIu64 " tensors of %" PRIu64 " bytes (%08lx)", g.tensors,
		 g.bytes, crc);
	return json_object_set_new(to, "tensor_sizes", json_string(text));
}

static int add_model(json_t *to, const struct state *s)
{
	static const char *const patterns[] = {
		[PATTERN_UNET3D] = "unet3d", [PATTERN_BERT] = "bert", [PATTERN_DLRM] = "dlrm"
	};
	const struct job *j = s->job;

	switch (s->kind) {
	case STATE_TRANSFORMER:
		return add_count(to, "model_layers", j->model_layers) |
		       add_count(to, "model_hidden", j->model_hidden) |
		       add_count(to, "model_ffn", j->model_ffn) |
		       add_count(to, "model_heads", j->model_heads) |
		       add_count(to, "model_kv_heads", j->model_kv_heads) |
		       add_count(to, "model_vocabulary", j->model_vocabulary) |
		       add_count(to, "model_bytes", j->model_bytes) |
		       add_count(to, "optimizer_bytes", j->optimizer_bytes);
	case STATE_SIZE:
		return add_count(to, "checkpoint_size", j->checkpoint_size_bytes);
	case STATE_LIST:
		return add_list(to, s);
	case STATE_PATTERN:
		return json_object_set_new(to, "checkpoint_pattern",
					   json_string(patterns[j->checkpoint_pattern])) |
		       add_count(to, "checkpoint_size", j->checkpoint_size_bytes);
	}
	return -1;
}

/* Everything that decides the files' names and sizes, and the order of calls. */
static json_t *structure_json(const struct shard_set *set)
{
	const struct state *s = set->state;
	json_t *to = json_object();
	int r = add_model(to, s) | add_count(to, "ranks", s->ranks) |
		add_count(to, "tensor_parallel", s->tensor_parallel) |
		add_count(to, "pipeline_parallel", s->pipeline_parallel) |
		add_count(to, "data_parallel", s->data_parallel) |
		add_count(to, "zero_stage", s->zero_stage) |
		json_object_set_new(to, "scale", json_real(s->job->scale)) |
		json_object_set_new(to, "checkpoint_layout", json_string(set->layout->name)) |
		json_object_set_new(to, "access",
				    json_string(set->is_plain ? "plain" : "framework"));

	/* Manifests of versions without this option do not have the key. */
	if (s->job->checkpoint_archive && *s->job->checkpoint_archive)
		r |= json_object_set_new(to, "checkpoint_archive",
					 json_string(s->job->checkpoint_archive));
	if (r == 0)
		return to;
	json_decref(to);
	return NULL;
}

/* Everything else that decides the bytes in the files. */
static json_t *content_json(const struct shard_set *set)
{
	json_t *to = json_object();
	int r = add_count(to, "randseed", set->state->job->randseed);

	if (set->is_plain)
		r |= add_count(to, "bs", set->bs);
	else
		r |= add_count(to, "direct", set->direct);
	r |= add_count(to, "span_bytes", content_span_bytes(set->content));
	if (r == 0)
		return to;
	json_decref(to);
	return NULL;
}

/* "0-7,64" */
static json_t *ranks_json(const struct state *s)
{
	struct buf text = { 0 };

	for (size_t i = 0; i < s->local.count; i++) {
		const struct range *r = &s->local.items[i];

		buf_addf(&text, "%s%" PRIu64, i ? "," : "", r->first);
		if (r->last > r->first)
			buf_addf(&text, "-%" PRIu64, r->last);
	}
	json_t *to = json_string(buf_str(&text));
	buf_fini(&text);
	return to;
}

static json_t *files_json(const struct shard_set *set, const struct checkpoint *k)
{
	struct shard_cursor at = { 0 };
	json_t *list = json_array();
	char name[FILE_NAME_BYTES];
	struct shard f;

	while (shard_next_file(&f, set, &at, k->number)) {
		shard_name(&f, name, sizeof(name));
		json_array_append_new(list, json_string(name));
	}
	return list;
}

int checkpoint_manifest_store(int folder_fd, const struct shard_set *set,
			      const struct checkpoint *k, bool is_complete)
{
	/* clang-format off */
	json_t *root = json_pack("{s:i, s:b, s:I, s:I, s:o, s:o, s:o, s:o, s:o}",
				 "version", CHECKPOINT_VERSION,
				 "complete", (int)is_complete,
				 "number", (json_int_t)k->number,
				 "bytes", (json_int_t)k->bytes,
				 "writer", checkpoint_writer_encode(k),
				 "made_from", structure_json(set),
				 "content", content_json(set),
				 "ranks", ranks_json(set->state),
				 "files", files_json(set, k));
	/* clang-format on */
	int r = root ? jsonfile_replace(folder_fd, CHECKPOINT_MANIFEST, root, is_complete)
		     : -ENOMEM;

	json_decref(root);
	return r;
}

/* ---- reading ---- */

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
						CHECKPOINT_MANIFEST " is incomplete or damaged");
	if (!read_count(root, "version", &version))
		rc = checkpoint_manifest_fail(why, why_bytes, -EINVAL,
					      CHECKPOINT_MANIFEST " is not a manifest");
	else if (version != CHECKPOINT_VERSION)
		rc = checkpoint_manifest_fail(why, why_bytes, -EINVAL,
					      CHECKPOINT_MANIFEST
					      " was written by another version of mlgen");
	else if (!has_all(root))
		rc = checkpoint_manifest_fail(why, why_bytes, -EINVAL,
					      CHECKPOINT_MANIFEST " lacks a value");
	if (rc < 0)
		json_decref(root);
	else
		*out = root;
	return rc;
}

/* Open and parse a manifest; `flags` are further flags of open(2). 0, or -errno with `why`. */
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

static void print_value(char *out, size_t bytes, const json_t *v)
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

/* A message shows a missing value as "none". */
static bool is_same_at(const char *key, const json_t *ours, const json_t *theirs, char *how,
		       size_t how_bytes)
{
	json_t *mine = json_object_get(ours, key);
	json_t *other = json_object_get(theirs, key);
	char here[128], there[128];

	if (mine && other && json_equal(mine, other))
		return true;
	print_value(here, sizeof(here), mine);
	print_value(there, sizeof(there), other);
	snprintf(how, how_bytes, "%s: %s in the checkpoint, %s in the job", key, there, here);
	return false;
}

/* Compare two objects and free `ours`; `how` gets the first difference. `ours` NULL counts as
 * different. */
static bool is_same(json_t *ours, json_t *theirs, char *how, size_t how_bytes)
{
	bool same = ours != NULL;
	const char *key;
	json_t *value;

	json_object_foreach(ours, key, value)
	{
		same = same && is_same_at(key, ours, theirs, how, how_bytes);
	}
	json_object_foreach(theirs, key, value)
	{
		same = same && is_same_at(key, ours, theirs, how, how_bytes);
	}
	json_decref(ours);
	return same;
}

/* Are all local ranks in the list of the manifest (is_saved), or none of them? */
static bool are_locals_saved(const json_t *root, const struct state *s, bool is_saved)
{
	const char *list = json_string_value(json_object_get(root, "ranks"));
	struct ranges saved = { 0 };
	bool are = ranges_parse(&saved, list, s->ranks, "ranks", NULL) == 0;

	for (uint64_t i = 0; are && i < state_local_count(s); i++)
		are = ranges_has(&saved, state_local_rank(s, i)) == is_saved;
	ranges_fini(&saved);
	return are;
}

static void checkpoint_manifest_decode(const json_t *root, const struct shard_set *set,
				       struct checkpoint *k)
{
	char how[256];

	read_count(root, "number", &k->number);
	read_count(root, "bytes", &k->bytes);
	k->is_complete = json_is_true(json_object_get(root, "complete"));
	k->is_of_other_ranks = set &&
			       is_same(structure_json(set), json_object_get(root, "made_from"), how,
				       sizeof(how)) &&
			       are_locals_saved(root, set->state, false);
	checkpoint_writer_decode(json_object_get(root, "writer"), k);
}

int checkpoint_manifest_read(int folder_fd, const struct shard_set *set, struct checkpoint *k,
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
	fits = is_same(structure_json(set), json_object_get(root, "made_from"), how, how_bytes);
	if (fits && !are_locals_saved(root, set->state, true)) {
		snprintf(how, how_bytes,
			 "checkpoint_ranks: %s in the checkpoint, other ranks in the job",
			 json_string_value(json_object_get(root, "ranks")));
		fits = false;
	}
	if (fits && set->state->job->verify != VERIFY_NONE)
		fits = is_same(content_json(set), json_object_get(root, "content"), how, how_bytes);
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

int checkpoint_manifest_files(int folder_fd, const struct shard_set *set,
			      struct checkpoint_removal *r, char *why, size_t why_bytes)
{
	json_t *root;
	int rc = checkpoint_manifest_load(folder_fd, O_NOFOLLOW, &root, why, why_bytes);

	if (rc < 0)
		return rc == -ENOENT ? rc : -EPERM;
	checkpoint_manifest_decode(root, set, &r->now);
	const json_t *list = json_object_get(root, "files");
	r->names = mem_array(json_array_size(list), sizeof(char *));
	for (size_t i = 0; rc == 0 && i < json_array_size(list); i++) {
		const char *name = json_string_value(json_array_get(list, i));

		if (name && shard_is_name(name)) {
			r->names[r->count++] = mem_strdup(name);
		} else {
			snprintf(why, why_bytes,
				 "%s names '%.60s', which is not a file of a checkpoint",
				 CHECKPOINT_MANIFEST, name ? name : "");
			rc = -EPERM;
		}
	}
	json_decref(root);
	return rc;
}
