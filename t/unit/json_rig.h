/* SPDX-License-Identifier: Apache-2.0 */
/* json_rig.h - a JSON text as another parser reads it. */
#pragma once

#include <check.h>
#include <jansson.h>
#include <stdlib.h>

static inline json_t *parse(char *text)
{
	json_error_t error;
	json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	ck_assert_msg(root != NULL, "%s at %d:\n%s", error.text, error.line, text);
	free(text);
	return root;
}

static inline double real_at(const json_t *o, const char *key)
{
	ck_assert_msg(json_is_real(json_object_get(o, key)), "%s", key);
	return json_real_value(json_object_get(o, key));
}

static inline long long int_at(const json_t *o, const char *key)
{
	ck_assert_msg(json_is_integer(json_object_get(o, key)), "%s", key);
	return json_integer_value(json_object_get(o, key));
}
