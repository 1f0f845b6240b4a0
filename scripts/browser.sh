#!/usr/bin/env bash
# Installs wapiti, a web page scanner, and Debian's Chromium if they are missing, and prints
# the path of Chromium: of the headless shell, which takes half the processor time of the
# browser, where Debian has it.

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_packages wapiti:wapiti
(need_packages chromium-headless-shell:chromium-headless-shell) 2>/dev/null || need_packages chromium:chromium
command -v chromium-headless-shell || command -v chromium
