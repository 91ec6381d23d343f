# The program as its users meet it: what it prints where, and how it exits. One command a script; TAP on stdout.
CLI_TESTS = \
	%D%/calib-disk.sh \
	%D%/calib-host.sh \
	%D%/calib-net.sh \
	%D%/calib.sh \
	%D%/calibration.sh \
	%D%/capacity.sh \
	%D%/clients.sh \
	%D%/compare.sh \
	%D%/completion.sh \
	%D%/config.sh \
	%D%/experiments.sh \
	%D%/fit.sh \
	%D%/golden.sh \
	%D%/hostile.sh \
	%D%/import.sh \
	%D%/kernels.sh \
	%D%/part.sh \
	%D%/predict.sh \
	%D%/published.sh \
	%D%/report.sh \
	%D%/run.sh \
	%D%/times.sh \
	%D%/trace.sh
dist_check_SCRIPTS += $(CLI_TESTS)
TESTS += $(CLI_TESTS)
EXTRA_DIST += %D%/lib.sh \
	tests/golden/across.txt tests/golden/coupled.txt tests/golden/explain.txt tests/golden/pair.txt tests/golden/run.csv tests/golden/run.txt
