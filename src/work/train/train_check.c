/* SPDX-License-Identifier: Apache-2.0 */
/* train_check.c - checks of a training job: dependent options, and its cache tier. */
#include "work/train/train_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/units.h"
#include "base/util.h"
#include "data/cache/cache.h"
#include "data/scan/scan.h"
#include "hosts/hosts.h"
#include "job/job.h"
#include "run/make/make.h"
#include "run/slot/slot.h"
#include "work/train/tier/tier.h"

/* ---- cache_scope ---- */

/* Can all processes share one cache? */
static int rule_scope(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *j = s->job;
	const char *why;

	if (j->cache == CACHE_NONE || job_cache_parts(j) == 1)
		return 0;
	if (!j->shared)
		why = ", but with shared=0 each has its own dataset; use cache_scope=host";
	else if (j->cache_persist)
		why = ", and none of them knows what the other processes have kept; leave out "
		      "cache_persist, or use cache_scope=host";
	else if (j->cache_prefetch && train_cache_is_simulated(j))
		why = ", and in a simulated cache none of them knows whether another has fetched a "
		      "sample yet; leave out cache_prefetch, or use cache_scope=host";
	else if (!train_cache_is_simulated(j) && !peer_links_can_open(run->cfg.hosts))
		why = ", which send samples over TCP, but barrier_over=mpi is for hosts that "
		      "cannot reach each other over TCP; use cache_scope=host";
	else
		return 0;
	return mlgen_fail(err, -EOPNOTSUPP,
			  "cache_scope: job '%s': all is one cache of %" PRIu64 " processes%s",
			  j->name, job_cache_parts(j), why);
}

/* ---- options of a cache ---- */

#define FAULT(d, j, option, ...)                                                                   \
	diag_add(d, DIAG_ERROR, job_place(j, option), option ": " __VA_ARGS__)

static void note_unused(const struct job *j, const char *option, const char *needs, struct diag *d)
{
	if (job_is_changed(j, option))
		diag_add(d, DIAG_NOTE, job_place(j, option), "%s: has an effect only with %s",
			 option, needs);
}

static void note_all_unused(const struct job *j, const char *const options[], size_t n,
			    const char *needs, struct diag *d)
{
	for (size_t i = 0; i < n; i++)
		note_unused(j, options[i], needs, d);
}

/* Does the value of shuffle= begin with this word? */
static bool is_order(const struct job *j, const char *word)
{
	struct buf text = { 0 };

	job_option_text(j, "shuffle", &text);
	bool is_equal = strncmp(buf_str(&text), word, strlen(word)) == 0;
	buf_fini(&text);
	return is_equal;
}

static void check_hits_first(const struct job *j, struct diag *d)
{
	bool has_own_order =
		j->shuffle.kind == SHUFFLE_SAMPLE || j->shuffle.kind == SHUFFLE_REPLACEMENT ||
		j->shuffle.kind == SHUFFLE_WEIGHTED || j->shuffle.kind == SHUFFLE_IMPORTANCE;

	if (!j->cache_hits_first)
		return;
	if (!has_own_order || j->loader == LOADER_TFDATA || j->shard == SHARD_FILE)
		FAULT(d, j, "cache_hits_first",
		      "moves single samples to the front, which needs shuffle=sample, replacement "
		      "or weighted:DIST, without shard=file and loader=tfdata; use these, or leave "
		      "out cache_hits_first");
	if (j->cache == CACHE_BELADY)
		FAULT(d, j, "cache_hits_first",
		      "the order of an epoch depends on what the cache contains when it begins, "
		      "but belady must know it before; use another policy, or leave out "
		      "cache_hits_first");
}

