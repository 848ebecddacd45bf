/* SPDX-License-Identifier: Apache-2.0 */
/* text_settings.c - the lines that say what ran, on what: job to host. */
#include "report/text_settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/dist.h"
#include "config.h"
#include "data/format.h"
#include "job/fields.h"
#include "job/guess.h"
#include "report/text_noise.h"
#include "report/verdict.h"

/* Characters of mount options: those of overlays would fill the screen. */
#define OPTIONS_SHOWN 100

static bool is_set(const char *s)
{
	return s && *s;
}

/* "; compute_time is a guess of its source" */
static void put_guesses(struct buf *text, const struct job *job)
{
	struct buf guesses = { 0 };
	guess_text(job, &guesses);
	if (guesses.len)
		buf_addf(text, "; %s", buf_str(&guesses));
	buf_fini(&guesses);
}

static void put_job(struct buf *out, const struct text_block *b)
{
	static const char *const barriers[] = {
		[BARRIER_NONE] = "no barrier",
		[BARRIER_STEP] = "barrier after every step",
		[BARRIER_EPOCH] = "barrier after every epoch",
	};
	const struct job *job = b->job;
	struct buf text;
	char who[SHOW_ACCELERATORS_BYTES], time[UNITS_TEXT_BYTES];
	buf_init(&text);
	buf_addf(
		&text, "%s, batch %" PRIu64 ", ",
		show_accelerators(who, b->ml->accelerators, b->ml->accelerator),
		job->batch_size);
	if (!(dist_mean(&job->compute_time) > 0)) {
		buf_add(&text, "no compute");
	} else if (dist_is_const(&job->compute_time)) {
		units_human_time(time, (uint64_t)job->compute_time.a);
		buf_addf(&text, "compute %s per step", time);
	} else {
		buf_add(&text, "compute ");
		dist_format(&text, &job->compute_time, DIST_NS);
		buf_add(&text, " per step");
	}
	buf_addf(&text, ", %s", barriers[job->barrier]);
	put_guesses(&text, job);
	if (b->result->members > 1)
		buf_addf(&text, "; %u jobs together", b->result->members);
	text_put(out, "job", TEXT_SETTING_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* Whose calls access=framework makes. */
static const char *reader_of(const struct text_block *b)
{
	const struct dataset *ds = b->result->dataset;
	return ds && ds->format && ds->format->reader ? ds->format->reader
						      : "its framework";
}

static void put_readers(struct buf *out, const struct text_block *b)
{
	const struct job *job = b->job;
	struct buf text;
	char number[UNITS_TEXT_BYTES];
	buf_init(&text);
	if (job->read_threads)
		buf_addf(&text, "%s threads (%" PRIu64 " per accelerator)",
			 units_human_count(number,
					   b->ml->accelerators *
						   job_read_threads(job)),
			 job_read_threads(job));
	else
		buf_add(&text, "each accelerator's own thread");
	buf_addf(&text, ", ioengine=%s",
		 job->ioengine ? job->ioengine : "unknown");
	if (is_set(b->ml->in_use))
		buf_addf(&text, " (%s)", b->ml->in_use);
	buf_addf(&text, ", direct=%d", job->direct);
	if (job_depth(job) > 1)
		buf_addf(&text, ", iodepth=%u", job_depth(job));
	if (job->direct && b->result->read_align_bytes > 0)
		buf_addf(&text, " (aligned to %s)",
			 units_human_bytes(
				 number, (double)b->result->read_align_bytes));
	if (job->access == ACCESS_PLAIN)
		buf_addf(&text, ", %s reads",
			 units_human_bytes(number, (double)job->bs.read));
	else
		buf_addf(&text, ", reads as %s does",
			 job->direct ? "DLIO" : reader_of(b));
	text_put(out, "readers", TEXT_SETTING_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* "146.6 MB (mean)"; "2 MiB" where all files have one, round, size. */
static void put_file_size(struct buf *text, const struct dataset_totals *t)
{
	char size[UNITS_TEXT_BYTES];
	bool varies = t->stdev_file_bytes > 0;
	if (!varies && fmod(t->mean_file_bytes, 1024) <= 0)
		units_human_bytes(size, t->mean_file_bytes);
	else
		units_human_mb(size, t->mean_file_bytes);
	buf_addf(text, "%s%s", size, varies ? " (mean)" : "");
}

void text_memory_ratio(struct buf *text, const struct text_block *b,
		       double bytes)
{
	const struct host *host = &b->run->host;
	const char *memory = host->memory_limit_bytes ? "memory_limit"
						      : "this host's memory";
	double ram = (double)host->memory_bytes;
	double ratio = ram > 0 ? bytes / ram : (double)NAN;
	if (ratio >= 0.0005)
		buf_addf(text, " = %.*f x %s",
			 ratio >= 0.995     ? 1
			 : ratio >= 0.00995 ? 2
					    : 3,
			 ratio, memory);
	else if (!isnan(ratio))
		buf_addf(text, ", less than 0.001 x %s", memory);
}

static void put_dataset(struct buf *out, const struct text_block *b)
{
	const struct dataset *ds = b->result->dataset;
	const struct dataset_totals *t = &b->result->totals;
	struct buf text;
	char number[UNITS_TEXT_BYTES];
	if (!ds)
		return;
	buf_init(&text);
	buf_addf(&text, "%s %s file%s of ",
		 units_human_count(number, ds->files), ds->format->name,
		 ds->files == 1 ? "" : "s");
	put_file_size(&text, t);
	if (ds->samples_per_file > 1)
		buf_addf(&text, ", %s samples each",
			 units_human_count(number, ds->samples_per_file));
	buf_addf(&text, ", %s", units_human_bytes(number, (double)t->bytes));
	if (t->estimate)
		buf_add(&text, " (estimate)");
	text_memory_ratio(&text, b, (double)t->bytes);
	text_put(out, "dataset", TEXT_SETTING_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* One more in the brackets: "(", then ", " between them. */
static void put_item(struct buf *text, bool *any, const char *item)
{
	buf_addf(text, "%s%s", *any ? ", " : " (", item);
	*any = true;
}

/* "rsize=1048576" is rsize=1m. */
static void put_mount_option(struct buf *text, const char *option, size_t len)
{
	const char *value = option + strcspn(option, "=") + 1;
	char size[UNITS_TEXT_BYTES];
	uint64_t bytes;
	buf_addn(text, option, (size_t)(value - option));
	snprintf(size, sizeof(size), "%.*s", (int)(option + len - value),
		 value);
	if (!strncmp(option, "rsize=", 6) && units_u64(size, &bytes, NULL) == 0)
		units_put_size(size, bytes);
	buf_add(text, size);
}

/* Of an NFS mount, what decides its speed. */
static void put_mount_options(struct buf *text, const char *options)
{
	static const char *const wanted[] = { "vers=", "proto=", "nconnect=",
					      "rsize=" };
	bool any = false;
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		size_t len;
		for (const char *o = options; *o; o += len + (o[len] == ',')) {
			len = strcspn(o, ",");
			if (strncmp(o, wanted[i], strlen(wanted[i])))
				continue;
			buf_add(text, any ? "," : " (");
			put_mount_option(text, o, len);
			any = true;
		}
	}
	if (any)
		buf_addc(text, ')');
}

static void put_device(struct buf *text, const struct storage_result *s,
		       const struct numa_result *numa)
{
	bool any = false;
	char item[96], size[UNITS_TEXT_BYTES];
	if (is_set(s->device_kind))
		put_item(text, &any, s->device_kind);
	if (is_set(s->device_model))
		put_item(text, &any, s->device_model);
	if (s->device_paths != UINT64_MAX) {
		snprintf(item, sizeof(item), "%" PRIu64 " path%s",
			 s->device_paths, s->device_paths == 1 ? "" : "s");
		put_item(text, &any, item);
	}
	if (is_set(s->scheduler)) {
		snprintf(item, sizeof(item), "scheduler %s", s->scheduler);
		put_item(text, &any, item);
	}
	if (s->read_ahead_bytes != UINT64_MAX) {
		snprintf(item, sizeof(item), "read_ahead %s",
			 units_human_bytes(size, (double)s->read_ahead_bytes));
		put_item(text, &any, item);
	}
	if (is_set(numa->loader_nodes) && numa->device_node != UINT64_MAX) {
		snprintf(item, sizeof(item), "NUMA node %" PRIu64,
			 numa->device_node);
		put_item(text, &any, item);
	}
	if (any)
		buf_addc(text, ')');
}

/* What decides the speed of a filesystem without a disk of this host. */
static void put_remote(struct buf *text, const struct storage_result *s)
{
	const char *type = is_set(s->filesystem) ? s->filesystem : "";
	if (!strncmp(type, "nfs", 3) && s->mount_options)
		put_mount_options(text, s->mount_options);
	else if (!strcmp(type, "lustre") && s->osts != UINT64_MAX)
		buf_addf(text, " (%" PRIu64 " OST%s)", s->osts,
			 s->osts == 1 ? "" : "s");
	else if (s->has_own_cache)
		buf_add(text, " (own cache: bytes from memory unknown)");
}

/* Of an engine that touches no file: what it plays, as its options say it. */
static void put_played(struct buf *text, const struct job *job)
{
	const struct mlgen_field *f = job->engine->opts;
	if (!verdict_is_model(job)) {
		buf_addf(text, "none: ioengine=%s touches no file",
			 job->engine->name);
		return;
	}
	buf_addf(text, "a model: ioengine=%s", job->engine->name);
	for (; f->name; f++) {
		if (field_is_default(f, job->engine_opts))
			continue;
		buf_addf(text, ", %s=", f->name);
		field_format(text, f, job->engine_opts);
	}
	buf_add(text, "; touches no file");
}

static bool is_usual(const char *option, size_t len)
{
	static const char *const usual[] = { "rw", "relatime" };
	for (size_t i = 0; i < sizeof(usual) / sizeof(*usual); i++)
		if (strlen(usual[i]) == len && !strncmp(usual[i], option, len))
			return true;
	return false;
}

/* Those that are not everywhere; NFS has its own choice above. */
static void put_mounted(struct buf *text, const struct storage_result *s)
{
	const char *type = is_set(s->filesystem) ? s->filesystem : "";
	const char *o = is_set(s->mount_options) ? s->mount_options : "";
	const char *before = ", mounted ";
	size_t len, shown = 0;
	if (!strncmp(type, "nfs", 3) || s->is_memory)
		return;
	for (; *o; o += len + (o[len] == ',')) {
		len = strcspn(o, ",");
		if (is_usual(o, len) || shown > OPTIONS_SHOWN)
			continue;
		shown += len + 1;
		buf_add(text, before);
		before = ",";
		if (shown > OPTIONS_SHOWN)
			buf_add(text, "... (all in JSON)");
		else
			buf_addn(text, o, len);
	}
}

void text_storage(struct buf *out, const struct text_block *b)
{
	const struct storage_result *s = b->storage;
	struct buf text;
	buf_init(&text);
	if (verdict_without_storage(b->job)) {
		put_played(&text, b->job);
		text_put(out, "storage", TEXT_SETTING_INDENT, buf_str(&text));
		buf_fini(&text);
		return;
	}
	buf_add(&text, is_set(s->filesystem) ? s->filesystem : "unknown");
	/* "tmpfs on tmpfs" says nothing. */
	if (is_set(s->mount_source) && strcmp(s->mount_source, "none") &&
	    (!s->filesystem || strcmp(s->mount_source, s->filesystem)))
		buf_addf(&text, " %s%s", s->mount_source[0] == '/' ? "on " : "",
			 s->mount_source);
	if (is_set(s->mount_target))
		buf_addf(&text, " at %s", s->mount_target);
	if (s->is_memory)
		buf_add(&text, ": this is memory");
	else if (is_set(s->device))
		put_device(&text, s, b->numa);
	else
		put_remote(&text, s);
	put_mounted(&text, s);
	text_put(out, "storage", TEXT_SETTING_INDENT, buf_str(&text));
	buf_fini(&text);
}

/* "2 CPUs (AMD EPYC, 1 NUMA node)" */
static void put_cpus(struct buf *text, const struct host *h)
{
	bool any = false;
	char nodes[48];
	buf_addf(text, "%" PRIu64, h->cpus);
	if (h->cpus_online > h->cpus)
		buf_addf(text, " of %" PRIu64, h->cpus_online);
	buf_addf(text, " CPU%s", h->cpus_online > 1 ? "s" : "");
	if (h->cpu_model[0])
		put_item(text, &any, h->cpu_model);
	if (h->numa_nodes) {
		snprintf(nodes, sizeof(nodes), "%" PRIu64 " NUMA node%s",
			 h->numa_nodes, h->numa_nodes == 1 ? "" : "s");
		put_item(text, &any, nodes);
	}
	if (any)
		buf_addc(text, ')');
}

static void put_memory(struct buf *text, const struct text_block *b)
{
	const struct host *h = &b->run->host;
	char size[UNITS_TEXT_BYTES];
	buf_add(text, units_human_bytes(size, (double)h->memory_bytes));
	if (h->memory_limit_bytes)
		buf_add(text, " (memory_limit)");
	else if (b->job->memory_limit)
		buf_addf(text, " (memory_limit=%s could not be had)",
			 units_put_size(size, b->job->memory_limit));
}

/* Of mlgen, and of the library that moved the bytes. */
static void put_versions(struct buf *text, const struct job *job)
{
	const char *engine = job->ioengine ? job->ioengine : "";
	buf_add(text, "mlgen " MLGEN_VERSION);
	if (!strcmp(engine, "io_uring") && is_set(MLGEN_LIBURING))
		buf_add(text, ", liburing " MLGEN_LIBURING);
	if (!strcmp(engine, "libaio") && is_set(MLGEN_LIBAIO))
		buf_add(text, ", " MLGEN_LIBAIO);
}

void text_machine(struct buf *out, const struct text_block *b)
{
	const struct host *h = &b->run->host;
	time_t start = (time_t)(b->run->timestamp_ms / 1000);
	struct tm utc;
	struct buf text;
	char when[32] = "";
	buf_init(&text);
	buf_addf(&text, "%s, ", h->hostname);
	put_cpus(&text, h);
	buf_add(&text, ", ");
	put_memory(&text, b);
	buf_addf(&text, ", %s, ", h->kernel);
	put_versions(&text, b->job);
	if (gmtime_r(&start, &utc) &&
	    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &utc) > 0)
		buf_addf(&text, ", %s", when);
	text_put(out, "host", TEXT_SETTING_INDENT, buf_str(&text));
	buf_fini(&text);
	text_command(out, b);
}

void text_settings(struct buf *out, const struct text_block *b)
{
	put_job(out, b);
	put_readers(out, b);
	put_dataset(out, b);
	text_storage(out, b);
	text_machine(out, b);
}
