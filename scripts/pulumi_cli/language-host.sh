#!/bin/sh
# Starts the Python language host that was built from Go modules, with the options of the project.
#
# The CLI sends the option `virtualenv` of Pulumi.yaml in each request, which this host is too old to read: it takes
# them as flags. Without them it would install into the project's folder, and ask the Python of an activated
# environment which plugins a project needs. The CLI starts the host in the folder of the program.
folder=$(dirname -- "$(readlink -f -- "$0" 2>/dev/null || echo "$0")")
root=$(pwd)
while [ ! -e "$root/Pulumi.yaml" ] && [ ! -e "$root/Pulumi.yml" ] && [ "$root" != / ]; do root=$(dirname -- "$root"); done
project=$root/Pulumi.yaml
[ -e "$project" ] || project=$root/Pulumi.yml
virtualenv=
if [ -r "$project" ]; then
    virtualenv=$(sed -n -e 's/^#.*//' -e 's/[[:space:]]#.*//' \
        -e "s/^\(.*[{,[:space:]]\)\{0,1\}[\"']\{0,1\}virtualenv[\"']\{0,1\}:[[:space:]]*[\"']\{0,1\}\([^\"',}]*[^\"',}[:space:]]\).*/\2/p" \
        "$project" | head -n 1)
fi
if [ -n "$virtualenv" ]; then set -- -root "$root" -virtualenv "$virtualenv" "$@"; fi
exec "$folder/built/pulumi-language-python" -use-executor "$folder/pulumi-language-python-exec" "$@"
