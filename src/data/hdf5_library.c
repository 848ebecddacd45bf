/* SPDX-License-Identifier: Apache-2.0 */
/* hdf5_library.c - libhdf5, loaded when the first HDF5 file is asked for. */
#include "config.h"

#ifdef HAVE_HDF5

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "base/util.h"
#include "data/hdf5_library.h"

/* Functions and identifiers alike: a pointer, and the symbol it points to. */
static const struct {
	const char *symbol;
	size_t off;
} symbols[] = {
#define HDF5_SYMBOL(name) { "H5" #name, offsetof(struct hdf5_library, name) },
	HDF5_FUNCTIONS(HDF5_SYMBOL)
#undef HDF5_SYMBOL
#define HDF5_SYMBOL(name)                                                      \
	{ "H5" #name "_g", offsetof(struct hdf5_library, name) },
		HDF5_IDS(HDF5_SYMBOL)
#undef HDF5_SYMBOL
};

static bool find_symbols(struct hdf5_library *library, void *object)
{
	for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
		void *at = dlsym(object, symbols[i].symbol);

		if (!at)
			return false;
		memcpy((char *)library + symbols[i].off, &at, sizeof(at));
	}
	return true;
}

const struct hdf5_library *hdf5_library(struct mlgen_err *err)
{
	static struct hdf5_library library;
	void *object;

	if (library.open)
		return &library;
	object = dlopen(HDF5_SONAME, RTLD_NOW | RTLD_LOCAL);
	if (!object || !find_symbols(&library, object)) {
		library.open = NULL;
		mlgen_fail(err, -ENOENT,
			   "format=hdf5: libhdf5 cannot be loaded: %s; install "
			   "the package that has %s",
			   dlerror(), HDF5_SONAME);
		return NULL;
	}
	/* No handler of its own at exit, whichever thread that is in; nothing
	 * on stderr. */
	library.dont_atexit();
	library.open();
	library.Eset_auto2(H5E_DEFAULT, NULL, NULL);
	return &library;
}

#endif
