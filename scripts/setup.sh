#!/usr/bin/env bash
# Installs what Strop needs on Debian 12 or Ubuntu 24.04: system packages, then the Python environment .venv from
# requirements.txt. Does nothing, quickly, where all is there.
#   scripts/setup.sh          what building, testing and the demo need
#   scripts/setup.sh clang    and clang's tools, for lint and fuzz
set -euo pipefail
cd "$(dirname "$0")/.."

build_packages=(g++ cmake ninja-build ccache mold git ca-certificates python3 python3-venv
  libhwy-dev libdnnl-dev libprotozero-dev libflatbuffers-dev flatbuffers-compiler libcli11-dev nlohmann-json3-dev
  libfmt-dev libssl-dev libzip-dev libgtest-dev libgmock-dev libbenchmark-dev)
clang_packages=(clang clang-tidy clang-format libclang-rt-dev)
python=/usr/bin/python3   # the distribution's own: python3-venv belongs to it
venv=.venv

say() { printf 'setup: %s\n' "$*" >&2; }
fail() { say "$1"; shift; for line in "$@"; do say "  $line"; done; exit 3; }

# Prints those of its arguments that are not installed.
missing_packages() {
  local package
  for package in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || printf '%s\n' "$package"
  done
}

install_packages() {
  local missing as_root=()
  mapfile -t missing < <(missing_packages "$@")
  [ "${#missing[@]}" -eq 0 ] && return
  command -v apt-get >/dev/null || fail "apt-get not found: this script knows Debian 12 and Ubuntu 24.04." \
    "Install by other means what corresponds to: ${missing[*]}"
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || fail "not root, and there is no sudo." "Ask root for: apt-get install ${missing[*]}"
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update -q >&2 ||
    fail "apt-get update failed: is the network there, and are the package sources right?" "Wanted: ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" >&2 ||
    fail "apt-get install failed (its message is above)." "Wanted: ${missing[*]}" \
      "On Ubuntu most of them are in the 'universe' component, which must be enabled."
}

# Makes .venv, or makes it anew when requirements.txt or the Python version has changed since.
install_venv() {
  local stamp=$venv/requirements.stamp want
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "Python 3.11 or newer is needed; $("$python" --version) is here."
  want="$("$python" --version) $(sha256sum requirements.txt | cut -d' ' -f1)"
  [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$want" ] && return
  say "making $venv from requirements.txt"
  rm -rf "$venv"
  "$python" -m venv "$venv" || fail "making the virtual environment failed (its message is above)."
  "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
    -r requirements.txt >&2 ||
    fail "installing requirements.txt into $venv failed (pip's message is above)." \
      "Is the network there? Is there a wheel of each pinned version for $("$python" --version) on $(uname -m)?"
  printf '%s' "$want" >"$stamp"
}

case "${1:-}" in
  "") install_packages "${build_packages[@]}" ;;
  clang) install_packages "${build_packages[@]}" "${clang_packages[@]}" ;;
  *) say "usage: scripts/setup.sh [clang]"; exit 2 ;;
esac
install_venv
