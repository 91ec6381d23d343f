# Scenarios that stand on one base. Those of published traces find them through MOONCAKE_DATA. Installed, so that
# the first command in the README works from anywhere.
nobase_dist_pkgdata_DATA += \
	%D%/base.json \
	%D%/conversation/scenario.json \
	%D%/groups/README \
	%D%/groups/scenario.json \
	%D%/lib.sh \
	%D%/published/README \
	%D%/published/figure10.txt \
	%D%/published/figure11.txt \
	%D%/published/figure12.txt \
	%D%/published/figure13.txt \
	%D%/published/figure14.txt \
	%D%/published/figure15.txt \
	%D%/published/figure5.txt \
	%D%/published/figure8.txt \
	%D%/published/figure9.txt \
	%D%/published/single.json \
	%D%/replicas/README \
	%D%/sample/scenario.json \
	%D%/sizing/README \
	%D%/sizing/tables/dram.sh \
	%D%/sizing/tables/evict.sh \
	%D%/sizing/tables/nic.sh \
	%D%/sizing/tables/racks.sh \
	%D%/sizing/tables/ssd.sh \
	%D%/sizing/tables/threshold.sh \
	%D%/synthetic/scenario.json
nobase_dist_pkgdata_SCRIPTS += \
	%D%/groups/run.sh \
	%D%/published/run.sh \
	%D%/sizing/run.sh
