/* SPDX-License-Identifier: Apache-2.0 */
/* comparison_json.c - a comparison as programs read it: a line for each option and figure. */
#include <jansson.h>
#include <math.h>

#include "ask/comparison.h"
#include "base/jsonfile.h"

static json_t *real_or_null(double v)
{
	return isnan(v) ? json_null() : json_real(v);
}

static json_t *line_object(const struct comparison *c)
{
	json_t *o = json_object();

	json_object_set_new(o, "jobname", json_string(c->of[0]->job->jobname));
	return o;
}

static void put_line(FILE *to, json_t *o)
{
	jsonfile_dump(to, o, 0);
	json_decref(o);
	fputc('\n', to);
}

static json_t *row_object(const struct comparison *c, const struct comparison_row *row)
{
	json_t *o = line_object(c), *values = json_array();
	json_t *differences = json_array(), *marks = json_array(), *noise = json_array();

	for (size_t i = 0; i < c->count; i++) {
		const char *word = i ? comparison_mark_word(row->marks[i]) : NULL;
		bool is_known = figure_told(&row->values[i]) != VALUE_NONE;

		json_array_append_new(values,
				      real_or_null(is_known ? row->values[i].real : (double)NAN));
		json_array_append_new(differences,
				      i ? real_or_null(row->difference[i]) : json_null());
		json_array_append_new(noise, i ? real_or_null(row->noise[i]) : json_null());
		json_array_append_new(marks, word ? json_string(word) : json_null());
	}
	json_object_set_new(o, "figure", json_string(row->figure.path));
	json_object_set_new(o, "values", values);
	json_object_set_new(o, row->is_points ? "difference_points" : "difference_percent",
			    differences);
	json_object_set_new(o, row->is_points ? "noise_points" : "noise_percent", noise);
	json_object_set_new(o, "marks", marks);
	json_object_set_new(o, "decides", json_boolean(row->decides));
	return o;
}

static json_t *option_object(const struct comparison *c, const char *option)
{
	json_t *o = line_object(c), *values = json_array();

	for (size_t i = 0; i < c->count; i++) {
		const char *text = record_option(c->of[i], option);

		json_array_append_new(values, text ? json_string(text) : json_null());
	}
	json_object_set_new(o, "option", json_string(option));
	json_object_set_new(o, "values", values);
	return o;
}

void comparison_print_json(FILE *to, const struct comparison *c, const struct comparison_rows *rows)
{
	struct record_options at = { 0 };
	const char *option;

	while ((option = comparison_next_option(c, &at)))
		put_line(to, option_object(c, option));
	for (size_t i = 0; i < rows->count; i++)
		put_line(to, row_object(c, &rows->of[i]));
}