static void check_directory(const struct job *j, struct diag *d)
{
	if (j->cache_stage != CACHE_DECODED)
		note_unused(j, "cache_decoded_factor", "cache_stage=decoded", d);
	if (j->cache_fill != CACHE_FILL_ASYNC)
		note_unused(j, "cache_queue", "cache_fill=async", d);
	if (!j->cache_directory) {
		note_unused(j, "cache_fill", "cache_directory", d);
		note_unused(j, "cache_layout", "cache_directory", d);
		note_unused(j, "cache_persist", "cache_directory", d);
		return;
	}
	if (dist_mean(&j->cache_latency) > 0)
		FAULT(d, j, "cache_latency",
		      "simulates a tier, but cache_directory is a real tier with its own latency; "
		      "leave out one of them");
	if (j->cache_bandwidth_bytes)
		FAULT(d, j, "cache_bandwidth",
		      "simulates a tier, but cache_directory is a real tier with its own latency; "
		      "leave out one of them");
}

/* ---- directory of a cache ---- */

/* Is `path` the folder, or a path in it? Neither ends in a slash. */
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
	       : is_in(tier, data)     ? "is in"
	       : is_in(data, tier)     ? "contains"
				       : NULL;
}

/* Append the real path. If the path does not exist yet, its parent is resolved instead. */
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

	(void)run;
	if (j->cache == CACHE_NONE || !j->cache_directory || !slot_touches_files(s))
		return 0;
	resolve(&tier, j->cache_directory);
	resolve(&data, dataset_storage_path(&s->dataset));
	const char *near = how_near(buf_str(&tier), buf_str(&data));
	buf_fini(&tier);
	buf_fini(&data);
	if (!near)
		return 0;
	return mlgen_fail(err, -EINVAL,
			  "cache_directory: %s %s the dataset (%s); name a separate directory, "
			  "such as one on local NVMe",
			  j->cache_directory, near, dataset_storage_path(&s->dataset));
}

static int rule_directory(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *j = s->job;

	(void)run;
	return j->cache == CACHE_NONE || !j->cache_directory || !slot_touches_files(s)
		       ? 0
		       : newdir_check(j, "cache_directory", j->cache_directory, err);
}

/* ---- space of a cache ---- */

/* Does the cache fit into memory, or onto the disk of its directory? */
static int rule_room(struct slot *s, struct run_shared *run, struct mlgen_err *err)
{
	const struct job *j = s->job;
	char need_text[UNITS_TEXT_BYTES], room_text[UNITS_TEXT_BYTES];
	uint64_t parts = job_cache_parts(j), room = run->cfg.host->memory_bytes;
	const char *where = "the memory";
	struct cacheshare share;
	struct stages stages;
	struct mount m;

	if (j->cache == CACHE_NONE || !slot_touches_files(s) ||
	    (!j->cache_directory && train_cache_is_simulated(j)))
		return 0;
	int rc = train_stages(&stages, j, &s->dataset, s->eval.files ? &s->eval : NULL, 0, err);
	if (rc < 0)
		return rc;
	cacheshare_of(&share, j, &s->dataset, tier_stored_bytes(j, &stages));
	/* Number of caches on this host, including those of its other processes. A cache that all
	 * hosts share is divided among the processes. */
	double caches = (double)job_host_processes(j);
	if (parts > 1)
		caches /= (double)parts;
	else if (j->cache_scope == CACHE_SCOPE_RANK)
		caches *= (double)j->accelerators;
	double need = share.held_bytes * caches;
	if (j->cache_directory) {
		rc = mount_read(&m, j->cache_directory, err);
		if (rc < 0)
			return rc;
		/* A persistent cache reuses the space that an earlier run has filled. */
		room = j->cache_persist ? m.total_bytes : m.free_bytes;
		where = m.target;
	}
	if (need <= (double)room)
		return 0;
	return mlgen_fail(err, -ENOSPC,
			  "cache_size: the tier needs %s, but %s %s %s; lower cache_size%s",
			  units_human_bytes(need_text, need), where,
			  j->cache_directory ? "has" : "of this host is",
			  units_human_bytes(room_text, (double)room),
			  j->cache_directory ? ", or name another cache_directory"
					     : ", name a cache_directory, or simulate a tier with "
					       "cache_latency or cache_bandwidth");
}

