#include "transport/auth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include <nettle/hmac.h>
#include <nettle/memops.h>

#include "base/file.h"
#include "transport/sock.h"

enum { NONCE = 32, PROOF = SHA256_DIGEST_SIZE };

/* The first bytes of a connection: what this is, and its version. */
static const char greeting[8] = "mcnet\0\0\1";

int mc_token_set(struct mc_token *t, const char *text, struct mc_err *err)
{
	size_t n = strlen(text);

	if (n < MC_TOKEN_MIN || n > MC_TOKEN_MAX)
		return mc_err_set(err, MC_USAGE, "a token of %zu bytes; expected %d to %d", n, MC_TOKEN_MIN,
				  MC_TOKEN_MAX);
	memset(t, 0, sizeof *t);
	memcpy(t->secret, text, n);
	t->n = n;
	return 0;
}

int mc_token_read(struct mc_token *t, const char *path, struct mc_err *err)
{
	char *text;
	size_t n;
	int rc = mc_file_read(path, 4096, &text, &n, err);

	if (rc)
		return rc;
	text[strcspn(text, "\r\n")] = 0;
	rc = mc_token_set(t, text, err);
	if (rc)
		mc_err_at(err, path, 1, 0, NULL);
	explicit_bzero(text, n);
	free(text);
	return rc;
}

int mc_auth_random(void *out, size_t n, struct mc_err *err)
{
	for (uint8_t *p = out; n;) {
		ssize_t k = getrandom(p, n, 0);

		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return mc_err_errno(err, MC_FAIL, "no random numbers");
		p += k;
		n -= (size_t)k;
	}
	return 0;
}

struct exchange {
	const struct mc_token *token;
	enum mc_purpose purpose;
	uint8_t connects[NONCE], accepts[NONCE]; /* each side's random bytes */
};

static void prove(const struct exchange *x, const char *part, uint8_t out[PROOF])
{
	struct hmac_sha256_ctx h;
	uint8_t purpose = (uint8_t)x->purpose;

	hmac_sha256_set_key(&h, x->token->n, x->token->secret);
	hmac_sha256_update(&h, sizeof greeting, (const uint8_t *)greeting);
	hmac_sha256_update(&h, strlen(part) + 1, (const uint8_t *)part);
	hmac_sha256_update(&h, 1, &purpose);
	hmac_sha256_update(&h, NONCE, x->connects);
	hmac_sha256_update(&h, NONCE, x->accepts);
	hmac_sha256_digest(&h, PROOF, out);
	explicit_bzero(&h, sizeof h);
}

/* Receive the other side's proof and compare, in constant time. */
static int check(int fd, const struct exchange *x, const char *part, int64_t deadline, struct mc_err *err)
{
	uint8_t theirs[PROOF], expected[PROOF];
	struct mc_err why = {0};

	/* Who connected has shown its proof by now: a peer with another token says nothing more. */
	if (mc_sock_recv(fd, theirs, PROOF, deadline, &why))
		return mc_err_set(err, MC_FAIL, "%.200s%s", why.text,
				  !strcmp(part, "accepts") ? "; does it have the same token?" : "");
	prove(x, part, expected);
	if (!memeql_sec(theirs, expected, PROOF))
		return mc_err_set(err, MC_FAIL, "the peer does not have the cluster's token");
	return 0;
}

/* Their greeting and random bytes. */
static int hear(int fd, uint8_t nonce[NONCE], int64_t deadline, struct mc_err *err)
{
	uint8_t first[sizeof greeting + NONCE];

	if (mc_sock_recv(fd, first, sizeof first, deadline, err))
		return MC_FAIL;
	if (memcmp(first, greeting, sizeof greeting) != 0)
		return mc_err_set(err, MC_FAIL, "the peer speaks another protocol or version");
	memcpy(nonce, first + sizeof greeting, NONCE);
	return 0;
}

static int greet(int fd, uint8_t nonce[NONCE], int64_t deadline, struct mc_err *err)
{
	uint8_t first[sizeof greeting + NONCE];

	if (mc_auth_random(nonce, NONCE, err))
		return MC_FAIL;
	memcpy(first, greeting, sizeof greeting);
	memcpy(first + sizeof greeting, nonce, NONCE);
	return mc_sock_send(fd, first, sizeof first, deadline, err);
}

int mc_auth_connect(int fd, const struct mc_token *t, enum mc_purpose purpose, int64_t deadline,
		    struct mc_err *err)
{
	struct exchange x = {.token = t, .purpose = purpose};
	uint8_t proof[PROOF];

	if (greet(fd, x.connects, deadline, err) || hear(fd, x.accepts, deadline, err))
		return MC_FAIL;
	prove(&x, "connects", proof);
	if (mc_sock_send(fd, proof, PROOF, deadline, err))
		return MC_FAIL;
	return check(fd, &x, "accepts", deadline, err);
}

int mc_auth_accept(int fd, const struct mc_token *t, enum mc_purpose purpose, int64_t deadline,
		   struct mc_err *err)
{
	struct exchange x = {.token = t, .purpose = purpose};
	uint8_t proof[PROOF];

	if (hear(fd, x.connects, deadline, err) || greet(fd, x.accepts, deadline, err) ||
	    check(fd, &x, "connects", deadline, err))
		return MC_FAIL;
	prove(&x, "accepts", proof);
	return mc_sock_send(fd, proof, PROOF, deadline, err);
}
