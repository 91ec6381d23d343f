#include "transport/discover.h"

#include <ctype.h>
#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <jansson.h>

#include "base/vec.h"
#include "transport/memory.h"
#include "transport/transport.h"

enum {
	NAME = 64,    /* bytes of a name with its NUL; longer ones are left out */
	MOST = 1024,  /* entries of a folder that are looked at */
	SMALL = 256,  /* bytes of a file */
	DEPTH = 16,   /* PCI bridges above a device */
	ADDRESS = 16, /* bytes of a PCI address with its NUL */
};

struct names {
	MC_VEC(char *)
};

/* Where a device is: the PCI addresses from the root port down to itself, n == 0: not known. */
struct spot {
	char pci[DEPTH][ADDRESS];
	size_t n;
	long node; /* -1: not known */
};

struct nic {
	char name[MC_PORT_NAME];
	struct spot at;
};

struct machine {
	struct {
		MC_VEC(struct nic)
	} nic;
	struct {
		MC_VEC(struct spot)
	} gpu;
	struct {
		MC_VEC(long)
	} node;
};

/* Numbers within names by their value: mlx5_9 before mlx5_10. */
static int by_name(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;

	while (*x && *y) {
		if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y)) {
			char *xe, *ye;
			unsigned long m = strtoul(x, &xe, 10), n = strtoul(y, &ye, 10);

			if (m != n)
				return m < n ? -1 : 1;
			x = xe;
			y = ye;
		} else if (*x != *y) {
			return (unsigned char)*x < (unsigned char)*y ? -1 : 1;
		} else {
			x++;
			y++;
		}
	}
	if (!*x && !*y)
		return strcmp(*(char *const *)a, *(char *const *)b); /* 01 and 1 */
	return *x ? 1 : -1;
}

static int by_text(const void *a, const void *b)
{
	return strcasecmp(*(char *const *)a, *(char *const *)b);
}

/* Of a folder; none if there is no such one. */
static void list(struct names *l, const char *path, int (*order)(const void *, const void *))
{
	DIR *d = opendir(path);
	const struct dirent *e;

	*l = (struct names){0};
	if (!d)
		return;
	while (l->n < MOST && (e = readdir(d)))
		if (e->d_name[0] != '.' && strlen(e->d_name) < NAME)
			mc_vec_push(l, mc_xstrdup(e->d_name));
	closedir(d);
	if (l->n)
		qsort(l->at, l->n, sizeof *l->at, order);
}

static void names_free(struct names *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->at[i]);
	mc_vec_fini(l);
}

/* The first line of a small file, "" if there is none. */
static void read_line(char out[SMALL], const char *path)
{
	FILE *f = fopen(path, "r");

	if (!f || !fgets(out, SMALL, f))
		out[0] = 0;
	out[strcspn(out, "\n")] = 0;
	if (f)
		fclose(f);
}

/* DDDD:BB:DD.F */
static bool is_pci(const char *s, size_t n)
{
	size_t colons = 0, dots = 0;

	for (size_t i = 0; i < n; i++) {
		colons += s[i] == ':';
		dots += s[i] == '.';
		if (!isxdigit((unsigned char)s[i]) && s[i] != ':' && s[i] != '.')
			return false;
	}
	return n >= 12 && n < ADDRESS && colons == 2 && dots == 1 && s[n - 2] == '.';
}

/* By the folder that a link of a device leads to. */
static void locate(struct spot *at, const char *link)
{
	char path[PATH_MAX], file[PATH_MAX + 16], text[SMALL], *end, *bottom = NULL;

	*at = (struct spot){.node = -1};
	if (!realpath(link, path))
		return;
	for (char *p = path; *p;) {
		size_t n = strcspn(p, "/");

		if (is_pci(p, n) && at->n < DEPTH) {
			memcpy(at->pci[at->n++], p, n);
			bottom = p + n;
		}
		p += n + (p[n] == '/');
	}
	if (!bottom)
		return;
	*bottom = 0;
	snprintf(file, sizeof file, "%s/numa_node", path);
	read_line(text, file);
	at->node = strtol(text, &end, 10);
	if (end == text || *end || at->node < 0)
		at->node = -1;
}

/* Those of a class; must_be_pci: the others (a bridge, the loopback) are none. */
static void find_nics(struct machine *m, const char *root, const char *class, bool must_be_pci)
{
	char path[PATH_MAX];
	struct names l;

	snprintf(path, sizeof path, "%s/sys/class/%s", root, class);
	list(&l, path, by_name);
	for (size_t i = 0; i < l.n; i++) {
		struct nic nic;

		snprintf(nic.name, sizeof nic.name, "%s", l.at[i]);
		snprintf(path, sizeof path, "%s/sys/class/%s/%s/device", root, class, l.at[i]);
		locate(&nic.at, path);
		if (nic.at.n || !must_be_pci)
			mc_vec_push(&m->nic, nic);
	}
	names_free(&l);
}

