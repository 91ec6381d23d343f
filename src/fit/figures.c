#include "fit/figures.h"

#include <string.h>

#include "base/str.h"
#include "fit/text.h"

const char *const mc_figure_keys[MC_FIGURES] = {
    "ssd_read_bandwidth", "ssd_write_bandwidth", "ssd_latency_s", "h2d_bandwidth", "dram_bandwidth",
};

static const int digits = 4;

bool mc_fit_figures_op(enum mc_op op)
{
	return op == MC_OP_DISK_READ || op == MC_OP_DISK_WRITE ||
	       (op >= MC_OP_COPY_H2D && op <= MC_OP_COPY_HOST) || mc_op_is_net(op);
}

static void found(struct mc_fit_figures *g, enum mc_figure f, const struct mc_opsamples *s,
		  const struct mc_opsample *p)
{
	g->at[f] = p->point;
	g->device[f] = s->device;
	if (!g->date || strcmp(s->date, g->date) > 0)
		g->date = s->date;
}

static void rate(struct mc_fit_figures *g, const struct mc_opsamples *s, const struct mc_opsample *p,
		 double gpus)
{
	double v = (double)p->point.dim[MC_DIM_BYTES] / p->seconds;
	enum mc_figure f;

	switch (p->point.op) {
	case MC_OP_DISK_READ:
		f = MC_FIGURE_SSD_READ;
		break;
	case MC_OP_DISK_WRITE:
		f = MC_FIGURE_SSD_WRITE;
		break;
	case MC_OP_COPY_H2D:
		f = MC_FIGURE_H2D;
		v *= gpus;
		break;
	case MC_OP_COPY_HOST:
		f = MC_FIGURE_DRAM;
		v *= 2;
		break;
	default:
		return;
	}
	if (v <= g->value[f])
		return;
	g->value[f] = v;
	found(g, f, s, p);
}

/* Reads alone: the nearest sizes at most and at least that of hardware.ssd_io. */
struct around {
	const struct mc_opsample *low, *high;
	const struct mc_opsamples *of;
};

static void near(struct around *a, const struct mc_opsamples *s, const struct mc_opsample *p, int64_t io)
{
	int64_t bytes = p->point.dim[MC_DIM_BYTES];

	if (p->point.op != MC_OP_DISK_READ || p->point.dim[MC_DIM_DEPTH] != 1)
		return;
	if (bytes <= io && (!a->low || bytes >= a->low->point.dim[MC_DIM_BYTES]))
		a->low = p, a->of = s;
	if (bytes >= io && (!a->high || bytes <= a->high->point.dim[MC_DIM_BYTES]))
		a->high = p;
}

static void latency(struct mc_fit_figures *g, const struct around *a, double io)
{
	double from, to, part;

	if (!a->low || !a->high)
		return;
	from = (double)a->low->point.dim[MC_DIM_BYTES];
	to = (double)a->high->point.dim[MC_DIM_BYTES];
	part = to > from ? (io - from) / (to - from) : 0;
	g->value[MC_FIGURE_SSD_LATENCY] = a->low->seconds + part * (a->high->seconds - a->low->seconds);
	found(g, MC_FIGURE_SSD_LATENCY, a->of, a->low);
}

void mc_fit_figures_find(struct mc_fit_figures *g, const struct mc_opsamples *s, size_t n,
			 const struct mc_profile *hw)
{
	struct around a = {0};

	*g = (struct mc_fit_figures){0};
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < s[i].n; k++) {
			if (*s[i].at[k].flag)
				continue;
			rate(g, &s[i], &s[i].at[k], (double)hw->gpus);
			near(&a, &s[i], &s[i].at[k], hw->ssd_io_bytes);
		}
	latency(g, &a, (double)hw->ssd_io_bytes);
}

/* " [measured: KEY of DEVICE, DATE]" */
static void note(struct mc_str *out, const char *key, const char *device, const char *date)
{
	mc_str_printf(out, " [measured: %s of ", key);
	for (const char *c = *device ? device : "an unnamed device"; *c; c++)
		mc_str_add(out, *c == '[' ? "(" : *c == ']' ? ")" : c, 1);
	mc_str_printf(out, "%s%s]", date && *date ? ", " : "", date ? date : "");
}

/* The text without the notes on that figure. */
static void forget(struct mc_str *text, const char *key)
{
	struct mc_str head = {0}, rest = {0};
	char *at;

	mc_str_printf(&head, " [measured: %s of ", key);
	while (text->at && (at = strstr(text->at, head.at)) && strchr(at, ']')) {
		mc_str_printf(&rest, "%s", strchr(at, ']') + 1);
		mc_str_cut(text, (size_t)(at - text->at));
		mc_str_printf(text, "%s", mc_str_text(&rest));
		mc_str_cut(&rest, 0);
	}
	mc_str_fini(&head);
	mc_str_fini(&rest);
}

void mc_fit_source_note(json_t *hardware, const char *key, const char *device, const char *date)
{
	const char *was = json_string_value(json_object_get(hardware, "source"));
	struct mc_str source = {0};

	mc_str_printf(&source, "%s", was ? was : "");
	forget(&source, key);
	note(&source, key, device, date);
	json_object_set_new(hardware, "source", json_string(mc_str_text(&source)));
	mc_str_fini(&source);
}

json_t *mc_fit_figures_apply(const struct mc_fit_figures *g, const json_t *root)
{
	json_t *o = json_deep_copy(root), *hardware = json_object_get(o, "hardware");

	for (int f = 0; f < MC_FIGURES; f++) {
		if (!(g->value[f] > 0))
			continue;
		json_object_set_new(hardware, mc_figure_keys[f], mc_fit_number(g->value[f], digits));
		mc_fit_source_note(hardware, mc_figure_keys[f], g->device[f], g->date);
	}
	return o;
}

char *mc_fit_figures_profile_text(const struct mc_fit_figures *g, const json_t *root, const char *name,
				  const char *date)
{
	json_t *with = mc_fit_figures_apply(g, root);
	const char *source = json_string_value(json_object_get(root, "source"));
	json_t *o = mc_fit_profile_object(with, name, date ? date : g->date, source ? source : "");
	static const char *const kept[] = {"measured", "operators"};
	char *text;

	for (int i = 0; i < 2; i++)
		if (json_object_get(root, kept[i]))
			json_object_set(o, kept[i], json_object_get(root, kept[i]));
	text = mc_fit_json_text(o);
	json_decref(o);
	json_decref(with);
	return text;
}