const struct rule train_cache_rules[] = {
	{ "hosts", rule_scope }, { "cache", rule_place }, { "cache", rule_directory },
	{ "cache", rule_room },  { NULL, NULL },
};

/* Part of train_check(). */
static void train_cache_check(const struct job *j, struct diag *d)
{
	static const char *const options[] = {
		"cache_size",           "cache_scope",     "cache_unit",       "cache_directory",
		"cache_fill",           "cache_queue",     "cache_layout",     "cache_persist",
		"cache_latency",        "cache_bandwidth", "cache_warm",       "cache_stage",
		"cache_decoded_factor", "cache_verify",    "cache_substitute", "cache_hits_first",
		"cache_prefetch",
	};

	if (j->cache == CACHE_NONE) {
		note_all_unused(j, options, ARRAY_LEN(options), "cache=POLICY", d);
		return;
	}
	if (job_work(j)->only_prepares) {
		note_unused(j, "cache", "phase=train", d);
		return;
	}

	const struct cache_size *size = &j->cache_size;
	if (!size->bytes && !size->samples && !(size->percent > 0))
		FAULT(d, j, "cache",
		      "%s needs a size, which has no default; set cache_size=15%% of the dataset, "
		      "a size such as 20g, or '5000 samples'",
		      cache_word(j->cache));
	if (j->cache == CACHE_IMPORTANCE && !is_order(j, "importance") && !is_order(j, "weighted"))
		FAULT(d, j, "cache",
		      "importance keeps the samples with the highest weights, but this order has "
		      "no weights; use shuffle=importance or shuffle=weighted:DIST, or another "
		      "policy");
	if (j->cache == CACHE_BELADY && is_order(j, "importance"))
		FAULT(d, j, "cache",
		      "belady needs to know the future order, but the order of shuffle=importance "
		      "depends on losses that are not known yet; use cache=importance, or another "
		      "order");
	if (j->cache_substitute == CACHE_SUBSTITUTE_GROUP && j->cache_unit.kind == CACHE_FILES)
		FAULT(d, j, "cache_substitute",
		      "group takes another sample of the same file, but here the unit is a whole "
		      "file; use cache_substitute=any, or cache_unit=sample");

	check_hits_first(j, d);
	check_directory(j, d);
	const char *near = j->cache_directory ? how_near(j->cache_directory, j->directory) : NULL;
	if (near)
		FAULT(d, j, "cache_directory",
		      "%s %s the dataset's directory; name a separate directory, such as one on "
		      "local NVMe",
		      j->cache_directory, near);
}

/* ---- other options ---- */

/* The kernel's limit of threads: 2^22, pid_max in proc(5). */
#define THREADS_MAX 4194304.0
/* Maximum number of samples that loaders may hold ready; each costs a token. */
#define READY_MAX 2147483648.0
/* Offsets are off_t. */
#define BYTES_MAX 9223372036854775807.0

static const char *access_name(const struct job *j)
{
	return j->access == ACCESS_PLAIN ? "plain" : "recorded";
}

/* ---- the dataset ---- */

static void check_scan(const struct job *j, struct diag *d)
{
	static const char *const of_scan[] = { "scan_errors", "scan_key",  "scan_pair",
					       "scan_depth",  "file_list", "scan_cache" };
	struct namepair pair;

	if (j->dataset != DATASET_SCAN) {
		note_all_unused(j, of_scan, ARRAY_LEN(of_scan), "dataset=scan", d);
		return;
	}
	if (j->format != FORMAT_NPZ && j->format != FORMAT_AUTO)
		note_unused(j, "scan_key", "format=npz", d);
	if (j->scan_pair && !namepair_is_none(j->scan_pair) && !namepair_parse(&pair, j->scan_pair))
		FAULT(d, j, "scan_pair",
		      "'%s': is neither none nor FROM:TO, two different parts of paths, such as "
		      "images/:labels/ or _x.npy:_y.npy",
		      j->scan_pair);
	if (job_work(j)->only_prepares)
		FAULT(d, j, "dataset",
		      "scan reads existing files, so phase=prepare has nothing to write; use "
		      "phase=train, or dataset=made");
}

