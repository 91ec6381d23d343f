/*
 * What perftest prints: ib_write_bw, ib_read_bw, ib_write_lat, ib_read_lat, one size or all (-a), several
 * runs in one file. Each run begins with its title; then it says its ports, queue pairs and depth, and a line
 * for each size:
 *
 *                         RDMA_Write BW Test
 *      Dual-port       : OFF          Device         : mlx5_0
 *      Number of qps   : 1            Transport type : IB
 *      TX depth        : 128
 *      #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 *      65536      5000             11037.56            11035.41                  0.176567
 *
 * Bandwidth: queue pairs x TX depth requests are under way, one peer, each request as one slice; seconds are
 * theirs over the average. MB are 2^20 bytes, Gb 10^9 bits (--report_gbits). Bidirectional (-b): the average
 * is the sum of both ways, each with as many under way: net_both of twice the depth.
 * Latency: one request at a time; the typical one (median), or the average where a run by time (-D) has no
 * other. Of reads from submit to end; of writes half of a round trip of two of them: until the bytes are
 * there, not until this end knows, so a little less than what a transfer takes.
 * Sends and atomics are not what transfers are made of.
 */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "fit/import.h"

enum { TEST, WAYS, PORTS, QPS, DEPTH, UNIT, VALUE }; /* of im->state */
enum { NO_TEST, OTHER_TEST, WRITE_BW, READ_BW, WRITE_LAT, READ_LAT };
enum { NO_UNIT, MIB, GBIT };

#define FIELDS 16
static const char *const columns[] = {NULL};

static int64_t test_of(const char *line)
{
	const char *at = strstr(line, "RDMA_");
	bool read = at && !strncmp(at, "RDMA_Read", 9), write = at && !strncmp(at, "RDMA_Write", 10);

	if (!strstr(line, " Test") || strchr(line, ':'))
		return NO_TEST;
	if (strstr(line, "Latency Test"))
		return read ? READ_LAT : write ? WRITE_LAT : OTHER_TEST;
	if (strstr(line, "BW Test"))
		return read ? READ_BW : write ? WRITE_BW : OTHER_TEST;
	return NO_TEST;
}

static bool tells(const char *line)
{
	return test_of(line) > OTHER_TEST;
}

/* " TX depth        : 128": the number after the key and its colon. */
static void number(struct mc_import *im, const char *line, const char *key, int state)
{
	const char *at = strstr(line, key);
	char text[24] = "";

	at = at ? at + strlen(key) : NULL;
	at = at ? at + strspn(at, " \t") : NULL;
	if (!at || *at != ':')
		return;
	at += 1 + strspn(at + 1, " \t");
	for (size_t i = 0; i + 1 < sizeof text && at[i] && !isspace((unsigned char)at[i]); i++)
		text[i] = at[i];
	if (mc_units_int(text, &im->state[state], NULL) || im->state[state] < 1 || im->state[state] > 1000000)
		mc_import_fail(im, key, "is no number from 1 to 1,000,000");
}

/* The names of the columns: where the value is, and what it is in. */
static void names(struct mc_import *im, const char *line)
{
	bool latency = im->state[TEST] == WRITE_LAT || im->state[TEST] == READ_LAT;

	im->state[UNIT] = strstr(line, "Gb/sec") ? GBIT : MIB;
	im->state[VALUE] = 3;
	if (latency && strstr(line, "t_typical[usec]"))
		im->state[VALUE] = 4;
	else if (latency && strstr(line, "t_avg[usec]"))
		im->state[VALUE] = 2;
	else if (latency || !strstr(line, "BW average["))
		mc_import_fail(im, "#bytes",
			       "is followed by columns that no test of latency or bandwidth has");
}

static double real(struct mc_import *im, const char *text, const char *key)
{
	double v = 0;

	if (mc_units_real(text, &v, NULL) || !(v >= 0) || !isfinite(v))
		mc_import_fail(im, key, "is no number from 0");
	return v;
}

static void add(struct mc_import *im, int64_t bytes, double value)
{
	bool latency = im->state[TEST] == WRITE_LAT || im->state[TEST] == READ_LAT;
	bool read = im->state[TEST] == READ_LAT || im->state[TEST] == READ_BW;
	struct mc_op_point p = {.op = read ? MC_OP_NET_READ : MC_OP_NET_WRITE};
	double rate = value * (im->state[UNIT] == GBIT ? 1e9 / 8 : 0x1p20), depth;

	p.dim[MC_DIM_BYTES] = p.dim[MC_DIM_SLICE] = bytes;
	p.dim[MC_DIM_PEERS] = 1;
	p.dim[MC_DIM_NICS] = im->state[PORTS];
	p.dim[MC_DIM_DEPTH] = latency ? 1 : im->state[QPS] * im->state[DEPTH] * im->state[WAYS];
	if (!latency && im->state[WAYS] > 1)
		p.op = MC_OP_NET_BOTH;
	depth = (double)p.dim[MC_DIM_DEPTH];
	if (!latency && !(rate > 0))
		mc_import_skip(im, "a rate rounded to 0");
	else
		mc_import_add(im, &p, latency ? value * 1e-6 : depth * (double)bytes / rate, -1);
}

/* " 65536      5000             11037.56            11035.41                  0.176567" */
static void result(struct mc_import *im, char *line)
{
	char *field[FIELDS] = {0}, *rest = NULL;
	int64_t bytes = 0;
	int n = 0;

	for (char *f = strtok_r(line, " \t\r", &rest); f && n < FIELDS; f = strtok_r(NULL, " \t\r", &rest))
		field[n++] = f;
	im->lines++;
	if (n <= im->state[VALUE])
		mc_import_fail(im, "#bytes", "has fewer fields than there are names");
	else if (mc_units_int(field[0], &bytes, NULL) || bytes < 1)
		mc_import_fail(im, "#bytes", "is no number from 1");
	else if (!im->state[DEPTH] && (im->state[TEST] == WRITE_BW || im->state[TEST] == READ_BW))
		mc_import_fail(im, "TX depth", "is missing above the first line of a test of bandwidth");
	else
		add(im, bytes, real(im, field[im->state[VALUE]], "the value"));
}

static void line_of(struct mc_import *im, char *line)
{
	const char *first = line + strspn(line, " \t");
	int64_t test = test_of(line);

	if (test != NO_TEST) {
		memset(im->state, 0, sizeof im->state);
		im->state[TEST] = test;
		im->state[WAYS] = strstr(line, "Bidirectional") ? 2 : 1;
		im->state[PORTS] = im->state[QPS] = 1;
	} else if (!im->state[TEST]) {
		return; /* before the first test */
	} else if (!strncmp(first, "#bytes", 6) && im->state[TEST] != OTHER_TEST) {
		names(im, line);
	} else if (isdigit((unsigned char)*first) && im->state[TEST] == OTHER_TEST) {
		im->lines++;
		mc_import_skip(im, "neither a read nor a write");
	} else if (isdigit((unsigned char)*first) && im->state[UNIT]) {
		result(im, line);
	} else if (!im->state[UNIT]) {
		number(im, line, "TX depth", DEPTH);
		number(im, line, "Number of qps", QPS);
		if (strstr(line, "Dual-port") && strstr(line, ": ON"))
			im->state[PORTS] = 2;
	}
}

const struct mc_importer mc_importer_perftest = {
    .name = "perftest",
    .help = "output of ib_{write,read}_{bw,lat}: net_write, net_read, net_both (-b)",
    .columns = columns,
    .line = line_of,
    .tells = tells,
};
