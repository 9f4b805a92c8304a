#!/usr/bin/env bash
# Lays out what models are given: one folder per challenge with its prompt and contract, and nothing of the probes.
set -euo pipefail

usage() {
    cat <<'TEXT'
Usage: deploy_challenges.sh -n NAME

Makes the folder NAME in the current directory, with one sub-folder per challenge that holds the
prompt (PROMPT.md, as `harness prompt` prints it where harness is installed) and the contract
(contract.*). Give each sub-folder to a model; what it answers
goes to submissions/MODEL/CHALLENGE/ of the workspace.

  -n NAME   the folder to make; it must not exist
  -h        this text
TEXT
}

fail() {
    printf 'deploy_challenges.sh: %s\n' "$1" >&2
    exit 2
}

name=""
while getopts ":n:h" option; do
    case "$option" in
        n) name=$OPTARG ;;
        h) usage; exit 0 ;;
        :) fail "-$OPTARG needs a name; -h shows how" ;;
        *) fail "unknown option -$OPTARG; -h shows how" ;;
    esac
done
shift $((OPTIND - 1))
[ $# -eq 0 ] || fail "'$1' is one argument too many; -h shows how"
[ -n "$name" ] || fail "a name is missing: -n NAME"
[ ! -e "$name" ] && [ ! -L "$name" ] || fail "'$name' exists; nothing was changed"

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)

# what asks a model: the harness of this checkout, or the one that is installed
harness=$here/.venv/bin/harness
[ -x "$harness" ] || harness=$(command -v harness || true)
# the task with its contract, as `harness ask` sends it; without harness the task alone
prompt() {
    if [ -z "$harness" ]; then
        cat -- "$here/challenges/$1/PROMPT.md"
    else
        HARNESS_WORKSPACE=$here "$harness" prompt "$1" || fail "harness prompt $1 failed; nothing more is laid out"
    fi
}
count() { grep -c "$1" "$2" || true; }

guide=""
for spec in "$here"/challenges/*/challenge.toml; do
    [ -f "$spec" ] || fail "there are no challenges in $here/challenges"
    folder=$(dirname -- "$spec")
    id=$(basename -- "$folder")
    mkdir -p -- "$name/$id"
    prompt "$id" > "$name/$id/PROMPT.md"
    cp -- "$folder"/contract.* "$name/$id/"
    title=$(sed -n 's/^title = "\(.*\)".*/\1/p' "$spec" | head -n 1)
    criteria=$(count '^\[\[criteria\]\]' "$spec")
    critical=$(count '^severity = "critical"' "$spec")
    language=$(sed -n 's/^language = "\(.*\)".*/\1/p' "$spec" | head -n 1)
    language=${language:-python}
    [ "$language" = python ] && rank=0 || rank=1
    guide+="$rank"$'\t'"$criteria"$'\t'"$language"$'\t'"$critical"$'\t'"$id"$'\t'"$title"$'\n'
done

echo "Made $name/ with these challenges, those in Python first, then by the number of criteria:"
echo
place=0
while IFS=$'\t' read -r _ criteria language critical id title; do
    place=$((place + 1))
    printf '  %d. %-24s %-7s %3d criteria, %2d of them critical   %s\n' \
        "$place" "$id" "$language" "$criteria" "$critical" "$title"
done < <(printf '%s' "$guide" | sort -n -k1,1 -k2,2)
cat <<TEXT

Give a model one sub-folder at a time, in this order. Put each answer into
  $here/submissions/MODEL/CHALLENGE/
with a submission.toml (harness new submission MODEL/CHALLENGE writes one), then
  harness grade MODEL
TEXT