/* ---- loaders ---- */

static void check_ready(const struct job *j, struct diag *d)
{
	double ranks = (double)j->accelerators;
	double windows = j->loader == LOADER_PYTORCH ? ranks * (double)j->read_threads : ranks;
	double batch = (double)j->batch_size;

	if (j->eval_files)
		batch = fmax(batch, (double)j->eval_batch_size);
	double ready = (double)j->prefetch * batch * windows;
	if (ready > READY_MAX)
		FAULT(d, j, "prefetch",
		      "%.0f samples would be ready at once, but at most %.0f are possible; lower "
		      "prefetch, batch_size or read_threads",
		      ready, READY_MAX);
	else if (ready + ranks * (double)job_shuffle_buffer(j) > READY_MAX)
		FAULT(d, j, "shuffle",
		      "%.0f samples would be ready at once, but at most %.0f are possible; use a "
		      "smaller buffer",
		      ready + ranks * (double)job_shuffle_buffer(j), READY_MAX);
}

/* Can any sample follow any other, so that reads jump between files? */
static bool leaves_files(const struct job *j)
{
	return j->shuffle.kind != SHUFFLE_NONE && j->shuffle.kind != SHUFFLE_FILE &&
	       !job_shuffle_buffer(j);
}

static void check_importance(const struct job *j, struct diag *d)
{
	static const char *const options[] = { "importance_mode", "importance_rep",
					       "importance_difficulty", "importance_decay" };
	double halves = j->importance_rep * 2;

	if (j->shuffle.kind != SHUFFLE_IMPORTANCE) {
		note_all_unused(j, options, ARRAY_LEN(options), "shuffle=importance", d);
		return;
	}
	if (floor(halves) < halves)
		FAULT(d, j, "importance_rep",
		      "%g is not a multiple of 0.5, by which samples are repeated; use %g or %g",
		      j->importance_rep, floor(halves) / 2, ceil(halves) / 2);
	if (j->shard == SHARD_CONTIGUOUS)
		FAULT(d, j, "shard",
		      "contiguous divides one order of all samples, but with shuffle=importance "
		      "every accelerator draws its own order; use shard=strided");
}

static void check_decompress(const struct job *j, struct diag *d)
{
	if (j->decompress != DECOMPRESS_SLEEP)
		note_unused(j, "decompress_rate", "decompress=sleep", d);
	if (job_work(j)->only_prepares)
		note_unused(j, "decompress", "phase=train", d);
	if (j->decompress == DECOMPRESS_NONE || job_work(j)->only_prepares)
		return;
	if (j->format != FORMAT_AUTO && j->format != FORMAT_TFRECORD && j->format != FORMAT_HDF5 &&
	    j->format != FORMAT_PARQUET)
		FAULT(d, j, "decompress",
		      "mlgen finds compression only in files of format=tfrecord, hdf5 and parquet; "
		      "use decompress=none, and preprocess_time for the time of decoding");
	else if (j->access != ACCESS_FRAMEWORK)
		FAULT(d, j, "decompress",
		      "access=%s reads bytes without interpreting them; use access=framework, or "
		      "decompress=none",
		      access_name(j));
	if (j->decompress == DECOMPRESS_SLEEP && j->decompress_rate == 0)
		FAULT(d, j, "decompress_rate",
		      "decompress=sleep needs the compressed bytes that a thread decompresses per "
		      "second, such as 100m; decompress=real measures them");
	if (j->decompress == DECOMPRESS_REAL && job_samples_at_once(j) > 1)
		FAULT(d, j, "decompress",
		      "real decompresses one sample at a time, but each thread reads %u at once; "
		      "use iodepth=1, or decompress=sleep",
		      job_samples_at_once(j));
}

