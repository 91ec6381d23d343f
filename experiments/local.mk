# Scenarios that stand on one base. Those of published traces find them through MOONCAKE_DATA. Installed, so that
# the first command in the README works from anywhere.
nobase_dist_pkgdata_DATA += \
	%D%/README \
	%D%/base.json \
	%D%/conversation/scenario.json \
	%D%/figure01-06-07/README \
	%D%/figure01-06-07/published.txt \
	%D%/figure01-06-07/rows.sh \
	%D%/figure05/README \
	%D%/figure05/published.txt \
	%D%/figure05/rows.sh \
	%D%/figure08/README \
	%D%/figure08/published.txt \
	%D%/figure08/rows.sh \
	%D%/figure09/README \
	%D%/figure09/published.txt \
	%D%/figure09/rows.sh \
	%D%/figure10/README \
	%D%/figure10/published.txt \
	%D%/figure10/rows.sh \
	%D%/figure10/scenario.json \
	%D%/figure11/README \
	%D%/figure11/published.txt \
	%D%/figure11/rows.sh \
	%D%/figure12/README \
	%D%/figure12/published.txt \
	%D%/figure12/rows.sh \
	%D%/figure12/scenario.json \
	%D%/figure13/README \
	%D%/figure13/published.txt \
	%D%/figure13/rows.sh \
	%D%/figure13/scenario.json \
	%D%/figure14/README \
	%D%/figure14/published.txt \
	%D%/figure14/rows.sh \
	%D%/figure14/scenario.json \
	%D%/figure15/README \
	%D%/figure15/published.txt \
	%D%/figure15/rows.sh \
	%D%/figure15/scenario.json \
	%D%/groups/README \
	%D%/groups/scenario.json \
	%D%/lib.sh \
	%D%/overload/README \
	%D%/overload/equal.json \
	%D%/overload/scenario.json \
	%D%/replicas/README \
	%D%/report-overload/README \
	%D%/report-overload/published.txt \
	%D%/report-overload/rows.sh \
	%D%/report-scheduling/README \
	%D%/report-scheduling/published.txt \
	%D%/report-scheduling/rows.sh \
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
	%D%/overload/run.sh \
	%D%/run.sh \
	%D%/sizing/run.sh
