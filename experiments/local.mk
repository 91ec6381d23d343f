# Scenarios that stand on one base. Those of published traces find them through MOONCAKE_DATA.
EXTRA_DIST += \
	%D%/base.json \
	%D%/conversation/scenario.json \
	%D%/sample/scenario.json \
	%D%/synthetic/scenario.json
