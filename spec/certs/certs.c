/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the tests in Python ask of the certificates' code:
 *   certs mint CERT KEY HOST…       the CA's PEM, then each leaf's chain
 *   certs keep HOST COUNT           asks again and again; the cache's answers
 *   certs verify ROOTS HOST CHAIN [NOW]   "ok KIND USAGES" or the reason
 *   certs roots FILE [TIMES]        what there is; how long it takes
 * CERT and KEY are "-" for a CA of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/util.h"
#include "proxy/authority.h"
#include "proxy/pem.h"
#include "proxy/verify.h"

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "certs: %s\n", what);
	exit(2);
}

/* Never freed: the program is short. */
static struct proxy_text text_of(const char *path)
{
	FILE *file = strcmp(path, "-") != 0 ? fopen(path, "re") : NULL;
	char *data = NULL;
	size_t size = 0;

	if (strcmp(path, "-") == 0)
		return (struct proxy_text){ NULL, 0 };
	if (!file || getdelim(&data, &size, EOF, file) < 0)
		die(path);
	size = (size_t)ftell(file);
	fclose(file);
	return (struct proxy_text){ data, size };
}

static double seconds(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static struct authority *authority_of(const char *cert, const char *key)
{
	struct authority *authority;
	const char *why;

	if (authority_new(&authority, text_of(cert), text_of(key), &why)) {
		printf("%s\n", why);
		exit(1);
	}
	return authority;
}

static void print(struct proxy_text text)
{
	fwrite(text.data, 1, text.size, stdout);
}

static int mint(int count, char **args)
{
	struct authority *authority = authority_of(args[0], args[1]);
	const struct authority_leaf *leaf;
	struct pbuf pem = { 0 };
	const char *why;

	print(authority_certificate(authority));
	for (int i = 2; i < count; i++) {
		leaf = authority_leaf(authority, args[i], &why);
		if (!leaf) {
			printf("%s\n", why);
			return 1;
		}
		printf("# %s %s\n", args[i],
		       leaf->issuer_key_type == BR_KEYTYPE_RSA ? "RSA" : "EC");
		for (size_t j = 0; j < leaf->count; j++)
			pem_write(&pem, "CERTIFICATE", leaf->chain[j].data,
				  leaf->chain[j].data_len);
		authority_leaf_put(leaf);
		print(pbuf_text(&pem));
		pbuf_free(&pem);
	}
	authority_free(authority);
	return 0;
}

/* One leaf is held while many others come; its bytes must stay. */
static int keep(int count, char **args)
{
	struct authority *authority = authority_of("-", "-");
	const struct authority_leaf *held, *again, *other;
	double start = seconds();
	int number = atoi(args[1]);
	char name[64];
	const char *why;

	(void)count;
	held = authority_leaf(authority, args[0], &why);
	again = authority_leaf(authority, args[0], &why);
	printf("%s\n", held && held == again ? "same" : "other");
	authority_leaf_put(again);
	for (int i = 0; i < number; i++) {
		snprintf(name, sizeof(name), "h%d.test", i);
		other = authority_leaf(authority, name, &why);
		if (!other)
			die(why);
		authority_leaf_put(other);
	}
	again = authority_leaf(authority, args[0], &why);
	printf("%s\n", held == again ? "same" : "other");
	printf("%02x\n", held->chain[0].data[0]);
	printf("%.3f ms\n", (seconds() - start) * 1000 / (number + 1));
	authority_leaf_put(again);
	authority_leaf_put(held);
	authority_free(authority);
	return 0;
}

static struct trust *trust_of(const char *path, struct trust_count *count)
{
	struct trust *trust = trust_new();

	if (!trust || trust_add(trust, text_of(path), count))
		die("no trust");
	return trust;
}

/* In small pieces, as records may bring it. */
static void feed(struct verify *verify, const unsigned char *bytes, size_t size)
{
	size_t step;

	verify->class->start_cert(&verify->class, (uint32_t)size);
	for (size_t at = 0; at < size; at += step) {
		step = size - at < 100 ? size - at : 100;
		verify->class->append(&verify->class, bytes + at, step);
	}
	verify->class->end_cert(&verify->class);
}

static void feed_all(struct verify *verify, struct proxy_text pem)
{
	struct pem_block block;

	verify->class->start_chain(&verify->class, "other.test");
	while (pem_next(&pem, &block)) {
		owned_ptr unsigned char *bytes = malloc(pem_size(block.body));
		size_t size = 0;

		if (!bytes || !pem_decode(block.body, bytes, &size))
			die("a block is no good");
		feed(verify, bytes, size);
	}
}

static int verify_all(int count, char **args)
{
	struct trust_count added;
	struct trust *trust = trust_of(args[0], &added);
	struct proxy_text chain = text_of(args[2]);
	const br_x509_pkey *key;
	struct verify verify;
	unsigned int usages = 0, error;

	verify_init(&verify, trust, args[1]);
	verify.now = count > 3 ? atoll(args[3]) : 0;
	feed_all(&verify, chain);
	error = verify.class->end_chain(&verify.class);
	key = verify.class->get_pkey(&verify.class, &usages);
	if (!error == !key || !error != !*verify_reason(&verify))
		die("error, key and reason don't agree");
	if (key)
		printf("ok %s%s%s\n",
		       key->key_type == BR_KEYTYPE_RSA ? "RSA" : "EC",
		       usages & BR_KEYTYPE_SIGN ? " sign" : "",
		       usages & BR_KEYTYPE_KEYX ? " exchange" : "");
	else
		printf("%s\n", verify_reason(&verify));
	verify_free(&verify);
	trust_free(trust);
	return 0;
}

static int roots(int count, char **args)
{
	int times = count > 1 ? atoi(args[1]) : 1;
	struct proxy_text pem = text_of(args[0]);
	struct trust_count added = { 0 };
	double start = seconds();

	for (int i = 0; i < times; i++) {
		struct trust *trust = trust_new();

		if (!trust || trust_add(trust, pem, &added) ||
		    trust_size(trust) != added.added)
			die("no trust");
		trust_free(trust);
	}
	printf("%zu added, %zu known, %zu broken%s%s\n", added.added,
	       added.known, added.broken, added.broken ? ": " : "",
	       added.broken ? added.why : "");
	printf("%.3f ms\n", (seconds() - start) * 1000 / times);
	return 0;
}

static const struct {
	const char *name;
	int arguments;
	int (*run)(int count, char **args);
} commands[] = {
	{ "mint", 3, mint },
	{ "keep", 2, keep },
	{ "verify", 3, verify_all },
	{ "roots", 1, roots },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(commands); i++) {
		if (strcmp(argv[1], commands[i].name) == 0 &&
		    argc - 2 >= commands[i].arguments)
			return commands[i].run(argc - 2, argv + 2);
	}
	die("mint CERT KEY HOST… | keep HOST COUNT | verify ROOTS HOST CHAIN "
	    "[NOW] | roots FILE [TIMES]");
}