/* The driver names its devices; without it, what looks like one on the bus. */
static void find_gpus(struct machine *m, const char *root)
{
	char path[PATH_MAX], vendor[SMALL], class[SMALL];
	struct names driver, bus;

	snprintf(path, sizeof path, "%s/proc/driver/nvidia/gpus", root);
	list(&driver, path, by_text);
	snprintf(path, sizeof path, "%s/sys/bus/pci/devices", root);
	list(&bus, path, by_text);
	for (size_t i = 0; i < bus.n; i++) {
		struct spot at;
		bool has = !driver.n;

		for (size_t k = 0; k < driver.n; k++)
			has |= !strcasecmp(driver.at[k], bus.at[i]);
		snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/vendor", root, bus.at[i]);
		read_line(vendor, path);
		snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s/class", root, bus.at[i]);
		read_line(class, path);
		if (!has || strcasecmp(vendor, "0x10de") != 0 ||
		    (strncmp(class, "0x0302", 6) != 0 && strncmp(class, "0x0300", 6) != 0))
			continue;
		snprintf(path, sizeof path, "%s/sys/bus/pci/devices/%s", root, bus.at[i]);
		locate(&at, path);
		mc_vec_push(&m->gpu, at);
	}
	names_free(&driver);
	names_free(&bus);
}

static void find_nodes(struct machine *m, const char *root)
{
	char path[PATH_MAX];
	struct names l;

	snprintf(path, sizeof path, "%s/sys/devices/system/node", root);
	list(&l, path, by_name);
	for (size_t i = 0; i < l.n; i++) {
		char *end;
		long n;

		if (strncmp(l.at[i], "node", 4) != 0 || !isdigit((unsigned char)l.at[i][4]))
			continue;
		n = strtol(l.at[i] + 4, &end, 10);
		if (!*end && n <= INT_MAX)
			mc_vec_push(&m->node, n);
	}
	names_free(&l);
	if (!m->node.n)
		mc_vec_push(&m->node, 0);
}

/* Bridges that both are behind, from the root port on. */
static size_t shared(const struct spot *a, const struct spot *b)
{
	size_t n = 0;

	while (n + 1 < a->n && n + 1 < b->n && !strcmp(a->pci[n], b->pci[n]))
		n++;
	return n;
}

static bool near_gpu(const struct machine *m, const struct spot *gpu, const struct nic *nic)
{
	size_t most = 0;

	for (size_t i = 0; i < m->nic.n; i++) {
		size_t n = shared(gpu, &m->nic.at[i].at);

		if (n > most)
			most = n;
	}
	if (most)
		return shared(gpu, &nic->at) == most;
	return gpu->node >= 0 && gpu->node == nic->at.node;
}

static void add_name(struct mc_str *out, const char *name, bool *first)
{
	json_t *s = json_string(name);
	char *text = s ? json_dumps(s, JSON_ENCODE_ANY) : NULL; /* NULL: not UTF-8 */

	if (text) {
		mc_str_printf(out, "%s%s", *first ? "" : ", ", text);
		*first = false;
	}
	free(text);
	json_decref(s);
}

/* gpu NULL: of the NUMA node. */
static void add_row(struct mc_str *out, const struct machine *m, const struct mc_discover_want *want,
		    const struct spot *gpu, long node)
{
	mc_str_printf(out, "[");
	for (int rank = 0; rank < 2; rank++) {
		bool first = true;

		mc_str_printf(out, rank ? ", [" : "[");
		for (size_t i = 0; i < m->nic.n; i++) {
			const struct nic *nic = &m->nic.at[i];
			bool near = gpu ? near_gpu(m, gpu, nic) : m->node.n == 1 || nic->at.node == node;

			if (near == !rank)
				add_name(out, nic->name, &first);
		}
		for (const char *const *name = want->also; name && *name && !rank; name++)
			add_name(out, *name, &first);
		mc_str_printf(out, "]");
	}
	mc_str_printf(out, "]");
}

void mc_discover_text(const struct mc_discover_want *want, struct mc_str *out)
{
	struct machine m = {0};
	const char *comma = "";

	find_nics(&m, want->root, "infiniband", false);
	if (!m.nic.n)
		find_nics(&m, want->root, "net", true);
	find_gpus(&m, want->root);
	find_nodes(&m, want->root);
	mc_str_printf(out, "{");
	for (size_t i = 0; i < m.node.n && m.nic.n; i++) {
		mc_str_printf(out, "%s\n  \"cpu:%ld\": ", comma, m.node.at[i]);
		add_row(out, &m, want, NULL, m.node.at[i]);
		comma = ",";
	}
	for (size_t i = 0; i < m.gpu.n && m.nic.n; i++) {
		mc_str_printf(out, "%s\n  \"cuda:%zu\": ", comma, i);
		add_row(out, &m, want, &m.gpu.at[i], -1);
		comma = ",";
	}
	mc_str_printf(out, "%s}\n", m.nic.n ? "\n" : "");
	mc_vec_fini(&m.nic);
	mc_vec_fini(&m.gpu);
	mc_vec_fini(&m.node);
}

int mc_discover(struct mc_topology **out, const struct mc_discover_want *want, struct mc_err *err)
{
	struct mc_str text = {0};
	int rc;

	mc_discover_text(want, &text);
	rc = mc_topology_parse(out, text.at, text.n, "topology of this machine", err);
	mc_str_fini(&text);
	return rc;
}
