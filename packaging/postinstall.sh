#!/bin/sh
# The user that dprelease@.service runs as.
set -e
if command -v systemd-sysusers >/dev/null; then
  systemd-sysusers dprelease.conf
elif ! getent passwd dprelease >/dev/null; then
  useradd --system --user-group --home-dir /var/lib/dprelease --shell /usr/sbin/nologin dprelease
fi
[ ! -d /run/systemd/system ] || systemctl daemon-reload
