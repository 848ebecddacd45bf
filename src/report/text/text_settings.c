/* SPDX-License-Identifier: Apache-2.0 */
/* text_settings.c - lines about the settings of a run: title, storage, host. */
#include "report/text/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "config.h"
#include "field/fields.h"
#include "job/job.h"

/* At most this many characters of mount options: the options of an overlay would fill the screen.
 */
#define OPTIONS_SHOWN 100

void text_memory_ratio(struct buf *text, const struct text_block *b, double bytes)
{
	const struct host *host = &b->run->host;
	const char *memory = host->memory_limit_bytes ? "memory_limit"
			     : host->other_hosts      ? "memory of all hosts"
						      : "this host's memory";
	double ram = (double)host_job_memory_bytes(host);
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

/* Append an item of a list in brackets, after "(" or ", ". */
static void append_item(struct buf *text, bool *any, const char *item)
{
	buf_addf(text, "%s%s", *any ? ", " : " (", item);
	*any = true;
}

/* Append a mount option; "rsize=1048576" becomes rsize=1m. */
static void append_mount_option(struct buf *text, const char *option, size_t len)
{
	const char *value = option + strcspn(option, "=") + 1;
	char size[UNITS_TEXT_BYTES];
	uint64_t bytes;

	buf_addn(text, option, (size_t)(value - option));
	snprintf(size, sizeof(size), "%.*s", (int)(option + len - value), value);
	if (!strncmp(option, "rsize=", 6) && units_u64(size, &bytes, NULL) == 0)
		units_format_size(size, bytes);
	buf_add(text, size);
}

/* Append the options that decide the speed of an NFS mount. */
static void append_nfs_options(struct buf *text, const char *options)
{
	static const char *const wanted[] = { "vers=", "proto=", "nconnect=", "rsize=" };
	bool any = false;

	for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
		size_t len;

		for (const char *o = options; *o; o += len + (o[len] == ',')) {
			len = strcspn(o, ",");
			if (strncmp(o, wanted[i], strlen(wanted[i])))
				continue;
			buf_add(text, any ? "," : " (");
			append_mount_option(text, o, len);
			any = true;
		}
	}
	if (any)
		buf_addc(text, ')');
}

