profilesdir = $(pkgdatadir)/profiles
dist_profiles_DATA = \
	%D%/profiles/a800-x8-analytic.json \
	%D%/profiles/h100-x8-analytic.json
EXTRA_DIST +=