static void check_split(const struct job *j, const char *option, const char *list, struct diag *d)
{
	struct job_read_share shares[JOB_READ_SHARES_MAX];
	struct mlgen_err err = { 0 };

	if (job_read_shares(list, shares, &err) < 0)
		diag_add(d, DIAG_ERROR, job_place(j, option), "%s: %s", option, err.text);
}

static void check_preprocess(const struct job *j, struct diag *d)
{
	bool any = dist_mean(&j->preprocess_time) > 0;
	bool first = dist_mean(&j->first_sample_time) > 0;

	if (!any)
		note_unused(j, "preprocess_split", "preprocess_time", d);
	if (!first)
		note_unused(j, "first_sample_split", "first_sample_time", d);
	if (!any && !first) {
		note_unused(j, "preprocess", "preprocess_time", d);
		note_unused(j, "preprocess_at", "preprocess_time", d);
		return;
	}
	if (j->preprocess_at == PREPROCESS_AT_SAMPLE) {
		note_unused(j, "preprocess_split", "preprocess_at=reads", d);
		note_unused(j, "first_sample_split", "preprocess_at=reads", d);
		return;
	}
	check_split(j, "preprocess_split", j->preprocess_split, d);
	check_split(j, "first_sample_split", j->first_sample_split, d);
	if (j->loader == LOADER_TFDATA)
		FAULT(d, j, "preprocess_at",
		      "loader=tfdata decodes complete batches; use preprocess_at=sample");
	else if (job_samples_at_once(j) > 1)
		FAULT(d, j, "preprocess_at",
		      "reads are decoded one after the other, but each thread reads %u samples at "
		      "a time; use iodepth=1, or preprocess_at=sample",
		      job_samples_at_once(j));
}

static void check_fresh_memory(const struct job *j, struct diag *d)
{
	const struct format *format = format_of((enum job_format)j->format);

	if (!j->fresh_memory)
		return;
	if (job_work(j)->only_prepares)
		note_unused(j, "fresh_memory", "phase=train", d);
	else if (!job_touches_files(j))
		diag_add(d, DIAG_NOTE, job_place(j, "fresh_memory"),
			 "ioengine=%s moves no bytes, so that no memory is touched",
			 j->engine->name);
	else if (j->mem == MEM_HUGEPAGE)
		FAULT(d, j, "fresh_memory",
		      "huge pages are reserved in advance, and not allocated anew for a read; use "
		      "mem=malloc, or fresh_memory=0");
	else if (!j->hold_samples && format && format->is_array)
		diag_add(d, DIAG_NOTE, job_place(j, "fresh_memory"),
			 "fresh_memory: arrays of %s, which are new each time, exist only with "
			 "hold_samples=1",
			 format->reader);
}

static void check_first_sample(const struct job *j, struct diag *d)
{
	if (dist_mean(&j->first_sample_time) <= 0)
		return;
	if (job_work(j)->only_prepares)
		note_unused(j, "first_sample_time", "phase=train", d);
	else if (j->loader == LOADER_TFDATA)
		FAULT(d, j, "first_sample_time",
		      "with loader=tfdata some threads read, and other threads decode; use "
		      "loader=pytorch or plain, or first_sample_time=0");
}

static void check_worker_start(const struct job *j, struct diag *d)
{
	if (dist_mean(&j->worker_start) <= 0)
		return;
	if (job_work(j)->only_prepares)
		note_unused(j, "worker_start", "phase=train", d);
	else if (j->loader != LOADER_PYTORCH)
		FAULT(d, j, "worker_start",
		      "only workers of loader=pytorch end with an epoch; use loader=pytorch, or "
		      "worker_start=0");
	else if (!j->read_threads)
		note_unused(j, "worker_start", "read_threads", d);
}

