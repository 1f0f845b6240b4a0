#!/usr/bin/env bash
# Checks the container image with third-party programs, as far as that is possible without
# a container engine: performs every step of the Dockerfile here, unpacks the image of a
# release with skopeo and umoci, compares the two, and starts both.
#
#   scripts/image.sh                     an image built for the check
#   scripts/image.sh ARCHIVE:VERSION     the image of a release

source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

need_packages umoci:umoci skopeo:skopeo update-ca-certificates:ca-certificates
[ $# = 0 ] || EVERTHREAD_TEST_IMAGE=$(realpath "${1%:*}"):${1##*:}
export EVERTHREAD_TEST_IMAGE=${EVERTHREAD_TEST_IMAGE:-}
cd "$root_dir/e2e/deployment"
go test -count=1 -run TestDockerfile_makesTheImageOfARelease .
