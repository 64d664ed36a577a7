#!/usr/bin/env bash
# The steps of the official image's entry point that this project depends on, in the same order.
set -eo pipefail

if [ "$1" = postgres ] && [ "$(id -u)" = 0 ]; then
    mkdir -p "$PGDATA" /var/run/postgresql
    find "$PGDATA" /var/run/postgresql ! -user postgres -exec chown postgres '{}' +
    chmod 700 "$PGDATA"
    exec setpriv --reuid=postgres --regid=postgres --init-groups "$BASH_SOURCE" "$@"
fi

if [ "$1" = postgres ] && [ ! -s "$PGDATA/PG_VERSION" ]; then
    : "${POSTGRES_PASSWORD:=$(< "${POSTGRES_PASSWORD_FILE:?no password}")}"
    initdb --username=postgres --pwfile=<(printf '%s\n' "$POSTGRES_PASSWORD")
    printf '\nhost all all all scram-sha-256\n' >> "$PGDATA/pg_hba.conf"
    export PGPASSWORD=$POSTGRES_PASSWORD
    # A server without TCP, with the given arguments, in which a database would be made.
    pg_ctl -D "$PGDATA" -o "$(printf '%q ' "${@:2}" -c listen_addresses='' -p 5432)" -w start
    psql -v ON_ERROR_STOP=1 --no-psqlrc --username postgres --no-password --host /var/run/postgresql \
        --dbname postgres --command 'SELECT 1' > /dev/null
    pg_ctl -D "$PGDATA" -m fast -w stop
    unset PGPASSWORD
    echo 'PostgreSQL init process complete; ready for start up.'
fi

exec "$@"
