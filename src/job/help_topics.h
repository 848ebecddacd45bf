/* SPDX-License-Identifier: Apache-2.0 */
/* help_topics.h - --help: one screen, the options of a topic, or all of them. */
#pragma once

#include <stdio.h>

#include <mlgen/engine.h>
#include <mlgen/err.h>

/*
 * Topics are the groups of the tables of options: "dataset", "plain-io". "" is the screen that
 * names them, "all" every option a line, the name of an option what --cmdhelp says of it. 0, or
 * -ENOENT with the topics in err.
 */
int help_topic(FILE *to, const char *topic, const struct mlgen_engine *const *engines,
	       struct mlgen_err *err);
