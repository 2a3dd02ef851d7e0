/* SPDX-License-Identifier: Apache-2.0 */
/* Ends all that a process has started, where no PID namespace does. */
#ifndef SRT_DESCENDANTS_H
#define SRT_DESCENDANTS_H

/**
 * descendants_end() - kill and reap every child, and whatever they leave behind
 *
 * Only children are ever killed, whose ids can't be used anew before they are
 * reaped; theirs become ours as they die, since we are a subreaper. It goes on
 * until there is none: killing is far cheaper than forking, so nobody forks
 * away from it. What is not held: a process that gets away before by way of a
 * daemon outside, and one that stays in a system call which can't be killed.
 * Context: PR_SET_CHILD_SUBREAPER is set; one thread; SIGCHLD not ignored.
 * Return: 0, or -errno where /proc can't tell the children.
 */
int descendants_end(void);

#endif
