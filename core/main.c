/* SPDX-License-Identifier: Apache-2.0 */
/* The program: all of it is in the library. */
#include "core/srtlua.h"

int main(int argc, char **argv)
{
	return srtlua_main(argc, argv);
}
