#include "calib/netports.h"

#include <dirent.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int add(struct mc_netports *p, const struct mc_transport *t, const char *name, struct mc_err *err)
{
	if (p->n == MC_ENGINE_PORTS || strlen(name) >= MC_PORT_NAME)
		return mc_err_set(err, MC_USAGE,
				  "--port %s:%.80s: expected at most %d, with names of %d bytes", t->name,
				  name, MC_ENGINE_PORTS, MC_PORT_NAME - 1);
	snprintf(p->name[p->n], MC_PORT_NAME, "%s", name);
	p->at[p->n] = (struct mc_engine_port){.transport = t, .name = p->name[p->n]};
	p->n++;
	return 0;
}

static int add_given(struct mc_netports *p, const char *text, const char *host, struct mc_err *err)
{
	size_t n = strcspn(text, ":");
	const struct mc_transport *t;
	char transport[32];

	snprintf(transport, sizeof transport, "%.*s", n < 31 ? (int)n : 31, text);
	t = mc_transport_find(transport, err);
	if (!t) {
		mc_err_at(err, NULL, 0, 0, "--port");
		return MC_USAGE;
	}
	if (text[n])
		return add(p, t, text + n + 1, err);
	return add(p, t, strcmp(t->name, "tcp") ? "" : host, err);
}

/* Has port number of that device a link? */
static bool active(const char *device, const char *number)
{
	char path[512], state[32] = "";
	FILE *f;

	snprintf(path, sizeof path, "/sys/class/infiniband/%.200s/ports/%.20s/state", device, number);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (!fgets(state, sizeof state, f))
		state[0] = 0;
	fclose(f);
	return strstr(state, "ACTIVE") != NULL;
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void free_all(struct dirent **e, int n)
{
	for (int i = 0; i < n; i++)
		free(e[i]);
	free(e);
}

static int add_device(struct mc_netports *p, const char *device, const char *host, struct mc_err *err)
{
	const struct mc_transport *t = mc_transport_find("verbs", err);
	struct dirent **port = NULL;
	char path[512], name[512];
	int n, rc = t ? 0 : MC_USAGE;

	snprintf(path, sizeof path, "/sys/class/infiniband/%.200s/ports", device);
	n = scandir(path, &port, visible, alphasort);
	for (int i = 0; i < n && !rc; i++) {
		snprintf(name, sizeof name, "%.200s/%.20s@%.63s", device, port[i]->d_name, host);
		if (active(device, port[i]->d_name))
			rc = add(p, t, name, err);
	}
	free_all(port, n);
	return rc;
}

static int add_found(struct mc_netports *p, const char *host, struct mc_err *err)
{
	const struct mc_transport *shm = mc_transport_find("shm", NULL);
	struct dirent **device = NULL;
	int n = scandir("/sys/class/infiniband", &device, visible, alphasort), rc = 0;

	for (int i = 0; i < n && !rc; i++)
		rc = add_device(p, device[i]->d_name, host, err);
	free_all(device, n);
	if (!rc && !p->n)
		rc = add(p, mc_transport_find("tcp", err), host, err);
	if (!rc && shm)
		rc = add(p, shm, "", err);
	return rc;
}

int mc_netports_find(struct mc_netports *p, const struct mc_calib_list *list, const char *host,
		     struct mc_err *err)
{
	int rc = 0;

	*p = (struct mc_netports){.given = list->n > 0};
	for (size_t i = 0; i < list->n && !rc; i++)
		rc = add_given(p, list->at[i], host, err);
	return rc || p->n ? rc : add_found(p, host, err);
}

size_t mc_netports_of(const struct mc_netports *p, const struct mc_transport *t, size_t n,
		      struct mc_engine_port *out)
{
	size_t k = 0;

	for (size_t i = 0; i < p->n && k < n; i++)
		if (p->at[i].transport == t)
			out[k++] = p->at[i];
	return k;
}

void mc_netports_text(const struct mc_engine_port *p, size_t n, char *text, size_t bytes)
{
	size_t k = 0;

	text[0] = 0;
	for (size_t i = 0; i < n && k < bytes; i++)
		k += (size_t)snprintf(text + k, bytes - k, "%s%s%s%s", i ? ", " : "", p[i].transport->name,
				      *p[i].name ? " " : "", p[i].name);
}

int mc_netports_host(const char *address, char host[MC_PORT_NAME], struct mc_err *err)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;

	if (n && colon[1] && address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	if (!n || n >= MC_PORT_NAME || !colon[1])
		return mc_err_set(err, MC_USAGE, "'%.80s' is no address; expected HOST:PORT", address);
	snprintf(host, MC_PORT_NAME, "%.*s", (int)n, address);
	if (!strcmp(host, "0.0.0.0") || !strcmp(host, "::"))
		return mc_err_set(err, MC_USAGE,
				  "%s is every interface; expected the address of one, which peers can reach",
				  host);
	return 0;
}

int mc_netports_near(const char *address, char host[MC_PORT_NAME], struct mc_err *err)
{
	const struct addrinfo hint = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_ADDRCONFIG};
	struct sockaddr_storage own;
	socklen_t n = sizeof own;
	struct addrinfo *found;
	int fd, rc = mc_netports_host(address, host, err);

	if (rc)
		return rc;
	rc = getaddrinfo(host, strrchr(address, ':') + 1, &hint, &found);
	if (rc)
		return mc_err_set(err, MC_FAIL, "%s: %s", address, gai_strerror(rc));
	/* A datagram socket that is connected sends nothing, but knows from where it would. */
	fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) ||
	    getsockname(fd, (struct sockaddr *)&own, &n))
		rc = mc_err_errno(err, MC_FAIL, "%s: cannot be reached", address);
	if (!rc && getnameinfo((struct sockaddr *)&own, n, host, MC_PORT_NAME, NULL, 0, NI_NUMERICHOST))
		rc = mc_err_set(err, MC_FAIL, "%s: no address of this machine is known", address);
	if (fd >= 0)
		close(fd);
	freeaddrinfo(found);
	return rc;
}
