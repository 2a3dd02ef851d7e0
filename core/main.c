/* SPDX-License-Identifier: Apache-2.0 */
/* The program: all of it is in the library. */
#include "core/program.h"

#include <stdlib.h>

#include "core/signals.h"

int main(int argc, char **argv)
{
	int status = program_main(argc, argv);

	signals_repeat();
#ifndef __SANITIZE_ADDRESS__
	/* exit(3) would wait for a name that is still being resolved. */
	quick_exit(status);
#endif
	return status;
}
