/* SPDX-License-Identifier: Apache-2.0 */
/* dio.c - --format=dio: events of DIO as JSON. */
#include "tracing/import/import_internal.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/map.h"
#include "base/util.h"

/* Parse exactly `count` digits and the byte `next`; 0 = any. */
static bool parse_digits(const char **s, unsigned count, char next, int *out)
{
	*out = 0;
	for (; count; count--, ++*s) {
		if (**s < '0' || **s > '9')
			return false;
		*out = 10 * *out + (**s - '0');
	}
	return !next || *(*s)++ == next;
}

static bool parse_zone(const char *s, int *seconds)
{
	int hours, minutes, sign = *s == '-' ? -1 : 1;

	*seconds = 0;
	if (*s == 'Z' || *s == 'z')
		return !s[1];
	if (!*s)
		return true;
	if (*s != '+' && *s != '-')
		return false;
	s++;
	if (!parse_digits(&s, 2, 0, &hours))
		return false;
	s += *s == ':';
	if (!parse_digits(&s, 2, 0, &minutes) || *s)
		return false;
	*seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

bool dio_time_parse(const char *text, uint64_t *ns)
{
	struct tm t = { 0 };
	uint64_t fraction = 0, unit = NS_PER_S;
	int zone;
	time_t whole;

	if (!parse_digits(&text, 4, '-', &t.tm_year) || !parse_digits(&text, 2, '-', &t.tm_mon) ||
	    !parse_digits(&text, 2, 0, &t.tm_mday) || (*text != 'T' && *text != ' '))
		return false;
	text++;
	if (!parse_digits(&text, 2, ':', &t.tm_hour) || !parse_digits(&text, 2, ':', &t.tm_min) ||
	    !parse_digits(&text, 2, 0, &t.tm_sec))
		return false;
	if (*text == '.' || *text == ',') {
		for (text++; *text >= '0' && *text <= '9'; text++) {
			unit /= 10;
			fraction += unit * (uint64_t)(*text - '0');
		}
		if (unit == NS_PER_S)
			return false;
	}
	if (!parse_zone(text, &zone))
		return false;
	t.tm_year -= 1900;
	t.tm_mon -= 1;
	whole = timegm(&t) - zone;
	if (whole < 0 || whole > INT64_MAX / (int64_t)NS_PER_S - 1)
		return false;
	*ns = (uint64_t)whole * NS_PER_S + fraction;
	return true;
}

struct dio {
	struct importing *m;
	struct mlgen_err *err;
	struct json_objects objects;
	struct calls *calls;
	struct map processes; /* already named in the trace */
	uint64_t tagged;      /* descriptors named by a tag */
};

/* The alternative names of members in versions and exports of DIO. */
static const char *const call_names[] = {
	"syscall", "syscall_name", "system_call_name", "sys_call_name", "call", "name", NULL
};
static const char *const begin_names[] = {
	"call_timestamp", "time_called", "enter_timestamp", "start_timestamp", "timestamp",
	"@timestamp",     NULL
};
static const char *const end_names[] = { "return_timestamp", "time_returned", "exit_timestamp",
					 "end_timestamp", NULL };
static const char *const duration_names[] = { "execution_time", "latency", "duration", NULL };
static const char *const result_names[] = { "return_value", "retval", "ret", "result", NULL };

/* ---- members of the event or of its arguments ---- */

struct dio_event {
	const json_t *event, *args; /* args: NULL = members of the event itself */
};

static const json_t *member(const struct dio_event *e, const char *const *names)
{
	const json_t *v = json_member(e->args, names);

	return v ? v : json_member(e->event, names);
}

static uint64_t size_in(const struct dio_event *e, const char *const *names)
{
	int64_t v;

	return json_whole(member(e, names), &v) && v >= 0 ? (uint64_t)v : TRACE_UNKNOWN;
}

static const char *text_in(const struct dio_event *e, const char *const *names)
{
	return json_string_value(member(e, names));
}

static uint32_t task_in(const json_t *event, const char *name)
{
	int64_t v;

	return json_whole(json_object_get(event, name), &v) && v > 0 && v <= UINT32_MAX
		       ? (uint32_t)v
		       : 0;
}

static bool time_in(const json_t *event, const char *const *names, uint64_t *ns)
{
	const json_t *v = json_member(event, names);

	return json_time(v, 1, ns) ||
	       (json_is_string(v) && dio_time_parse(json_string_value(v), ns));
}

/* ---- files and processes ---- */

static uint32_t name_of(struct dio *d, const char *text)
{
	return trace_fill_name(d->m->fill, text, strlen(text));
}

/* The tag that identifies a file without a name: device, inode and time of the open. */
static uint32_t tag_in(struct dio *d, const json_t *event)
{
	const json_t *tag = json_object_get(event, "file_tag");
	const json_t *dev = json_member(tag, ANY_OF("dev", "device"));
	const json_t *ino = json_member(tag, ANY_OF("ino", "inode", "inode_nr"));
	struct buf name = { 0 };
	int64_t device, inode;
	uint32_t id;

	if (json_is_string(tag) && json_string_length(tag))
		buf_addf(&name, "file %s", json_string_value(tag));
	else if (json_whole(dev, &device) && json_whole(ino, &inode))
		buf_addf(&name, "file %" PRId64 " %" PRId64, device, inode);
	else
		return 0;
	id = name_of(d, name.s);
	buf_fini(&name);
	d->tagged++;
	return id;
}

/* ---- events ---- */

static int add_call(struct dio *d, const struct dio_event *e, const char *name)
{
	const struct call *k = call_find(name);
	const char *from_kernel =
		json_string_value(json_member(e->event, ANY_OF("file_path", "kernel_file_path")));
	const char *given = text_in(
		e, ANY_OF("path", "pathname", "filename", "oldpath", "oldname", "file_path"));
	const char *target = text_in(e, ANY_OF("newpath", "newname"));
	const char *command = json_string_value(
		json_member(e->event, ANY_OF("comm", "process_name", "proc_name")));
	struct call_event s = { 0 };
	uint64_t end_ns;
	int64_t off;
	bool is_new = false;

	if (!k) {
		import_count_unknown(d->m, name);
		return 0;
	}
	if (!time_in(e->event, begin_names, &s.start_ns))
		return json_objects_unread(
			&d->objects, "an event without the start time of the call (call_timestamp, "
				     "in nanoseconds)");
	s.duration_ns = TRACE_UNKNOWN;
	if (time_in(e->event, end_names, &end_ns)) {
		if (end_ns < s.start_ns)
			return json_objects_unread(&d->objects,
						   "an event that ends before it begins");
		s.duration_ns = end_ns - s.start_ns;
	} else {
		json_time(json_member(e->event, duration_names), 1, &s.duration_ns);
	}
	s.pid = task_in(e->event, "pid");
	s.tid = task_in(e->event, "tid");
	s.has_result = json_whole(json_member(e->event, result_names), &s.result);
	if (!json_whole(member(e, ANY_OF("fd", "oldfd", "fildes", "fdes")), &s.fd))
		s.fd = -1;
	if (!json_whole(member(e, ANY_OF("whence")), &s.whence))
		s.whence = -1;
	s.off = json_whole(member(e, ANY_OF("offset", "off", "pos")), &off) &&
				(off >= 0 || k->kind == CALL_SEEK)
			? (uint64_t)off
			: TRACE_UNKNOWN;
	s.bytes = size_in(e, ANY_OF("count", "size", "bytes", "length", "len", "bytes_request"));
	s.flags = size_in(e, ANY_OF("flags", "flag"));
	if (has_text(from_kernel))
		s.file = name_of(d, from_kernel);
	else if (has_text(given))
		s.file = name_of(d, given);
	if (k->kind == CALL_RENAME && has_text(target))
		s.becomes = name_of(d, target);
	/* The open of a descriptor has a better name than the tag. */
	if (!s.file && !calls_has_fd(d->calls, s.pid, s.fd))
		s.file = tag_in(d, e->event);
	if (has_text(command) && s.pid)
		map_number(&d->processes, s.pid, &is_new);
	if (is_new) {
		uint64_t pids[] = { s.pid, task_in(e->event, "ppid") };

		trace_fill_entry(d->m->fill, TRACE_PROCESS, pids, pids[1] ? 2 : 1, command);
	}
	return calls_add(d->calls, k, &s, d->err);
}

static int add_event(void *arg, const json_t *whole)
{
	struct dio *d = arg;
	const json_t *inner = json_object_get(whole, "_source");
	struct dio_event e = { .event = json_is_object(inner) ? inner : whole };
	const char *name;

	/* Elasticsearch precedes each event with an action. */
	if (json_object_size(whole) == 1 &&
	    json_is_object(json_member(whole, ANY_OF("index", "create")))) {
		d->m->tally.lines--;
		return 0;
	}
	e.args = json_member(e.event, ANY_OF("args", "arguments"));
	name = json_string_value(json_member(e.event, call_names));
	if (!has_text(name))
		return json_objects_unread(
			&d->objects, "an event without the name of its system call (syscall)");
	return add_call(d, &e, name);
}

int import_dio(struct importing *m, struct mlgen_err *err)
{
	struct dio d = { .m = m, .err = err };
	int rc = 0;

	d.objects.m = m;
	d.objects.err = err;
	d.calls = calls_new(m, true);
	for (size_t i = 0; rc == 0 && i < m->file_count; i++)
		rc = json_objects_read(&d.objects, m->files[i], add_event, &d);
	if (rc == 0)
		rc = import_check_unread(m, "dio", err);
	if (rc == 0 && d.tagged)
		import_note(m,
			    "%" PRIu64 " descriptor%s of files that were opened before the log "
			    "begins: a tag replaces the name",
			    d.tagged, plural(d.tagged));
	if (rc == 0) {
		calls_add_notes(d.calls);
		import_note(
			m, "DIO sees neither page faults on mapped files nor requests of io_uring");
	}
	map_fini(&d.processes);
	calls_free(d.calls);
	json_objects_fini(&d.objects);
	return rc;
}
