# Writes a dump of the database into the current folder or, with RESTORE=<name of a dump>, restores that into an empty one.
# compose.yaml and backup.yaml run it in the image of PostgreSQL, whose major version must be that of the server or later.
# Dumps are kept for KEEP_DAYS days, 14 by default.
set -euo pipefail
umask 077

# Takes the password off the command line, which every user of the machine can read.
url=$(<"$DATABASE_URL_FILE")
if [[ $url =~ ^([^:]+://[^:@/]*):([^/]*)@([^@]*)$ ]]; then
  url=${BASH_REMATCH[1]}@${BASH_REMATCH[3]}
  password=${BASH_REMATCH[2]//\\/\\\\}
  printf -v PGPASSWORD %b "${password//%/\\x}"
  export PGPASSWORD
fi

if [ -n "${RESTORE:-}" ]; then
  # Restores all or nothing, and keeps the rights of the new database.
  pg_restore --dbname="$url" --single-transaction --exit-on-error --no-owner --no-privileges "$RESTORE"
  echo "Restored $RESTORE. Migrate before you start the servers."
  exit
fi

name=triport-$(date -u +%Y-%m-%dT%H-%M-%SZ).dump
# The file has a name of its own, because a backup by hand may run beside the nightly one.
unfinished=$(mktemp unfinished.XXXXXX)
trap 'rm -f "$unfinished"' EXIT
pg_dump --dbname="$url" --format=custom --file="$unfinished"
# Reads the whole dump: one that was cut off still has its list of contents.
pg_restore --file=/dev/null "$unfinished"
mv "$unfinished" "$name"
echo "$name: $(stat --format=%s "$name") bytes."
# Deletes old dumps last, so that they stay as long as no new one succeeds.
find . -maxdepth 1 -name 'triport-*.dump' -mtime "+${KEEP_DAYS:-14}" -print -delete
