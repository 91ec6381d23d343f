profilesdir = $(pkgdatadir)/profiles
dist_profiles_DATA = \
	%D%/profiles/a100-x8-analytic.json \
	%D%/profiles/a100-x8-vidur.json \
	%D%/profiles/a800-x8.json \
	%D%/profiles/a800-x8-analytic.json \
	%D%/profiles/a800-x8-vidur.json \
	%D%/profiles/h100-x8-analytic.json
EXTRA_DIST += %D%/fit-public.sh %D%/samples/a800-x8-fast25-fig14.csv
