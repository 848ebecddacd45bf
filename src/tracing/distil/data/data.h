/* SPDX-License-Identifier: Apache-2.0 */
/* data.h - the data set of a training run: its files, the calls that read them, their order. */
#pragma once

/*
 * A sample book has an account of each file of samples. explain() compares the calls of visits with
 * the calls that mlgen's plans would make on a file of the same size, which a file model provides.
 * Calls that no plan makes become templates (access=recorded). The order of reads is compared with
 * the names of files and with the previous epoch (ordering), and with the places of adjacent
 * samples (neighbours).
 */

#include "tracing/distil/facts/facts.h"

/*
 * Write the parts of a training section: options of the data set, of the calls that read a sample,
 * and of the order of samples. Call the functions in this order; each one fills its part of
 * d->found[party]. 0, or -errno with err: see visits_next, or a side file cannot be written.
 */
int distil_dataset(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);
int distil_access(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);
int distil_order(struct distil *d, uint32_t party, struct jobsection *to, struct mlgen_err *err);
