#!/usr/bin/env bash
# Installs what the end-to-end tests and the benchmarks use besides Python packages.  Needs root on Debian.
set -euo pipefail

if [ "$(id -u)" -ne 0 ]; then
    echo "e2e, nightly and bench need root: they mount filesystems, make cgroups, install packages" >&2
    exit 1
fi

packages=(
    chromium        # a browser for our pages
    chromium-driver
    cron            # runs without a terminal
    e2fsprogs       # a filesystem of our own to fill and to freeze
    fonts-dejavu-core
    faketime        # a wall clock that jumps
    iproute2        # machines of a test: network namespaces with a cable between them
    jq              # a reader behind a pipe
    man-db          # reads our manual page
    mariadb-server  # the database of Slurm's accounting
    munge           # the authentication of Slurm
    postfix         # a mail server as it is used everywhere
    postgresql      # a database for Airflow with several workers
    procps          # ps, pkill by parent
    prometheus      # scrapes our metrics; promtool tests our rules
    prometheus-node-exporter  # reads the file of our metrics
    redis-server    # a broker for Airflow's Celery workers
    ripgrep         # a benchmark searches a log with it for comparison
    slurm-wlm       # a cluster of our own, each node with a network of its own
    slurmdbd
    util-linux      # fsfreeze, setsid, script (a terminal that closes half-way), unshare
)

missing=()
for package in "${packages[@]}"; do
    dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null \
        | grep -qx installed || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
command -v apt-get >/dev/null || {
    echo "make debian installs with apt-get, which is not here; missing: ${missing[*]}" >&2
    exit 1
}
export DEBIAN_FRONTEND=noninteractive
apt-get update --quiet=2

# No server of the machine is started: the tests start their own.
if [[ " ${missing[*]} " == *" postfix "* ]]; then
    echo "postfix postfix/main_mailer_type select No configuration" | debconf-set-selections
fi
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
fi
apt-get install --quiet=2 --yes --no-install-recommends "${missing[@]}"
