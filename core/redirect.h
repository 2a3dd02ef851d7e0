/* SPDX-License-Identifier: Apache-2.0 */
/* All that programs inside send elsewhere leads to a port of ours. */
#ifndef SRT_REDIRECT_H
#define SRT_REDIRECT_H

#include "core/plan.h"

/**
 * redirect_prepare() - give the namespace addresses that are not loopback's
 *
 * Resolvers look for such before they ask (AI_ADDRCONFIG). Cheap.
 * Context: PID 1, CAP_NET_ADMIN in its own network namespace.
 * Return: 0 or -errno. Without IPv6 there is none of that.
 */
int redirect_prepare(const struct redirect *redirect);

/**
 * redirect_probe() - is nf_tables there? Asks it for something, and no more.
 * Context: as above.
 * Return: 0, or -errno where redirect_lead() would fail.
 */
int redirect_probe(void);

/**
 * redirect_lead() - routes and address translation
 *
 * From then on TCP to any address that is not one of the namespace's own goes
 * to @redirect's port on loopback; connections keep what getpeername(2) tells.
 * All else that would leave is refused as it is sent (EPERM). Before, there is
 * no way out (ENETUNREACH).
 *
 * The first namespace of a machine that translates makes the kernel patch its
 * code, which takes 10 to 30 ms on a busy virtual machine, and 0.3 ms while
 * there is another one; so it is done when it is first needed.
 * Context: as above, once, after redirect_prepare().
 * Return: 0, or -errno with nothing changed that matters: -EPROTONOSUPPORT,
 * -EOPNOTSUPP or -ENOENT where nf_tables or a part of it is missing.
 */
int redirect_lead(const struct redirect *redirect);

/**
 * redirect_try() - could it be done on this machine?
 *
 * Tries it in namespaces of a process of its own.
 * Return: 0 or -errno, as of redirect_lead().
 */
int redirect_try(const struct redirect *redirect);

#endif
