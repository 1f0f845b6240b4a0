#!/bin/sh
# The service ends with its program; what it stored stays in /var/lib/everthread.
set -e
if [ "$1" = remove ] && [ -z "$DPKG_ROOT" ] && [ -d /run/systemd/system ]; then
	systemctl disable --now everthread.service
fi
