/* SPDX-License-Identifier: Apache-2.0 */
/* bpf_absent.c - the BPF backend of an mlgen that was built without BPF: reports the reason. */
#include "tracing/capture/capture.h"

#include <errno.h>

#include "config.h"

#ifndef HAVE_BPF
static int absent_probe(struct mlgen_err *err)
{
	return mlgen_fail(err, -ENOTSUP, "this mlgen was built without capture by BPF: %s",
			  BPF_ABSENT);
}

const struct capture_backend capture_bpf = {
	.name = "bpf",
	.probe = absent_probe,
};
#endif
