/* SPDX-License-Identifier: Apache-2.0 */
/* The host's name services, for a program that libc is linked into. */
#ifndef SRT_NSS_H
#define SRT_NSS_H

#include <limits.h>
#include <netdb.h>
#include <stdbool.h>
#include <sys/types.h>

/*
 * A static glibc (from 2.34) has the services "files" and "dns" in it. Others
 * it would load as plugins, which must be of its very version and bring a
 * second libc: getent(1), which is part of libc, asks those.
 */

/**
 * nss_is_built_in() - are a database's services the two that need no plugin?
 * @conf: text of nsswitch.conf(5); "" where there is none
 * @database: "hosts"
 */
bool nss_is_built_in(const char *conf, const char *database);

/**
 * nss_getent() - getaddrinfo(3) by `getent ahosts`
 * @name, @service, @hints, @out: as there; @service: a port number or NULL;
 *	of @hints the socket type counts
 * Context: blocks; any thread.
 * Return: 0 or an EAI_ code. @out: for freeaddrinfo(3).
 */
int nss_getent(const char *name, const char *service,
	       const struct addrinfo *hints, struct addrinfo **out);

/**
 * struct account - a user of the host
 * @home: absolute, or as the database has it
 */
struct account {
	char name[256];
	char home[PATH_MAX];
};

/**
 * nss_account() - look a user up: /etc/passwd first, then `getent passwd`
 * @user: name, or NULL for the one with @uid
 * Return: is there one?
 */
bool nss_account(const char *user, uid_t uid, struct account *out);

#endif
