# Beside the source and installed beside experiments/, so that scenarios can name ../../traces/sample.jsonl.zst.
nobase_dist_pkgdata_DATA += %D%/README %D%/conversation-like.json %D%/sample.jsonl.zst
nobase_dist_pkgdata_SCRIPTS += %D%/fetch
