/* SPDX-License-Identifier: Apache-2.0 */
/* comparison_json.c - a comparison as programs read it: a line for each option and figure. */
#include <math.h>

#include "ask/comparison.h"

static json_t *real_or_null(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

static json_t *line_object(const struct comparison *c)
{
	json_t *job = results_job(&c->docs[0], c->job[0]);
	json_t *o = json_object();
	json_object_set_new(o, "jobname", json_string(results_job_name(job)));
	return o;
}

static void put_line(FILE *to, json_t *o)
{
	json_dumpf(o, to, JSON_REAL_PRECISION(15));
	json_decref(o);
	fputc('\n', to);
}

static json_t *row_object(const struct comparison *c,
			  const struct comparison_row *row)
{
	json_t *o = line_object(c), *values = json_array();
	json_t *differences = json_array(), *marks = json_array(),
	       *noise = json_array();
	for (size_t i = 0; i < c->count; i++) {
		const char *word =
			i ? comparison_mark_word(row->marks[i]) : NULL;
		bool is_known = figure_told(&row->values[i]) != VALUE_NONE;
		json_array_append_new(
			values, real_or_null(is_known ? row->values[i].real
						      : (double)NAN));
		json_array_append_new(differences,
				      i ? real_or_null(row->difference[i])
					: json_null());
		json_array_append_new(noise, i ? real_or_null(row->noise[i])
					       : json_null());
		json_array_append_new(marks,
				      word ? json_string(word) : json_null());
	}
	json_object_set_new(o, "figure", json_string(row->figure.path));
	json_object_set_new(o, "values", values);
	json_object_set_new(
		o, row->is_points ? "difference_points" : "difference_percent",
		differences);
	json_object_set_new(
		o, row->is_points ? "noise_points" : "noise_percent", noise);
	json_object_set_new(o, "marks", marks);
	json_object_set_new(o, "decides", json_boolean(row->decides));
	return o;
}

void comparison_print_json(FILE *to, const struct comparison *c,
			   const struct comparison_rows *rows)
{
	json_t *options = comparison_options(c), *values;
	const char *option;
	json_object_foreach(options, option, values)
	{
		json_t *o = line_object(c);
		json_object_set_new(o, "option", json_string(option));
		json_object_set(o, "values", values);
		put_line(to, o);
	}
	json_decref(options);
	for (size_t i = 0; i < rows->count; i++)
		put_line(to, row_object(c, &rows->of[i]));
}
