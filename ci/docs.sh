#!/usr/bin/env bash
# Documentation: builds without a warning, so no public item undocumented and no link dead.
source "$(dirname "$0")/lib.sh"
headline "docs"
# Libraries only: the `ringworld` binary and the `ringworld` library would write the same page.
RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --exclude xtask --no-deps --lib
# Links from one page of the repository to another.
broken=0
for page in $(git ls-files "*.md" ":!benches/runs"); do
    [ -e "$page" ] || continue
    while IFS= read -r link; do
        case "$link" in http://* | https://* | mailto:* | '') continue ;; esac
        if [ ! -e "$(dirname "$page")/$link" ]; then
            echo "$page links to $link, which does not exist" >&2
            broken=1
        fi
    done < <(grep -oE '\]\([^)#]+' "$page" | cut -c3- | sort -u)
done
[ "$broken" = 0 ] || fail "links lead nowhere"
finished
