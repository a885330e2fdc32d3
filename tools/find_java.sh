#!/usr/bin/env bash
# Print `export JAVA_HOME=...` for a Java 17 or newer; with --install, get one where that is simple.
# Says on stderr what to do when there is none; never fails, because the local engine needs no Java.
set -uo pipefail

version_of() { "$1" -version 2>&1 | sed -nE '1,3s/.*version "([0-9]+).*/\1/p' | head -1; }

# Spark runs on 17 and 21 (and 25 from 4.1): the oldest that is new enough is the safest.
find_java() {
    local candidate version best="" best_version=999
    for candidate in "${JAVA_HOME:-/nowhere}/bin/java" "$(command -v java || echo /nowhere)" \
        /usr/lib/jvm/*/bin/java /opt/java/*/bin/java /Library/Java/JavaVirtualMachines/*/Contents/Home/bin/java; do
        [ -x "$candidate" ] || continue
        version="$(version_of "$candidate")"
        [ -n "$version" ] && [ "$version" -ge 17 ] || continue
        # JAVA_HOME was set on purpose.
        if [ "$candidate" = "${JAVA_HOME:-/nowhere}/bin/java" ]; then best="$candidate"; break; fi
        if [ "$version" -lt "$best_version" ]; then best="$candidate"; best_version="$version"; fi
    done
    [ -n "$best" ] && (cd "$(dirname "$(readlink -f "$best")")/.." && pwd)
}

home="$(find_java)"
if [ -z "$home" ] && [ "${1:-}" = --install ] && [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
    echo "no Java 17 found; installing openjdk-17-jre-headless" >&2
    { apt-get update -qq && apt-get install -y -qq openjdk-17-jre-headless; } >/dev/null 2>&1 ||
        { apt-get install -y -qq default-jre-headless; } >/dev/null 2>&1
    home="$(find_java)"
fi
if [ -n "$home" ]; then
    printf 'export JAVA_HOME=%q; export PATH=%q/bin:"$PATH"\n' "$home" "$home"
else
    echo "Spark needs Java 17 or newer: sudo apt-get install -y openjdk-17-jre-headless (or brew install openjdk@17)" >&2
fi
