#include "cluster/fault_events.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kv/evict.h"

struct event {
	mc_time at, lasts;
	char *what, *node, *link;
	int64_t nic;   /* -1: not given */
	double factor; /* 0: not given */
};

static const char *const what_names[] = {"node_down", "node_up",  "nic_down", "nic_up",
					 "link_slow", "ssd_slow", NULL};

static const char *const *whats(void)
{
	return what_names;
}

#define E(member) offsetof(struct event, member)

static const struct mc_field fields[] = {
    {"at", MC_F_TIME, E(at), NULL, 0, 9e9, "s", "when", NULL},
    {"what", MC_F_CHOICE, E(what), NULL, 0, 0, "", "what happens", whats},
    {"node", MC_F_STRING, E(node), "", 0, 0, "", "instance", NULL},
    {"nic", MC_F_INT, E(nic), "-1", -1, 1e6, "", "NIC of the instance", NULL},
    {"link", MC_F_STRING, E(link), "", 0, 0, "", "link by name", NULL},
    {"factor", MC_F_REAL, E(factor), "0", 0, 1, "", "of the bandwidth", NULL},
    {"for", MC_F_TIME, E(lasts), "inf", 1e-9, INFINITY, "s", "until repaired", NULL},
    {NULL, MC_F_BOOL, 0, NULL, 0, 0, NULL, NULL, NULL},
};

/* Reading one list. */
struct reading {
	const struct mc_faults_shape *shape;
	struct mc_spells *out; /* repairs (node_up, nic_up), too, until they are paired */
	struct mc_err *err;
};

static int bad(struct reading *r, size_t i, const char *field, const char *text)
{
	char key[64];

	snprintf(key, sizeof key, "faults.events[%zu]%s%s", i, *field ? "." : "", field);
	mc_err_set(r->err, MC_USAGE, "%s", text);
	return mc_err_at(r->err, NULL, 0, 0, key);
}

/* "prefill3": its number, all digits and no others. */
static bool numbered(const char *name, const char *kind, uint32_t n, uint32_t *out)
{
	size_t k = strlen(kind);
	char *end;
	unsigned long v;

	if (strncmp(name, kind, k) || name[k] < '0' || name[k] > '9')
		return false;
	v = strtoul(name + k, &end, 10);
	*out = (uint32_t)v;
	return !*end && v < n;
}

static int find_node(struct reading *r, size_t i, const char *name, uint32_t *node)
{
	char text[200];

	if (numbered(name, "prefill", r->shape->n_prefill, node))
		return MC_OK;
	if (numbered(name, "decode", r->shape->n_decode, node)) {
		*node += r->shape->n_prefill;
		return MC_OK;
	}
	snprintf(
	    text, sizeof text,
	    "'%.60s' is no instance of this cluster; expected prefill0 to prefill%u or decode0 to decode%u",
	    name, r->shape->n_prefill - 1, r->shape->n_decode - 1);
	return bad(r, i, "node", text);
}

static int find_nic(struct reading *r, size_t i, const struct event *e, struct mc_fault *fault)
{
	uint32_t width = fault->node < r->shape->n_prefill ? r->shape->group : 1;
	char text[100];

	fault->nic = (uint32_t)e->nic;
	if (!r->shape->nics || fault->nic < r->shape->nics * width)
		return MC_OK;
	snprintf(text, sizeof text, "is no NIC of %.30s, which has %u; expected 0 to %u", e->node,
		 r->shape->nics * width, r->shape->nics * width - 1);
	return bad(r, i, "nic", text);
}

/* Which of the optional fields are needed, and which make no sense. */
static int lawful(struct reading *r, size_t i, const struct event *e)
{
	bool slow = strstr(e->what, "slow"), nic = !strncmp(e->what, "nic_", 4);
	bool link = !strcmp(e->what, "link_slow"), up = strstr(e->what, "_up");

	if (*e->link && !link)
		return bad(r, i, "link", "has no meaning here; only link_slow takes a link");
	if (*e->link && *e->node)
		return bad(r, i, "link", "is given beside node; expected one of them");
	if (!*e->link && !*e->node)
		return bad(r, i, link ? "" : "node",
			   link ? "says of no node or link that it is slow"
				: "is missing; expected an instance such as prefill0");
	if (e->nic < 0 && nic)
		return bad(r, i, "nic", "is missing; expected the number of a NIC");
	if (e->nic >= 0 && !nic && (!link || *e->link))
		return bad(r, i, "nic",
			   "has no meaning here; expected nic_down, nic_up, or link_slow of a node");
	if (slow != (e->factor > 0))
		return bad(r, i, "factor",
			   slow ? "is missing or 0; expected what is left of the bandwidth, such as 0.25"
				: "has no meaning here; only what is slow has a factor");
	if (up && e->lasts != MC_TIME_MAX)
		return bad(r, i, "for", "has no meaning here; what is repaired stays so");
	return MC_OK;
}

