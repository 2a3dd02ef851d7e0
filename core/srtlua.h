/* SPDX-License-Identifier: Apache-2.0 */
/* The public C interface of srt-lua. */
#ifndef SRTLUA_H
#define SRTLUA_H

#ifdef __cplusplus
extern "C" {
#endif

/** The version of the library, as in "0.1.0"; static storage. */
const char *srtlua_version(void);

/**
 * srtlua_main() - the whole command line, as the program srt-lua runs it
 * @argc, @argv: as main() got them; borrowed
 *
 * Context: a process that does nothing else: signal dispositions, descriptors 0
 * to 2 and children are taken over. Not reentrant.
 * Return: exit status (125 for a failure of our own).
 */
int srtlua_main(int argc, char **argv);

#ifdef __cplusplus
}
#endif

#endif
