dist_man_MANS = \
	%D%/mooncake-calib.1 \
	%D%/mooncake-profile.5 \
	%D%/mooncake-result.5 \
	%D%/mooncake-samples.5 \
	%D%/mooncake-scenario.5 \
	%D%/mooncake-trace.5 \
	%D%/mooncake.1
# A file for each program, under the program's name.
bashcompdir = $(datadir)/bash-completion/completions
EXTRA_DIST += completion/mooncake.bash
install-data-hook:
	$(MKDIR_P) '$(DESTDIR)$(bashcompdir)'
	$(INSTALL_DATA) $(srcdir)/completion/mooncake.bash '$(DESTDIR)$(bashcompdir)/mooncake'
	$(INSTALL_DATA) $(srcdir)/completion/mooncake.bash '$(DESTDIR)$(bashcompdir)/mooncake-calib'
uninstall-hook:
	rm -f '$(DESTDIR)$(bashcompdir)/mooncake' '$(DESTDIR)$(bashcompdir)/mooncake-calib'
