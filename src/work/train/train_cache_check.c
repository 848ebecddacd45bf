/* SPDX-License-Identifier: Apache-2.0 */
/* train_cache_check.c - see train_cache_check.h. */
#include "work/train/train_cache_check.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "base/util.h"
#include "data/cache/cache.h"
#include "job/job.h"
#include "run/make/make.h"
#include "run/tier.h"

#define FAULT(d, j, option, ...)                                                                   \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)

static void note(const struct job *j, const char *option, const char *needs, struct diag *d)
{
	if (job_is_changed(j, option))
		diag_add(d, DIAG_NOTE, job_place(j, option), "%s: counts with %s only", option,
			 needs);
}

/* An order that begins with this word, whatever stands behind it. */
static bool is_order(const struct job *j, const char *word)
{
	struct buf text = { 0 };
	bool is_equal;

	job_option_text(j, "shuffle", &text);
	is_equal = strncmp(buf_str(&text), word, strlen(word)) == 0;
	buf_fini(&text);
	return is_equal;
}

static bool has_weights(const struct job *j)
{
	return is_order(j, "importance") || is_order(j, "weighted");
}

/* ---- options ---- */

static void note_without(const struct job *j, struct diag *d)
{
	static const char *const options[] = {
		"cache_size",           "cache_scope",     "cache_unit",       "cache_directory",
		"cache_fill",           "cache_queue",     "cache_layout",     "cache_persist",
		"cache_latency",        "cache_bandwidth", "cache_warm",       "cache_stage",
		"cache_decoded_factor", "cache_verify",    "cache_substitute", "cache_hits_first",
		"cache_prefetch",
	};

	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		note(j, options[i], "cache=POLICY", d);
}

static void check_size(const struct job *j, struct diag *d)
{
	const struct cache_size *size = &j->cache_size;

	if (!size->bytes && !size->samples && !(size->percent > 0))
		FAULT(d, j, "cache",
		      "%s needs a size, for which there is no usual one; set cache_size=15%% of "
		      "the dataset, a size such as 20g, or '5000 samples'",
		      cache_word(j->cache));
}

static void check_policy(const struct job *j, struct diag *d)
{
	if (j->cache == CACHE_IMPORTANCE && !has_weights(j))
		FAULT(d, j, "cache",
		      "importance keeps what weighs most, and this order has no weights; use "
		      "shuffle=importance or shuffle=weighted:DIST, or another policy");
	if (j->cache == CACHE_BELADY && is_order(j, "importance"))
		FAULT(d, j, "cache",
		      "belady knows the order of what comes, and that of shuffle=importance "
		      "follows from losses that nobody knows yet; use cache=importance, or another "
		      "order");
}

static void check_substitute(const struct job *j, struct diag *d)
{
	if (j->cache_substitute == CACHE_SUBSTITUTE_GROUP && j->cache_unit.kind == CACHE_FILES)
		FAULT(d, j, "cache_substitute",
		      "group takes another sample of the same file, and of whole files there is no "
		      "other; use cache_substitute=any, or cache_unit=sample");
}

static bool has_own_order(const struct job *j)
{
	return j->shuffle.kind == SHUFFLE_SAMPLE || j->shuffle.kind == SHUFFLE_REPLACEMENT ||
	       j->shuffle.kind == SHUFFLE_WEIGHTED || j->shuffle.kind == SHUFFLE_IMPORTANCE;
}

static void check_hits_first(const struct job *j, struct diag *d)
{
	if (!j->cache_hits_first)
		return;
	if (!has_own_order(j) || j->loader == LOADER_TFDATA || j->shard == SHARD_FILE)
		FAULT(d, j, "cache_hits_first",
		      "moves single samples to the front, which shuffle=sample, replacement and "
		      "weighted:DIST allow, without shard=file and loader=tfdata; use these, or "
		      "drop cache_hits_first");
	if (j->cache == CACHE_BELADY)
		FAULT(d, j, "cache_hits_first",
		      "the order of an epoch follows from what the cache has when it begins, and "
		      "belady has to know it before; use another policy, or drop cache_hits_first");
}

static void check_kept(const struct job *j, struct diag *d)
{
	if (j->cache_stage != CACHE_DECODED)
		note(j, "cache_decoded_factor", "cache_stage=decoded", d);
	if (j->cache_fill != CACHE_FILL_ASYNC)
		note(j, "cache_queue", "cache_fill=async", d);
	if (j->cache_directory)
		return;
	note(j, "cache_fill", "cache_directory", d);
	note(j, "cache_layout", "cache_directory", d);
	note(j, "cache_persist", "cache_directory", d);
}

static void check_played(const struct job *j, struct diag *d)
{
	if (!j->cache_directory)
		return;
	if (dist_mean(&j->cache_latency) > 0)
		FAULT(d, j, "cache_latency",
		      "plays a tier, and cache_directory is a real one, which takes its own time; "
		      "drop one of them");
	if (j->cache_bandwidth_bytes)
		FAULT(d, j, "cache_bandwidth",
		      "plays a tier, and cache_directory is a real one, which takes its own time; "
		      "drop one of them");
}

/* ---- its place ---- */

/* Is `path` that of the folder, or of something in it? Both end in no slash. */
static bool is_in(const char *path, const char *folder)
{
	size_t len = strlen(folder);

	if (len == 1 && *folder == '/')
		return *path == '/';
	return strncmp(path, folder, len) == 0 && (path[len] == '/' || path[len] == '\0');
}

