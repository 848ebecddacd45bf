/* SPDX-License-Identifier: Apache-2.0 */
/* checkpoint_writer.c - who writes a checkpoint, and whether somebody else still needs it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/units.h"
#include "base/util.h"
#include "data/state/state.h"

void checkpoint_sign(struct checkpoint *k, const struct process *self)
{
	k->writer = *self;
	k->begun_s = (uint64_t)time(NULL);
}

json_t *checkpoint_writer_encode(const struct checkpoint *k)
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

void checkpoint_writer_decode(const json_t *from, struct checkpoint *k)
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
