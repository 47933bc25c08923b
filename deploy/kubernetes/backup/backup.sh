#!/bin/sh
# Run by the CronJob in backup.yaml. `backup` writes all databases of a replica set, as of one moment, into an archive in
# $BACKUP_FOLDER; `restore` replaces them by those of the archive $ARCHIVE there.
set -eu
umask 077

# Everybody can see the arguments of a process, and only this user the file.
tools=$(mktemp)
trap 'rm -f "$tools"' EXIT
printf 'uri: "%s"\n' "$BACKUP_MONGODB_URI" > "$tools"

case $1 in
  backup)
    find "$BACKUP_FOLDER" -name '*.part' -delete
    file=$BACKUP_FOLDER/gatehouse-$(date -u +%Y%m%dT%H%M%SZ).archive.gz
    # With what is written meanwhile (the oplog), all databases are as they were when it ended.
    mongodump --config "$tools" --oplog --gzip --archive="$file.part"
    mv "$file.part" "$file"
    find "$BACKUP_FOLDER" -name '*.archive.gz' -mtime "+$BACKUP_DAYS" -delete
    ;;
  restore)
    file=$BACKUP_FOLDER/${ARCHIVE:-}
    # All that is in the databases now is lost: nobody restores an archive that they have not chosen.
    if [ ! -f "$file" ]; then
      echo 'ARCHIVE does not name one of these archives, which replaces all databases:' >&2
      ls "$BACKUP_FOLDER" >&2
      exit 1
    fi
    mongorestore --config "$tools" --oplogReplay --gzip --archive="$file" --drop --stopOnError
    ;;
esac
echo "$1: $file"