static void check_loader(const struct job *j, struct diag *d)
{
	check_decompress(j, d);

	double threads = (double)j->accelerators * (double)job_read_threads(j);
	if (threads > THREADS_MAX)
		FAULT(d, j, "read_threads",
		      "%" PRIu64 " for each of %" PRIu64
		      " accelerators are more than the %.0f threads that Linux can have",
		      job_read_threads(j), j->accelerators, THREADS_MAX);
	if (j->read_threads == 0 && j->loader != LOADER_PYTORCH)
		FAULT(d, j, "read_threads",
		      "with 0 the accelerator itself reads, as in PyTorch; use loader=pytorch, or "
		      "1 or more");
	else if (j->read_threads == 0 && j->prefetch > 0)
		FAULT(d, j, "prefetch",
		      "%" PRIu64
		      " needs a thread that prefetches; use prefetch=0, or read_threads=1 or more",
		      j->prefetch);
	else if (j->read_threads > 0 && j->prefetch == 0)
		FAULT(d, j, "prefetch",
		      "0 prefetches nothing, for which loader=pytorch has read_threads=0; with "
		      "read_threads=%" PRIu64 " use 1 or more",
		      j->read_threads);

	check_ready(j, d);

	struct buf order = { 0 };
	job_option_text(j, "shuffle", &order);
	if (j->loader == LOADER_TFDATA && leaves_files(j))
		FAULT(d, j, "shuffle",
		      "%s is not an order of loader=tfdata, which reads files from front to back; "
		      "use shuffle=file, none or buffer:N",
		      buf_str(&order));
	else if (j->shard == SHARD_FILE && leaves_files(j) && j->shuffle.kind != SHUFFLE_SAMPLE)
		FAULT(d, j, "shard",
		      "file gives every accelerator its own files, but shuffle=%s is an order of "
		      "all samples; use shard=strided or contiguous",
		      buf_str(&order));
	buf_fini(&order);
	if (j->loader != LOADER_TFDATA && job_shuffle_buffer(j))
		FAULT(d, j, "shuffle",
		      "only loader=tfdata has a buffer to draw samples from; use loader=tfdata, or "
		      "shuffle=sample");

	check_importance(j, d);

	/* The number of files is not known yet with dataset_ratio or a scan. */
	if (j->shard == SHARD_FILE && !job_work(j)->only_prepares && j->dataset == DATASET_MADE &&
	    j->dataset_ratio <= 0 && j->num_files < j->accelerators)
		FAULT(d, j, "shard",
		      "file gives every accelerator its own files, but there are more ranks than "
		      "files: %" PRIu64 " accelerators, %" PRIu64
		      " files; lower accelerators, raise num_files, or use shard=strided",
		      j->accelerators, j->num_files);

	check_fresh_memory(j, d);
	if (j->loader != LOADER_TFDATA) {
		note_unused(j, "deterministic", "loader=tfdata", d);
		note_unused(j, "decode_threads", "loader=tfdata", d);
	} else if (j->preprocess == PREPROCESS_BURN) {
		note_unused(j, "decode_threads", "preprocess=sleep", d);
	}
	check_preprocess(j, d);
	check_first_sample(j, d);
	check_worker_start(j, d);
	if (job_work(j)->only_prepares)
		note_unused(j, "hold_samples", "phase=train", d);
}

/* ---- access ---- */

static void check_framework(const struct job *j, struct diag *d)
{
	struct buf format = { 0 };

	/* The files are not known yet; dataset_scan.c repeats these checks. */
	if (j->format == FORMAT_AUTO)
		return;
	job_option_text(j, "format", &format);
	if (j->format == FORMAT_RAW)
		FAULT(d, j, "access",
		      "framework means the calls of the framework that reads a format, and no "
		      "framework reads format=raw; use access=plain, or format=%s",
		      j->dataset == DATASET_SCAN ? "jpeg" : "npz");
	else if ((j->format == FORMAT_TFRECORD || j->format == FORMAT_TAR) &&
		 j->loader != LOADER_TFDATA)
		FAULT(d, j, "access",
		      "framework reads format=%s from the beginning of a file to its end, which "
		      "only loader=tfdata does; use loader=tfdata, or access=plain",
		      buf_str(&format));
	else if (j->direct && !advice_format_takes_direct(j))
		FAULT(d, j, "direct", "no framework reads format=%s with O_DIRECT; use direct=0%s",
		      buf_str(&format), j->read_columns ? "" : ", or access=plain");
	else if (job_is_changed(j, "bs"))
		diag_add(d, DIAG_NOTE, job_place(j, "bs"),
			 "bs: access=framework uses its own sizes; bs has an effect only with "
			 "access=plain");
	buf_fini(&format);
}