/* Append the options of an engine without files: they say what it simulates. */
static void append_model(struct buf *text, const struct job *job)
{
	const struct mlgen_field *f = job->engine->opts;

	if (!verdict_is_model(job)) {
		buf_addf(text, "none: ioengine=%s touches no file", job->engine->name);
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

void text_storage(struct buf *text, const struct text_block *b)
{
	const struct storage_result *s = b->storage;
	const char *type = has_text(s->filesystem) ? s->filesystem : "";

	if (verdict_without_storage(b->job)) {
		append_model(text, b->job);
		return;
	}
	buf_add(text, has_text(s->filesystem) ? s->filesystem : "unknown");
	/* Do not append the "on tmpfs" of "tmpfs on tmpfs". */
	if (has_text(s->mount_source) && strcmp(s->mount_source, "none") &&
	    (!s->filesystem || strcmp(s->mount_source, s->filesystem)))
		buf_addf(text, " %s%s", s->mount_source[0] == '/' ? "on " : "", s->mount_source);
	text_say(text, b, "[ at {storage.mount_target}]");
	if (s->is_memory) {
		buf_add(text, ": this is memory");
	} else if (has_text(s->device)) {
		const struct numa_result *numa = b->numa;
		struct buf items = { 0 };

		text_say(&items, b,
			 "[, {storage.device_kind}][, {storage.device_model}][, "
			 "{storage.device_paths} "
			 "path{s}][, scheduler {storage.scheduler}][, read_ahead "
			 "{storage.read_ahead_bytes}]");
		if (has_text(numa->loader_nodes) && numa->device_node != UINT64_MAX)
			buf_addf(&items, ", NUMA node %" PRIu64, numa->device_node);
		if (items.len)
			buf_addf(text, " (%s)", buf_str(&items) + strlen(", "));
		buf_fini(&items);
	} else if (!strncmp(type, "nfs", 3) && s->mount_options) {
		append_nfs_options(text, s->mount_options);
	} else if (!strcmp(type, "lustre") && s->osts != UINT64_MAX) {
		text_say(text, b, " ({storage.osts} OST{s})");
	} else if (s->has_own_cache) {
		buf_add(text, " (has its own cache: bytes from memory unknown)");
	}

	const char *o = has_text(s->mount_options) ? s->mount_options : "";
	const char *before = ", mounted ";
	size_t len, shown = 0;

	if (!strncmp(type, "nfs", 3) || s->is_memory)
		return;
	for (; *o; o += len + (o[len] == ',')) {
		len = strcspn(o, ",");
		bool is_usual = (len == strlen("rw") && !strncmp(o, "rw", len)) ||
				(len == strlen("relatime") && !strncmp(o, "relatime", len));
		if (is_usual || shown > OPTIONS_SHOWN)
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

void text_machine(struct buf *text, const struct text_block *b)
{
	const struct host *h = &b->run->host;
	time_t start = (time_t)(b->run->timestamp_ms / 1000);
	struct tm utc;
	char when[32] = "", size[UNITS_TEXT_BYTES];

	if (!b->is_first)
		return;
	buf_addf(text, "%s, ", h->hostname);

	bool any = false;
	char nodes[48];

	buf_addf(text, "%" PRIu64, h->cpus);
	if (h->cpus_online > h->cpus)
		buf_addf(text, " of %" PRIu64, h->cpus_online);
	buf_addf(text, " CPU%s", h->cpus_online > 1 ? "s" : "");
	if (h->cpu_model[0])
		append_item(text, &any, h->cpu_model);
	if (h->numa_nodes) {
		snprintf(nodes, sizeof(nodes), "%" PRIu64 " NUMA node%s", h->numa_nodes,
			 h->numa_nodes == 1 ? "" : "s");
		append_item(text, &any, nodes);
	}
	if (any)
		buf_addc(text, ')');

	buf_addf(text, ", %s", units_human_bytes(size, (double)h->memory_bytes));
	if (h->memory_limit_bytes)
		buf_add(text, " (memory_limit)");
	else if (b->job->memory_limit)
		buf_addf(text, " (memory_limit=%s could not be applied)",
			 units_format_size(size, b->job->memory_limit));
	buf_addf(text, ", %s, ", h->kernel);

	/* Only a result that was read from a document has versions. Otherwise this program made the
	 * result. */
	const struct run_result *run = b->run;
	const char *engine = b->job->ioengine ? b->job->ioengine : "";
	bool is_own = !run->version;
	const char *uring = is_own ? MLGEN_LIBURING : run->liburing;
	const char *aio = is_own ? MLGEN_LIBAIO : run->libaio;

	buf_addf(text, "mlgen %s", is_own ? MLGEN_VERSION : run->version);
	if (!strcmp(engine, "io_uring") && has_text(uring))
		buf_addf(text, ", liburing %s", uring);
	if (!strcmp(engine, "libaio") && has_text(aio))
		buf_addf(text, ", %s", aio);

	if (gmtime_r(&start, &utc) &&
	    strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S UTC", &utc) > 0)
		buf_addf(text, ", %s", when);
}

void text_append_title(struct buf *out, const char *title, const char *notes)
{
	if (title)
		text_append(out, "title", TEXT_SETTING_INDENT, title);
	for (const char *at = notes; at && *at; at += strspn(at, "\n")) {
		struct buf line = { 0 };
		size_t len = strcspn(at, "\n");

		buf_addn(&line, at, len);
		text_append_buf(out, "note", TEXT_SETTING_INDENT, &line);
		at += len;
	}
}

void text_title(struct buf *out, const struct text_block *b)
{
	if (b->is_first)
		text_append_title(out, b->run->title, b->run->notes);
}
