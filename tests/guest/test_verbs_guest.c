/*
 * What a program that links the engine goes through on real (Soft-RoCE) devices; run in a guest by checks.sh.
 * Without arguments: faults (faults.c). Else what the first one names.
 */
#include <signal.h>
#include <string.h>

#include "guest.h"

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc == 7 && !strcmp(argv[1], "peer"))
		return peer_main(argv);
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return serve_main(argv);
	if (argc == 4 && !strcmp(argv[1], "hosts"))
		return hosts_main(argv);
	if (argc == 7 && !strcmp(argv[1], "bench"))
		return bench_main(argv);
	if (argc == 1)
		return faults_main();
	fprintf(stderr, "usage: %s\n", argv[0]);
	return 2;
}