void train_check(const struct job *j, struct diag *d)
{
	static const char *const of_parquet[] = { "columns", "read_columns", "row_group_size" };
	static const char *const eval_options[] = { "eval_batch_size", "eval_time", "eval_every",
						    "eval_after" };
	double files = (double)j->num_files + (double)j->eval_files;
	double bytes = files * (double)j->samples_per_file *
		       (dist_mean(&j->sample_size) + (double)j->label_size_bytes);

	if (bytes > BYTES_MAX)
		FAULT(d, j, "sample_size",
		      "the dataset would have more than 8 EiB; lower sample_size, num_files or "
		      "samples_per_file");
	if (j->subfolders > j->num_files)
		FAULT(d, j, "subfolders",
		      "%" PRIu64 " folders for %" PRIu64 " files; some would be empty",
		      j->subfolders, j->num_files);

	check_scan(j, d);

	if (j->format != FORMAT_PARQUET && j->format != FORMAT_AUTO)
		note_all_unused(j, of_parquet, ARRAY_LEN(of_parquet), "format=parquet", d);
	if (j->format == FORMAT_PARQUET && j->read_columns && j->access != ACCESS_FRAMEWORK &&
	    !job_work(j)->only_prepares)
		FAULT(d, j, "read_columns",
		      "access=%s reads whole rows, and does not support columns; use "
		      "access=framework, or leave read_columns out",
		      access_name(j));
	if ((j->format != FORMAT_HDF5 && j->format != FORMAT_AUTO) || j->dataset != DATASET_SCAN)
		note_unused(j, "hdf5_dataset", "format=hdf5 and dataset=scan", d);
	if (j->format == FORMAT_AUTO && j->dataset != DATASET_SCAN)
		FAULT(d, j, "format",
		      "auto detects the format of existing files; use dataset=scan, or name the "
		      "format to create");
	if (j->format != FORMAT_NPY)
		note_unused(j, "label_size", "format=npy", d);

	check_loader(j, d);
	train_cache_check(j, d);
	if (j->access == ACCESS_FRAMEWORK)
		check_framework(j, d);

	if (j->access != ACCESS_RECORDED)
		note_unused(j, "recorded_calls", "access=recorded", d);
	else if (!j->recorded_calls && !job_work(j)->only_prepares)
		FAULT(d, j, "access",
		      "recorded needs the calls that were recorded; name their file with "
		      "recorded_calls=FILE, or use access=plain");
	else if (job_is_changed(j, "bs"))
		diag_add(d, DIAG_NOTE, job_place(j, "bs"),
			 "bs: access=recorded uses its own sizes; bs has an effect only with "
			 "access=plain");

	if (j->target_au > 0 && dist_mean(&j->compute_time) <= 0)
		diag_add(d, DIAG_NOTE, job_place(j, "compute_time"),
			 "compute_time: 0 leaves no accelerator utilisation to compare with "
			 "target_au");
	if (!j->eval_files)
		note_all_unused(j, eval_options, ARRAY_LEN(eval_options), "eval_files", d);
	note_unused(j, "verify", "phase=restore", d);
	guess_check(j, d);
	/* Checkpoints have a stricter check of their own. */
	if (j->direct && j->engine && job_touches_files(j) && !job_has_checkpoints(j) &&
	    j->access == ACCESS_PLAIN && j->bs.read % 512)
		FAULT(d, j, "bs", "%" PRIu64 " is not a multiple of 512, which direct=1 needs",
		      j->bs.read);
}
