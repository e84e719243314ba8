#!/usr/bin/env bash
# The door to the test suite: setup.sh with another verb. Not exported: the tests open doors of their own.
# shellcheck disable=SC2034
kaizen_verb="test"
# shellcheck source=setup/setup.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/setup.sh"
