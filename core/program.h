/* SPDX-License-Identifier: Apache-2.0 */
/* The program as a function; the library for other programs is lib/srtlua.h. */
#ifndef SRT_PROGRAM_H
#define SRT_PROGRAM_H

/**
 * program_main() - the whole command line, as the program srt-lua runs it
 * @argc, @argv: as main() got them; borrowed
 *
 * Context: a process that does nothing else: signal dispositions, descriptors 0
 * to 2 and children are taken over. Not reentrant.
 * Return: exit status (125 for a failure of our own).
 */
int program_main(int argc, char **argv);

#endif
