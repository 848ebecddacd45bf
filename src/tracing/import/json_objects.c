/* SPDX-License-Identifier: Apache-2.0 */
/* json_objects.c - read a log of JSON objects, one at a time. */
#include "tracing/import/import_internal.h"

#include <inttypes.h>
#include <string.h>

#include "trace/trace.h"

/* ---- the bounds of an object ---- */

static bool is_separator(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r') || c == ',' || c == '[' || c == ']';
}

/* False: the object ends with this byte. */
static bool scan_byte(struct json_objects *o, char c)
{
	if (o->is_string) {
		if (!o->is_escaped && c == '"')
			o->is_string = false;
		o->is_escaped = !o->is_escaped && c == '\\';
	} else if (c == '"') {
		o->is_string = true;
	} else if (c == '{' || c == '[') {
		o->depth++;
	} else if (c == '}' || c == ']') {
		o->depth -= o->depth > 0;
	}
	o->is_broken |= c == '\n' && (o->is_string || !o->depth);
	return o->depth || o->is_string || (c != '}' && c != ']');
}

/* Append buffered bytes to the object; *is_whole = the object has ended. */
static int scan_block(struct json_objects *o, bool *is_whole)
{
	struct trace_input *in = &o->in;
	const char *from = in->buffer + in->at, *end = in->buffer + in->end;
	const char *at = from;

	while (at < end && !*is_whole) {
		if (*at == '{' && o->last == '\n' && o->depth) {
			o->is_broken = true;
			break;
		}
		in->line += *at == '\n';
		o->last = *at;
		*is_whole = !scan_byte(o, *at++) || o->is_broken;
	}
	*is_whole |= o->is_broken;
	if (o->text.len + (size_t)(at - from) > TRACE_INPUT_LINE_MAX)
		return trace_input_fail(in, o->line, o->err, "an object of more than 1 MiB");
	buf_addn(&o->text, from, (size_t)(at - from));
	in->at = (size_t)(at - in->buffer);
	return 1;
}

/* Read the text of the next object after separators. Anything else up to the end of a line counts
 * as an unreadable object. 1, 0 at the end, or -errno with err. */
static int next_object(struct json_objects *o)
{
	struct importing *m = o->m;
	struct trace_input *in = &o->in;
	bool is_whole = false;
	int rc;

	while ((rc = trace_input_more(in, o->err)) > 0) {
		char c = in->buffer[in->at];

		if (!is_separator(c))
			break;
		in->line += c == '\n';
		o->last = c;
		in->at++;
	}
	buf_reset(&o->text);
	o->depth = 0;
	o->is_string = o->is_escaped = o->is_broken = false;
	o->line = in->line;
	while (rc > 0 && !is_whole) {
		rc = trace_input_more(in, o->err);
		if (rc > 0)
			rc = scan_block(o, &is_whole);
	}
	/* The program that wrote the log was stopped; its last object cannot be parsed. */
	if (rc == 0 && o->text.len) {
		if (strcmp(m->files[m->file_count - 1], in->name) == 0 || m->file_count == 1)
			m->tally.is_cut = true;
		else
			import_note(m, "%s: the last line is incomplete; is the file complete?",
				    in->name);
	}
	return rc;
}

/* ---- parsing ---- */

int json_objects_unread(struct json_objects *o, const char *why)
{
	return import_count_unread(o->m, o->in.name, o->line, o->err, "%s", why);
}

static int parse_object(struct json_objects *o, json_object_fn each, void *arg)
{
	json_error_t wrong;
	json_t *object;
	int rc;

	o->m->tally.lines++;
	if (*o->text.s != '{')
		return json_objects_unread(o, "is not a JSON object");
	if (o->is_broken)
		return json_objects_unread(o, "is not a complete JSON object");
	object = json_loadb(o->text.s, o->text.len, 0, &wrong);
	if (!object)
		return import_count_unread(o->m, o->in.name, o->line, o->err,
					   "is not JSON: %s, at byte %d of it", wrong.text,
					   wrong.position);
	rc = each(arg, object);
	json_decref(object);
	return rc;
}

int json_objects_read(struct json_objects *o, const char *path, json_object_fn each, void *arg)
{
	int rc = trace_input_open(&o->in, path, o->err);

	o->last = '\n';
	while (rc == 0 && (rc = next_object(o)) > 0)
		rc = parse_object(o, each, arg);
	trace_input_close(&o->in);
	return rc;
}

void json_objects_fini(struct json_objects *o)
{
	buf_fini(&o->text);
}

/* ---- members ---- */

const json_t *json_member(const json_t *object, const char *const *names)
{
	for (; *names; names++) {
		const json_t *v = json_object_get(object, *names);

		if (v && !json_is_null(v))
			return v;
	}
	return NULL;
}

bool json_whole(const json_t *value, int64_t *out)
{
	if (json_is_integer(value)) {
		*out = json_integer_value(value);
		return true;
	}
	return json_is_string(value) &&
	       !trace_number_parse_signed(json_string_value(value), json_string_length(value), out);
}

bool json_time(const json_t *value, uint64_t unit_ns, uint64_t *out)
{
	int64_t whole;
	double ns;

	if (json_whole(value, &whole)) {
		if (whole < 0 || (uint64_t)whole > INT64_MAX / unit_ns)
			return false;
		*out = (uint64_t)whole * unit_ns;
		return true;
	}
	ns = json_is_real(value) ? json_real_value(value) * (double)unit_ns : -1;
	if (!(ns >= 0 && ns < 9e18))
		return false;
	*out = (uint64_t)(ns + 0.5);
	return true;
}