static int add(struct reading *r, size_t i, const json_t *object, const struct event *e)
{
	struct mc_fault fault = {.at = e->at,
				 .begins = !strstr(e->what, "_up"),
				 .node = MC_NONE,
				 .nic = MC_NONE,
				 .factor = e->factor,
				 .event = (uint32_t)i};
	int rc = lawful(r, i, e);

	fault.what = *e->what == 's'     ? MC_FAULT_SSD
		     : *e->what == 'l'   ? MC_FAULT_LINK
		     : e->what[1] == 'o' ? MC_FAULT_NODE
					 : MC_FAULT_NIC;
	if (*e->link)
		fault.link = json_string_value(json_object_get(object, "link"));
	if (!rc && *e->node)
		rc = find_node(r, i, e->node, &fault.node);
	if (!rc && e->nic >= 0)
		rc = find_nic(r, i, e, &fault);
	if (rc)
		return rc;
	mc_vec_push(r->out, ((struct mc_spell){fault, e->lasts < MC_TIME_MAX - e->at ? e->at + e->lasts
										     : MC_TIME_MAX}));
	return MC_OK;
}

static int read_one(struct reading *r, size_t i, const json_t *object)
{
	struct mc_err own = {0};
	struct mc_conf conf;
	struct event e;
	int rc;

	rc = mc_conf_init(&conf, fields, &e, &own);
	if (!rc)
		rc = mc_conf_load_json(&conf, object, &own);
	if (!rc)
		rc = mc_conf_check(&conf, &own);
	rc = rc ? bad(r, i, own.key, own.text) : add(r, i, object, &e);
	mc_conf_fini(&conf);
	return rc;
}

static int by_number(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_time(const void *a, const void *b)
{
	const struct mc_spell *x = a, *y = b;
	int c = by_number((uint64_t)x->fault.at, (uint64_t)y->fault.at);

	return c ? c : by_number(x->fault.event, y->fault.event);
}

static int by_component(const void *a, const void *b)
{
	const struct mc_fault *x = &((const struct mc_spell *)a)->fault,
			      *y = &((const struct mc_spell *)b)->fault;
	int c = by_number(x->what, y->what);

	c = c ? c : by_number(x->node, y->node);
	c = c ? c : by_number(x->nic, y->nic);
	return c ? c : by_time(a, b);
}

/* Repairs end what is down for good; what is down cannot go down again. Each component in order of time. */
static int pair(struct reading *r)
{
	struct mc_spell *down = NULL; /* the last one of the component */

	for (size_t k = 0; k < r->out->n; k++) {
		struct mc_spell *s = &r->out->at[k];
		const struct mc_fault *was = down ? &down->fault : NULL;

		if (s->fault.what > MC_FAULT_NIC)
			break;
		if (was &&
		    (was->what != s->fault.what || was->node != s->fault.node || was->nic != s->fault.nic))
			down = NULL;
		if (!s->fault.begins && (!down || down->end != MC_TIME_MAX))
			return bad(r, s->fault.event, "", "repairs what is not down then (without \"for\")");
		if (s->fault.begins && down && s->fault.at < down->end)
			return bad(r, s->fault.event, "at", "is a time when this is down already");
		if (s->fault.begins)
			down = s;
		else
			down->end = s->fault.at;
	}
	return MC_OK;
}

static void drop_repairs(struct mc_spells *all)
{
	size_t kept = 0;

	for (size_t k = 0; k < all->n; k++)
		if (all->at[k].fault.begins)
			all->at[kept++] = all->at[k];
	all->n = kept;
}

int mc_spells_read(const struct mc_scenario *s, const struct mc_faults_shape *shape, struct mc_spells *out,
		   struct mc_err *err)
{
	struct reading r = {shape, out, err};
	const json_t *object;
	size_t i;
	int rc = MC_OK;

	json_array_foreach(s->faults.events, i, object)
	{
		rc = rc ? rc : read_one(&r, i, object);
	}
	if (rc || !out->n)
		return rc;
	qsort(out->at, out->n, sizeof *out->at, by_component);
	rc = pair(&r);
	drop_repairs(out);
	if (out->n)
		qsort(out->at, out->n, sizeof *out->at, by_time);
	return rc;
}
