#include "tests/kernels/naive_llama.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct naive_llama {
	struct mc_llama_shape s;
	double **tensor; /* in the order of mc_llama_tensor_at */
};

struct naive_llama *naive_llama_new(const struct mc_llama_shape *s, const struct mc_weights *w,
				    enum mc_dtype t)
{
	struct naive_llama *m = malloc(sizeof *m);
	int n = mc_llama_tensors(s);

	m->s = *s;
	m->tensor = malloc((size_t)n * sizeof *m->tensor);
	for (int i = 0; i < n; i++) {
		struct mc_llama_tensor which;
		struct mc_weights_part p = {.tensor = &which, .dtype = t};
		size_t count;
		void *raw;

		mc_llama_tensor_at(s, i, &which);
		p.rows = which.rows ? which.rows : 1;
		p.cols = which.cols;
		count = (size_t)p.rows * (size_t)p.cols;
		p.to = raw = malloc(count * 4);
		mc_weights_get(w, &p);
		m->tensor[i] = malloc(count * sizeof(double));
		for (size_t e = 0; e < count; e++)
			m->tensor[i][e] = mc_dtype_get(t, raw, e);
		free(raw);
	}
	return m;
}

void naive_llama_free(struct naive_llama *m)
{
	for (int i = 0; i < mc_llama_tensors(&m->s); i++)
		free(m->tensor[i]);
	free(m->tensor);
	free(m);
}

/* y[rows] = w[rows][cols] x[cols] */
static void multiply(const double *w, const double *x, double *y, int rows, int cols)
{
	for (int r = 0; r < rows; r++) {
		double sum = 0;

		for (int c = 0; c < cols; c++)
			sum += w[(size_t)r * (size_t)cols + (size_t)c] * x[c];
		y[r] = sum;
	}
}

static void rms_norm(const struct naive_llama *m, const double *x, const double *weight, double *y)
{
	double sum = 0;

	for (int i = 0; i < m->s.hidden; i++)
		sum += x[i] * x[i];
	for (int i = 0; i < m->s.hidden; i++)
		y[i] = x[i] / sqrt(sum / m->s.hidden + m->s.norm_eps) * weight[i];
}

/* As the LLaMA 3.1 reference has it, by wavelengths. */
static double angle(const struct mc_llama_shape *s, int pair, int position)
{
	double f = 1 / pow(s->rope_theta, (double)(2 * pair) / s->head_dim), wavelength = 2 * M_PI / f,
	       smooth;

	if (s->rope.factor == 0 || wavelength < s->rope.original / s->rope.high)
		return f * position;
	if (wavelength > s->rope.original / s->rope.low)
		return f / s->rope.factor * position;
	smooth = (s->rope.original / wavelength - s->rope.low) / (s->rope.high - s->rope.low);
	return ((1 - smooth) * f / s->rope.factor + smooth * f) * position;
}

static void rotate(const struct naive_llama *m, double *x, int heads, int position)
{
	int d = m->s.head_dim;

	for (int h = 0; h < heads; h++)
		for (int i = 0; i < d / 2; i++) {
			double *a = x + h * d + i, *b = a + d / 2, was = *a;
			double c = cos(angle(&m->s, i, position)), s = sin(angle(&m->s, i, position));

			*a = was * c - *b * s;
			*b = *b * c + was * s;
		}
}

/* One query (all heads) over the keys and values of tokens 0 .. last. */
static void attend(const struct naive_llama *m, const double *q, const double *kv, int last, double *out)
{
	int d = m->s.head_dim, group = m->s.heads / m->s.kv_heads, width = m->s.kv_heads * d;
	double *p = malloc((size_t)(last + 1) * sizeof *p);

	for (int h = 0; h < m->s.heads; h++) {
		double most = -INFINITY, sum = 0;

		for (int t = 0; t <= last; t++) {
			const double *k = kv + (size_t)t * 2 * (size_t)width + h / group * d;

			p[t] = 0;
			for (int i = 0; i < d; i++)
				p[t] += q[h * d + i] * k[i] / sqrt(d);
			most = fmax(most, p[t]);
		}
		for (int t = 0; t <= last; t++)
			sum += p[t] = exp(p[t] - most);
		memset(out + h * d, 0, (size_t)d * sizeof *out);
		for (int t = 0; t <= last; t++)
			for (int i = 0; i < d; i++)
				out[h * d + i] +=
				    p[t] / sum *
				    kv[((size_t)t * 2 + 1) * (size_t)width + (size_t)(h / group * d + i)];
	}
	free(p);
}

/* x[n][hidden] through a layer. */
static void layer(const struct naive_llama *m, int l, double *x, int n)
{
	double **w = m->tensor + l * MC_LLAMA_LAYER_PARTS;
	const struct mc_llama_shape *s = &m->s;
	int q = s->heads * s->head_dim, width = s->kv_heads * s->head_dim;
	double *kv = malloc((size_t)n * 2 * (size_t)width * sizeof *kv);
	double *normed = malloc((size_t)(s->hidden + 2 * q + 2 * s->ffn + s->hidden) * sizeof *normed);
	double *query = normed + s->hidden, *out = query + q, *gate = out + q, *up = gate + s->ffn,
	       *add = up + s->ffn;

	for (int t = 0; t < n; t++) {
		double *h = x + (size_t)t * (size_t)s->hidden, *k = kv + (size_t)t * 2 * (size_t)width;

		rms_norm(m, h, w[MC_LLAMA_ATTENTION_NORM], normed);
		multiply(w[MC_LLAMA_Q], normed, query, q, s->hidden);
		multiply(w[MC_LLAMA_K], normed, k, width, s->hidden);
		multiply(w[MC_LLAMA_V], normed, k + width, width, s->hidden);
		rotate(m, query, s->heads, t);
		rotate(m, k, s->kv_heads, t);
		attend(m, query, kv, t, out);
		multiply(w[MC_LLAMA_O], out, add, s->hidden, q);
		for (int i = 0; i < s->hidden; i++)
			h[i] += add[i];
		rms_norm(m, h, w[MC_LLAMA_FFN_NORM], normed);
		multiply(w[MC_LLAMA_GATE], normed, gate, s->ffn, s->hidden);
		multiply(w[MC_LLAMA_UP], normed, up, s->ffn, s->hidden);
		for (int i = 0; i < s->ffn; i++)
			up[i] *= gate[i] / (1 + exp(-gate[i]));
		multiply(w[MC_LLAMA_DOWN], up, add, s->hidden, s->ffn);
		for (int i = 0; i < s->hidden; i++)
			h[i] += add[i];
	}
	free(kv);
	free(normed);
}

void naive_llama_forward(const struct naive_llama *m, const int32_t *token, int n, double *logits)
{
	const struct mc_llama_shape *s = &m->s;
	double **outer = m->tensor + s->layers * MC_LLAMA_LAYER_PARTS;
	size_t hidden = (size_t)s->hidden;
	double *x = malloc((size_t)n * hidden * sizeof *x), *normed = malloc(hidden * sizeof *normed);

	for (int t = 0; t < n; t++)
		memcpy(x + (size_t)t * hidden, outer[0] + (size_t)token[t] * hidden, hidden * sizeof *x);
	for (int l = 0; l < s->layers; l++)
		layer(m, l, x, n);
	for (int t = 0; t < n; t++) {
		rms_norm(m, x + (size_t)t * hidden, outer[1], normed);
		multiply(outer[s->tied ? 0 : 2], normed, logits + (size_t)t * (size_t)s->vocab, s->vocab,
			 s->hidden);
	}
	free(x);
	free(normed);
}