static const char *how_near(const char *tier, const char *data)
{
	return strcmp(tier, data) == 0 ? "is"
	       : is_in(tier, data)     ? "lies in"
	       : is_in(data, tier)     ? "holds"
				       : NULL;
}

/* As the system sees the path: of what is not there yet, by its parent. */
static void resolve(struct buf *out, const char *path)
{
	char real[PATH_MAX], parent[PATH_MAX];
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	snprintf(parent, sizeof(parent), "%.*s", (int)len, path);
	if (realpath(parent, real)) {
		buf_add(out, real);
		return;
	}
	char *slash = strrchr(parent, '/');
	if (!slash) {
		buf_addf(out, "%s/%s", realpath(".", real) ? real : ".", parent);
		return;
	}
	char *name = slash + 1;
	*slash = '\0';
	resolve(out, *parent ? parent : "/");
	buf_addf(out, "%s%s", out->len > 1 ? "/" : "", name);
}

static int rule_place(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *j = s->job;
	struct buf tier = { 0 }, data = { 0 };
	const char *near = NULL;

	(void)run;
	if (j->cache == CACHE_NONE || !j->cache_directory || !slot_touches_files(s))
		return 0;
	resolve(&tier, j->cache_directory);
	resolve(&data, dataset_place(&s->dataset));
	near = how_near(buf_str(&tier), buf_str(&data));
	buf_fini(&tier);
	buf_fini(&data);
	if (!near)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "cache_directory: %s %s the dataset (%s); name a directory of its own, "
			  "such as one on local NVMe",
			  j->cache_directory, near, dataset_place(&s->dataset));
}

static int rule_directory(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *j = s->job;

	(void)run;
	return j->cache == CACHE_NONE || !j->cache_directory || !slot_touches_files(s)
		       ? 0
		       : newdir_check(j, "cache_directory", j->cache_directory, err);
}

/* ---- its room ---- */

/* On this host, with those of its other processes; where one of all hosts has a part of it. */
static double caches_of(const struct job *j)
{
	uint64_t parts = job_cache_parts(j);
	uint64_t processes = job_host_processes(j);

	if (parts > 1)
		return (double)processes / (double)parts;
	return (double)processes * (j->cache_scope == CACHE_OF_RANK ? (double)j->accelerators : 1);
}

static int fail_room(const struct job *j, double need, uint64_t room, const char *where,
		     struct mlgen_err *err)
{
	char n[UNITS_TEXT_BYTES], m[UNITS_TEXT_BYTES];

	return mlgen_fail(
		err, -ENOSPC, "cache_size: the tier takes %s, and %s %s %s; lower cache_size%s",
		units_human_bytes(n, need), where, j->cache_directory ? "has" : "of this host is",
		units_human_bytes(m, (double)room),
		j->cache_directory ? ", or name another cache_directory"
				   : ", name a cache_directory, or play a tier with cache_latency "
				     "or cache_bandwidth");
}

/* What an earlier run has left there is room, too. */
static int check_disk(const struct job *j, double need, struct mlgen_err *err)
{
	struct mount m;
	int rc = mount_read(&m, j->cache_directory, err);
	uint64_t room = j->cache_persist ? m.total_bytes : m.free_bytes;

	return rc < 0 || need <= (double)room ? rc : fail_room(j, need, room, m.target, err);
}

static bool is_played(const struct job *j)
{
	return dist_mean(&j->cache_latency) > 0 || j->cache_bandwidth_bytes;
}

static int rule_room(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *j = s->job;
	struct cacheshare share;
	struct stages stages;

	if (j->cache == CACHE_NONE || !slot_touches_files(s) ||
	    (!j->cache_directory && is_played(j)))
		return 0;
	int rc = train_stages(&stages, j, &s->dataset, s->eval.files ? &s->eval : NULL, 0, err);
	if (rc < 0)
		return rc;
	cacheshare_of(&share, j, &s->dataset, tier_stored_bytes(j, &stages));
	double need = share.held_bytes * caches_of(j);
	if (j->cache_directory)
		return check_disk(j, need, err);
	uint64_t memory = run->cfg.host->memory_bytes;
	return need <= (double)memory ? 0 : fail_room(j, need, memory, "the memory", err);
}

const struct rule train_cache_rules[] = {
	{ "hosts", train_cache_rule_scope },
	{ "cache", rule_place },
	{ "cache", rule_directory },
	{ "cache", rule_room },
	{ NULL, NULL },
};

void train_cache_check(const struct job *j, struct diag *d)
{
	const char *near;

	if (j->cache == CACHE_NONE) {
		note_without(j, d);
		return;
	}
	if (job_work(j)->only_prepares) {
		note(j, "cache", "phase=train", d);
		return;
	}
	check_size(j, d);
	check_policy(j, d);
	check_substitute(j, d);
	check_hits_first(j, d);
	check_kept(j, d);
	check_played(j, d);
	near = j->cache_directory ? how_near(j->cache_directory, j->directory) : NULL;
	if (near)
		FAULT(d, j, "cache_directory",
		      "%s %s the dataset's directory; name one of its own, such as one on local "
		      "NVMe",
		      j->cache_directory, near);
}
