# Pictures of what experiments/run.sh leaves.
nobase_dist_pkgdata_DATA += \
	%D%/figure01-06-07.gp \
	%D%/figure05.gp \
	%D%/figure08.gp \
	%D%/figure09.gp \
	%D%/figure10.gp \
	%D%/figure11.gp \
	%D%/figure12.gp \
	%D%/figure13.gp \
	%D%/figure14.gp \
	%D%/figure15.gp \
	%D%/report-endtoend.gp \
	%D%/report-overload.gp \
	%D%/report-scheduling.gp \
	%D%/style.gp
nobase_dist_pkgdata_SCRIPTS += \
	%D%/run.sh
