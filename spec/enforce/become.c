/* SPDX-License-Identifier: Apache-2.0 */
/*
 * become ID PROGRAM [ARG...]: runs a program as an ordinary user, who has no
 * entry in any file. In C because Python would copy itself to do it.
 */
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	unsigned long id = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;

	if (id == 0)
		return 99;
	if (setgroups(0, NULL) != 0 || setresgid(id, id, id) != 0 ||
	    setresuid(id, id, id) != 0) {
		perror("become");
		return 99;
	}
	execvp(argv[2], argv + 2);
	perror(argv[2]);
	return 127;
}
